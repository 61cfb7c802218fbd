//===- rank.cpp - One rank that calls a site's MPI ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/rank.h"
#include <algorithm>
#include <chrono>
#include <cstring>

namespace dist::mpi {

using Clock = std::chrono::steady_clock;

/// Until messages that nobody has waited for have left, at the end.
static constexpr std::chrono::seconds kLastMessages{5};

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
  DIST_RETURN_IF_ERROR(layOut(plan.get()));
  *out = std::move(plan);
  return Status();
}

/// What a call packs at most.
Status MpiCommunicator::layOut(MpiPlan *plan) {
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
  bool isMessage = d.what.kind == CollectiveKind::Send ||
                   d.what.kind == CollectiveKind::Recv;
  if (isMessage)
    DIST_RETURN_IF_ERROR(checkCount(d, header + one, "bytes"));
  switch (d.what.kind) {
  case CollectiveKind::Send:
    plan->kept = std::make_shared<Kept>();
    plan->memory = plan->kept->memory;
    plan->memory->reserve(header + one);
    return Status();
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
  return Status();
}

Status MpiCommunicator::move(DescribedPlan &plan, void *const *from,
                             void *const *to) {
  Team worker(team);
  worker.inBackground = plan.call.background;
  DIST_RETURN_IF_ERROR(whyEnded());
  {
    // What has come meanwhile: who comes late begins nothing that cannot be
    // taken back.
    std::lock_guard<std::mutex> lock(calls);
    lookAround();
  }
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
  DIST_RETURN_IF_ERROR(complete(
      f,
      [&](Request **request) {
        return mpi.all_gather(group.handle, f.out, f.in, sizeof mine, request);
      },
      For::Ranks));
  forgetWaits(d);
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
      return fail(Status::error(StatusCode::Internal,
                                describeMismatch(options, rank(), d.call,
                                                 (*d.members)[member], call)));
    if (other.generation != mine.generation || other.history != mine.history)
      return fail(Status::error(
          StatusCode::Internal,
          describe(options, rank(), d.call) + " is not preceded by what rank " +
              std::to_string((*d.members)[member]) + " did before"));
  }
  group.history =
      (group.history ^ d.call.digest ^ uint64_t(d.call.kind) << 56 ^
       uint64_t(uint32_t(d.call.op)) << 16 ^ uint64_t(d.call.count)) *
          1099511628211u +
      1;
  return Status();
}

Status MpiCommunicator::fail(const Status &status) {
  abort(current, status.message());
  return status;
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
  std::vector<int> others;
  for (int other = 0; other < ranks(); ++other)
    others.push_back(other);
  Notice notice;
  notice.generation = generation;
  std::strncpy(notice.reason, why.c_str(), sizeof notice.reason - 1);
  std::lock_guard<std::mutex> lock(calls);
  if (!broken)
    tell(notice, others);
}

void MpiCommunicator::reset() {
  std::lock_guard<std::mutex> lock(calls);
  std::lock_guard<std::mutex> last(ending);
  // What cannot be taken back stays.
  if (broken)
    return;
  ++current;
  hasEnded = false;
  reason = Status();
  waiting.clear();
  waitsHeard = 0;
  for (Group &group : own)
    group.history = 0;
}

void MpiCommunicator::giveUp() {
  std::lock_guard<std::mutex> lock(calls);
  broken = true;
  mpi.give_up();
}

} // namespace dist::mpi
