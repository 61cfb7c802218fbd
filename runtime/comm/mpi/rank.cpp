//===- rank.cpp - One rank that calls a site's MPI ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/rank.h"
#include "runtime/comm/common/waits.h"
#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

namespace dist::mpi {

using Clock = std::chrono::steady_clock;

/// Of notices, on a group of their own.
static constexpr int kNoticeTag = 0;
/// Until messages that nobody has waited for have left, at the end.
static constexpr std::chrono::seconds kLastMessages{5};
/// How long a collective that is under way may still end when another rank has
/// said that it has failed.
static constexpr std::chrono::milliseconds kOrderlyEnd{500};

MpiCommunicator::~MpiCommunicator() {
  std::lock_guard<std::mutex> lock(calls);
  for (Clock::time_point until = Clock::now() + kLastMessages;
       !(kept.empty() && told.empty()) && Clock::now() < until;)
    lookAround();
  // What is left is on its way still.
  if (!(kept.empty() && told.empty()))
    mpi.give_up();
  if (listening)
    mpi.cancel(listening);
  // All ranks would have to come.
  if (hasEnded)
    return;
  for (Group &group : own)
    mpi.free_group(group.handle);
  if (notices)
    mpi.free_group(notices);
}

Status MpiCommunicator::open(dist_comm_group *all) {
  std::lock_guard<std::mutex> lock(calls);
  auto check = [&](int code) {
    if (code == 0)
      return Status();
    char text[512];
    mpi.explain(code, text, sizeof text);
    return Status::error(StatusCode::Unavailable,
                         "MPI cannot split its processes", "", text);
  };
  DIST_RETURN_IF_ERROR(check(mpi.split(all, 0, rank(), &notices)));
  size_t masks = size_t(1) << groups.mesh().size();
  for (size_t mask = 0; mask < masks; ++mask) {
    Group group;
    DIST_RETURN_IF_ERROR(check(
        mpi.split(all, groups.groupsOf(rank())[mask], rank(), &group.handle)));
    own.push_back(group);
  }
  return Status();
}

Status MpiCommunicator::prepare(const Collective &call,
                                std::unique_ptr<CollectivePlan> *out) {
  auto plan = std::make_unique<MpiPlan>(call, generation());
  DIST_RETURN_IF_ERROR(check(options, groups, rank(), &plan->description));
  plan->channel = plan->description.channel;
  layOut(plan.get());
  *out = std::move(plan);
  return Status();
}

/// What a call packs at most.
void MpiCommunicator::layOut(MpiPlan *plan) {
  const Description &d = plan->description;
  plan->gives.reserve(d.what.pieces.size);
  plan->takes.reserve(d.what.pieces.size);
  plan->memberAt.resize(d.size());
  for (int member = 0; member < d.size(); ++member)
    plan->memberAt[d.positionOf(groups, member)] = member;
  int64_t places = d.size(), one = 0;
  for (const Piece &piece : d.what.pieces)
    one += alignPacked(piece.outer * piece.rows * piece.bytes);
  constexpr int64_t header = sizeof(Header);
  int64_t out = 0, in = 0, addends = 0;
  switch (d.what.kind) {
  case CollectiveKind::Send:
    plan->kept = std::make_shared<Kept>();
    plan->memory = plan->kept->memory;
    plan->memory->reserve(header + one);
    return;
  case CollectiveKind::Recv:
    in = header + one;
    break;
  case CollectiveKind::AllReduce:
    out = addends = one; // the sums replace them
    break;
  case CollectiveKind::ReduceScatter:
    out = one * places;
    in = one;
    addends = out + in;
    break;
  case CollectiveKind::Broadcast:
    out = one;
    break;
  case CollectiveKind::Permute:
    out = one * places;
    in = one;
    break;
  case CollectiveKind::AllGather:
    out = one;
    in = one * places;
    break;
  default: // all_to_all
    out = in = one * places;
  }
  // Headers come first, by the same memory.
  plan->outBytes = std::max(header, out);
  plan->inBytes = std::max(header * places, in);
  // 16-bit floats, in f32.
  for (int64_t i = 0; i < d.what.pieces.size; ++i)
    if (d.width(i) == 2)
      plan->wideBytes = sizeof(float) / 2 * addends;
  plan->requests.reserve(places + 1); // of a permute, and where one comes from
  plan->memory = memoryOf(plan->line());
  plan->memory->reserve(alignPacked(plan->outBytes) +
                        alignPacked(plan->inBytes) + plan->wideBytes);
}

Status MpiCommunicator::move(DescribedPlan &plan, void *const *from,
                             void *const *to) {
  Team worker(team);
  worker.inBackground = plan.call.background;
  DIST_RETURN_IF_ERROR(whyEnded());
  auto &mine = static_cast<MpiPlan &>(plan);
  const Description &d = mine.description;
  Group &group = own[d.groupIndex];
  Frame f{mine, d, from, to, group.handle, mine.memberAt, nullptr, nullptr, {}};
  if (d.what.kind == CollectiveKind::Send)
    return sendMessage(f);
  f.out = plan.memory->take();
  f.in = f.out + alignPacked(mine.outBytes);
  f.wide = reinterpret_cast<float *>(f.in + alignPacked(mine.inBytes));
  if (d.what.kind == CollectiveKind::Recv)
    return receiveMessage(f);
  DIST_RETURN_IF_ERROR(compare(f, group));
  // All of the group have come.
  if (d.what.kind == CollectiveKind::Barrier || d.bytes == 0)
    return Status();
  switch (d.what.kind) {
  case CollectiveKind::AllReduce:
    return allReduce(f);
  case CollectiveKind::ReduceScatter:
    return reduceScatter(f);
  case CollectiveKind::Broadcast:
    return broadcast(f, worker);
  case CollectiveKind::Permute:
    return permute(f, worker);
  default: // all_gather, all_to_all
    return exchange(f);
  }
}

//===----------------------------------------------------------------------===//
// What ranks say of themselves
//===----------------------------------------------------------------------===//

MpiCommunicator::Header MpiCommunicator::headerOf(const Description &d,
                                                  uint64_t history) const {
  return {current,
          int32_t(d.call.kind),
          d.call.op,
          int32_t(d.call.algorithm),
          d.call.betweenPrograms,
          d.call.count,
          d.call.digest,
          history};
}

Status MpiCommunicator::compare(const Frame &f, Group &group) {
  const Description &d = f.d;
  Header mine = headerOf(d, group.history);
  std::memcpy(f.out, &mine, sizeof mine);
  DIST_RETURN_IF_ERROR(complete(f, [&](Request **request) {
    return mpi.all_gather(group.handle, f.out, f.in, sizeof mine, request);
  }));
  for (int member = 0; member < d.size(); ++member) {
    Header other;
    std::memcpy(&other, f.in + member * sizeof other, sizeof other);
    Call call{CollectiveKind(other.kind),
              other.op,
              other.count,
              other.digest,
              Algorithm(other.algorithm),
              other.betweenPrograms != 0};
    if (!(call == d.call))
      return fail(StatusCode::Internal,
                  describeMismatch(options, rank(), d.call,
                                   (*d.members)[member], call));
    if (other.generation != mine.generation || other.history != mine.history)
      return fail(StatusCode::Internal,
                  describe(options, rank(), d.call) +
                      " is not preceded by what rank " +
                      std::to_string((*d.members)[member]) + " did before");
  }
  group.history =
      (group.history ^ d.call.digest ^ uint64_t(d.call.kind) << 56 ^
       uint64_t(uint32_t(d.call.op)) << 16 ^ uint64_t(d.call.count)) *
          1099511628211u +
      1;
  return Status();
}

Status MpiCommunicator::fail(StatusCode code, const std::string &text) {
  abort(current, text);
  return Status::error(code, text);
}

Status MpiCommunicator::failed(const Description &d, int code) {
  char text[400];
  mpi.explain(code, text, sizeof text);
  std::string why = describe(options, rank(), d.call) + ": MPI says: " + text;
  {
    std::lock_guard<std::mutex> lock(ending);
    if (!hasEnded)
      reason = Status::error(StatusCode::Unavailable, why);
    hasEnded = true;
  }
  // Who has lost a peer tells no other by the same way.
  giveUp();
  return Status::error(StatusCode::Unavailable, why);
}

Status MpiCommunicator::whyEnded() const {
  if (!hasEnded)
    return Status();
  std::lock_guard<std::mutex> lock(ending);
  return reason;
}

void MpiCommunicator::abort(uint32_t generation, const std::string &why) {
  {
    std::lock_guard<std::mutex> lock(ending);
    if (generation != current || hasEnded)
      return;
    reason = Status::error(StatusCode::Unavailable, why);
    hasEnded = true;
  }
  std::lock_guard<std::mutex> lock(calls);
  if (!broken)
    tell(why);
}

void MpiCommunicator::reset() {
  std::lock_guard<std::mutex> lock(ending);
  // What cannot be taken back stays.
  if (broken)
    return;
  ++current;
  hasEnded = false;
  reason = Status();
  for (Group &group : own)
    group.history = 0;
}

void MpiCommunicator::giveUp() {
  std::lock_guard<std::mutex> lock(calls);
  broken = true;
  mpi.give_up();
}

void MpiCommunicator::tell(const std::string &why) {
  Notice notice;
  notice.generation = current;
  std::strncpy(notice.reason, why.c_str(), sizeof notice.reason - 1);
  for (int to = 0; to < ranks(); ++to) {
    if (to == rank())
      continue;
    Told &one = told.emplace_back();
    one.notice = notice;
    if (mpi.send(notices, &one.notice, sizeof notice, to, kNoticeTag,
                 &one.request) != 0)
      told.pop_back();
  }
}

void MpiCommunicator::listen() {
  if (!listening && mpi.recv(notices, &heard, sizeof heard, DIST_COMM_ANY_RANK,
                             kNoticeTag, &listening) != 0)
    return;
  int done = 0;
  if (mpi.test(listening, &done) != 0 || done)
    listening = nullptr;
  if (!done)
    return;
  std::lock_guard<std::mutex> lock(ending);
  if (heard.generation != current || hasEnded)
    return;
  reason = Status::error(StatusCode::Unavailable, heard.reason);
  hasEnded = true;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

void MpiCommunicator::lookAround() {
  listen();
  // One that fails is missed by who waits for it.
  auto isOver = [&](Request *&request) {
    int done = 0;
    bool over = mpi.test(request, &done) != 0 || done;
    if (over)
      request = nullptr;
    return over;
  };
  kept.erase(std::remove_if(kept.begin(), kept.end(),
                            [&](auto &one) { return isOver(one->request); }),
             kept.end());
  told.remove_if([&](Told &one) { return isOver(one.request); });
}

template <typename Test>
Status MpiCommunicator::waitUntil(const Description &d, Test test) {
  Clock::time_point begin = Clock::now();
  auto awake = std::chrono::microseconds(
      d.what.background ? 0 : options.spinMicroseconds);
  std::optional<Clock::time_point> ended;
  while (true) {
    Tested tested;
    {
      std::lock_guard<std::mutex> lock(calls);
      tested = test();
    }
    if (tested.code != 0)
      return failed(d, tested.code);
    if (tested.isOver)
      return Status();
    // Who says that it has ended may have finished this very collective: it is
    // over here, too, soon, and MPI need not be given up.
    if (Status status = whyEnded(); !status.ok()) {
      if (!ended)
        ended = Clock::now();
      if (Clock::now() - *ended > kOrderlyEnd) {
        giveUp();
        return status;
      }
    }
    Clock::duration waited = Clock::now() - begin;
    if (!ended && options.timeout > 0 && waited > toDuration(options.timeout)) {
      Status status =
          fail(StatusCode::Unavailable,
               describe(options, rank(), d.call) + " is not over " +
                   withinTimeout(options) +
                   ": not all ranks have come to it (--communicator mpi counts "
                   "the time in which they compute, too)");
      giveUp();
      return status;
    }
    if (waited > awake)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Status MpiCommunicator::wait(const Description &d,
                             std::vector<Request *> &requests) {
  return waitUntil(d, [&] {
    Tested result{0, true};
    for (Request *&request : requests) {
      int done = 0;
      if (request && result.code == 0)
        result.code = mpi.test(request, &done);
      if (done)
        request = nullptr;
      result.isOver &= !request;
    }
    lookAround();
    return result;
  });
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Status MpiCommunicator::checkTag(const Frame &f) {
  int64_t last = mpi.max_tag() - 1;
  if (f.d.what.tag >= 0 && f.d.what.tag < last)
    return Status();
  return Status::error(StatusCode::Unavailable,
                       "MPI cannot tell a message from others",
                       opName(options, rank(), f.d.what.op),
                       "its tag is " + std::to_string(f.d.what.tag) +
                           ", and the last one is " + std::to_string(last - 1),
                       "leave --communicator mpi out");
}

Status MpiCommunicator::waitForKept(const Frame &f) {
  return waitUntil(f.d, [&] {
    lookAround();
    return Tested{0, f.plan.kept->request == nullptr};
  });
}

Status MpiCommunicator::sendMessage(const Frame &f) {
  DIST_RETURN_IF_ERROR(checkTag(f));
  DIST_RETURN_IF_ERROR(waitForKept(f));
  const Stream &stream = wholeOut(f, allOf(f));
  Header header = headerOf(f.d, 0);
  char *bytes = f.plan.kept->memory->take();
  std::memcpy(bytes, &header, sizeof header);
  stream.gather(0, stream.size(), bytes + sizeof header);
  int code = 0;
  {
    std::lock_guard<std::mutex> lock(calls);
    code = mpi.send(f.group, bytes, sizeof header + stream.size(),
                    f.memberAt[f.d.what.peer], f.d.what.tag,
                    &f.plan.kept->request);
    if (code == 0) {
      kept.push_back(f.plan.kept);
      lookAround();
    }
  }
  return code == 0 ? Status() : failed(f.d, code);
}

Status MpiCommunicator::receiveMessage(const Frame &f) {
  DIST_RETURN_IF_ERROR(checkTag(f));
  const Stream &stream = wholeIn(f, allOf(f));
  Header header{};
  // Of an older generation: nobody waits for it any more.
  do {
    DIST_RETURN_IF_ERROR(complete(f, [&](Request **request) {
      return mpi.recv(f.group, f.in, sizeof header + stream.size(),
                      f.memberAt[f.d.what.peer], f.d.what.tag, request);
    }));
    std::memcpy(&header, f.in, sizeof header);
  } while (header.generation != current);
  if (header.count != f.d.call.count || header.digest != f.d.call.digest)
    return fail(StatusCode::Internal,
                describeMismatchedSend(
                    options, (*f.d.members)[f.memberAt[f.d.what.peer]],
                    {CollectiveKind(header.kind), header.op, header.count,
                     header.digest},
                    f.d.what.tag, f.d.call));
  stream.scatter(0, stream.size(), f.in + sizeof header);
  return Status();
}

} // namespace dist::mpi
