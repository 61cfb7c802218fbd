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
#include <thread>

namespace dist::mpi {

using Clock = std::chrono::steady_clock;

/// Of notices, on a group of their own.
static constexpr int kNoticeTag = 0;
/// Until messages that nobody has waited for have left, at the end.
static constexpr std::chrono::seconds kLastMessages{5};

MpiCommunicator::~MpiCommunicator() {
  std::lock_guard<std::mutex> lock(calls);
  for (Clock::time_point until = Clock::now() + kLastMessages;
       !kept.empty() && Clock::now() < until;)
    lookAround();
  // What is left is on its way still.
  if (!kept.empty())
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
  *out = std::move(plan);
  return Status();
}

Status MpiCommunicator::move(DescribedPlan &plan, void *const *from,
                             void *const *to) {
  Team worker(team);
  worker.inBackground = plan.call.background;
  std::lock_guard<std::mutex> lock(inside);
  DIST_RETURN_IF_ERROR(whyEnded());
  return runInside(static_cast<MpiPlan &>(plan).description, from, to, worker);
}

Status MpiCommunicator::runInside(Description &d, void *const *from,
                                  void *const *to, const Team &worker) {
  Group &group = own[d.groupIndex];
  Frame f{d, from, to, group.handle, std::vector<int>(d.size())};
  for (int member = 0; member < d.size(); ++member)
    f.memberAt[d.positionOf(groups, member)] = member;
  if (d.what.kind == CollectiveKind::Send)
    return sendMessage(f);
  if (d.what.kind == CollectiveKind::Recv)
    return receiveMessage(f);
  DIST_RETURN_IF_ERROR(compare(d, group));
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
  return {current,      int32_t(d.call.kind), d.call.op, d.call.betweenPrograms,
          d.call.count, d.call.digest,        history};
}

Status MpiCommunicator::compare(const Description &d, Group &group) {
  Header mine = headerOf(d, group.history);
  out.resize(std::max(out.size(), sizeof mine));
  in.resize(std::max(in.size(), d.size() * sizeof mine));
  std::memcpy(out.data(), &mine, sizeof mine);
  DIST_RETURN_IF_ERROR(complete(d, [&](Request **request) {
    return mpi.all_gather(group.handle, out.data(), in.data(), sizeof mine,
                          request);
  }));
  for (int member = 0; member < d.size(); ++member) {
    Header other;
    std::memcpy(&other, in.data() + member * sizeof other, sizeof other);
    Call call{CollectiveKind(other.kind), other.op, other.count, other.digest,
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
  std::scoped_lock lock(inside, ending);
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
    Kept &message = kept.emplace_back();
    message.bytes.resize(sizeof notice);
    std::memcpy(message.bytes.data(), &notice, sizeof notice);
    if (mpi.send(notices, message.bytes.data(), sizeof notice, to, kNoticeTag,
                 &message.request) != 0)
      kept.pop_back();
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
  for (auto it = kept.begin(); it != kept.end();) {
    int done = 0;
    // One that fails is missed by who waits for it.
    bool isOver = mpi.test(it->request, &done) != 0 || done;
    it = isOver ? kept.erase(it) : std::next(it);
  }
}

Status MpiCommunicator::wait(const Description &d,
                             std::vector<Request *> &requests) {
  Clock::time_point begin = Clock::now();
  auto awake = std::chrono::microseconds(
      d.what.background ? 0 : options.spinMicroseconds);
  while (true) {
    int code = 0;
    {
      std::lock_guard<std::mutex> lock(calls);
      for (Request *&request : requests) {
        int done = 0;
        if (request && code == 0 && (code = mpi.test(request, &done), done))
          request = nullptr;
      }
      lookAround();
    }
    if (code != 0)
      return failed(d, code);
    if (std::count(requests.begin(), requests.end(), nullptr) ==
        int64_t(requests.size()))
      return Status();
    if (Status status = whyEnded(); !status.ok()) {
      giveUp();
      return status;
    }
    Clock::duration waited = Clock::now() - begin;
    if (options.timeout > 0 && waited > toDuration(options.timeout)) {
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

Status MpiCommunicator::sendMessage(const Frame &f) {
  DIST_RETURN_IF_ERROR(checkTag(f));
  Stream stream = wholeOf(f, f.from);
  Header header = headerOf(f.d, 0);
  std::lock_guard<std::mutex> lock(calls);
  Kept &message = kept.emplace_back();
  message.bytes.resize(sizeof header + stream.size());
  std::memcpy(message.bytes.data(), &header, sizeof header);
  stream.gather(0, stream.size(), message.bytes.data() + sizeof header);
  int code =
      mpi.send(f.group, message.bytes.data(), message.bytes.size(),
               f.memberAt[f.d.what.peer], f.d.what.tag, &message.request);
  if (code != 0) {
    kept.pop_back();
    return failed(f.d, code);
  }
  lookAround();
  return Status();
}

Status MpiCommunicator::receiveMessage(const Frame &f) {
  DIST_RETURN_IF_ERROR(checkTag(f));
  Stream stream = wholeOf(f, f.to);
  Header header{};
  in.resize(std::max<size_t>(in.size(), sizeof header + stream.size()));
  // Of an older generation: nobody waits for it any more.
  do {
    DIST_RETURN_IF_ERROR(complete(f.d, [&](Request **request) {
      return mpi.recv(f.group, in.data(), sizeof header + stream.size(),
                      f.memberAt[f.d.what.peer], f.d.what.tag, request);
    }));
    std::memcpy(&header, in.data(), sizeof header);
  } while (header.generation != current);
  if (header.count != f.d.call.count || header.digest != f.d.call.digest)
    return fail(StatusCode::Internal,
                describeMismatchedSend(
                    options, (*f.d.members)[f.memberAt[f.d.what.peer]],
                    {CollectiveKind(header.kind), header.op, header.count,
                     header.digest},
                    f.d.what.tag, f.d.call));
  stream.scatter(0, stream.size(), in.data() + sizeof header);
  return Status();
}

} // namespace dist::mpi
