//===- served.cpp - A process of parameter servers ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/served.h"
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/membership/process.h"
#include "runtime/cluster/membership/world.h"
#include "runtime/comm/ucx/ucx.h"
#include <algorithm>

namespace dist::cluster {

static ps::Cast makeCast(const Membership &membership,
                         const ClusterSpec &spec) {
  ps::Cast cast;
  cast.workers = int(spec.of(Job::Worker).size());
  cast.servers = int(spec.of(Job::Ps).size());
  for (int rank = 0; rank < cast.ranks(); ++rank)
    cast.names.push_back(membership.nameOf(rank));
  return cast;
}

/// What the chief tells a process that takes a place.
static Status readPlace(const std::string &text, const ps::Cast &cast,
                        proto::Place *out) {
  constexpr int kMostReturns = 1 << 20;
  if (out->ParseFromString(text) && out->rank() >= cast.ranks() &&
      out->rank() < cast.ranks() + kMostReturns)
    return Status();
  return Status::error(StatusCode::Unavailable,
                       "the store holds what no chief wrote", "",
                       "the place of a worker", "start all of one version");
}

static Status comeBack(Membership &membership, const ClusterSpec &spec,
                       const ServedOptions &options, ServedPart *out) {
  UcxOptions ucx;
  ucx.sharedMemory = false; // as the others', see makeClusterTransport
  ucx.networkDevices = options.networkDevices;
  ucx.timeout = options.timeout;
  ucx.nameRank = [out](int rank) {
    return rank < out->cast.ranks() ? out->cast.names[rank] : "this process";
  };
  ucx.note = [&](const std::string &line) { membership.note(line); };
  auto ask = [&](const std::string &own, int *rank,
                 std::vector<std::string> *all) {
    std::string answer;
    proto::Place place;
    DIST_RETURN_IF_ERROR(membership.takePlace(own, &answer));
    DIST_RETURN_IF_ERROR(readPlace(answer, out->cast, &place));
    out->rank = *rank = place.rank();
    out->cpuVariant = place.cpu_variant();
    all->assign(*rank, "");
    for (int other = 0; other < out->cast.ranks(); ++other) {
      if (out->cast.workerOf(other) >= 0)
        continue;
      std::vector<std::string> texts;
      DIST_RETURN_IF_ERROR(membership.readOf(other, kAddresses, &texts));
      if (texts.empty())
        return Status::error(StatusCode::Unavailable,
                             out->cast.names[other] + " cannot be reached", "",
                             "its address is not in the store");
      (*all)[other] = texts[0];
    }
    return Status();
  };
  DIST_RETURN_IF_ERROR(makeUcxReturn(ucx, ask, &out->end));
  while (out->cast.ranks() <= out->rank)
    out->cast.admit(spec.self->index);
  return watchAgain(membership, spec, options.watching, out->rank,
                    &out->heartbeat);
}

Status joinServed(Membership &membership, const ClusterSpec &spec,
                  const ServedOptions &options, ServedPart *out) {
  ServedOptions own = options;
  // What a lost worker had to do is another's.
  own.watching.outlivesMembers = true;
  out->cast = makeCast(membership, spec);
  if (membership.isBack())
    return comeBack(membership, spec, own, out);
  out->rank = membership.self();
  DIST_RETURN_IF_ERROR(chooseCpuVariant(membership, &out->cpuVariant));
  DIST_RETURN_IF_ERROR(
      watchMembers(membership, spec, own.watching, &out->heartbeat));
  auto check = [out] {
    const std::vector<LostMember> lost =
        out->heartbeat->findLost(/*waits=*/false);
    return lost.empty() ? Status()
                        : Status::error(StatusCode::Unavailable,
                                        "a process of the cluster is lost",
                                        out->cast.names[lost.front().member],
                                        lost.front().why);
  };
  return makeClusterTransport(membership, own.networkDevices, check, &out->end);
}

ps::Mail::Watch watchBy(Heartbeat &heartbeat, int rank) {
  return [&heartbeat, rank] {
    std::vector<std::pair<int, std::string>> lost;
    for (LostMember &one : heartbeat.findLost(/*waits=*/false))
      // Who is given up hears nothing more, of the coordinator neither.
      lost.emplace_back(one.member == rank ? ps::Cast::coordinator : one.member,
                        std::move(one.why));
    return lost;
  };
}

void takeWorkersBack(Membership &membership, const ClusterSpec &spec,
                     const std::string &cpuVariant, Heartbeat &heartbeat,
                     ps::CoordinatorOptions *options) {
  options->returning = [&membership] {
    std::vector<ps::Returning> returning;
    for (Comer &comer : membership.comers())
      if (comer.task.job == Job::Worker)
        returning.push_back(
            {comer.task.index, std::move(comer.id), std::move(comer.text)});
    return returning;
  };
  auto find = [&membership](const std::string &id) {
    std::optional<Comer> found;
    for (Comer &comer : membership.comers())
      if (comer.id == id)
        found = std::move(comer);
    return found;
  };
  options->released = [&membership, find](const std::string &id) {
    if (std::optional<Comer> comer = find(id))
      membership.release(*comer);
  };
  options->admitted = [&membership, find, &spec, cpuVariant,
                       &heartbeat](const ps::Returning &who, int rank) {
    const std::optional<Comer> comer = find(who.id);
    Member member;
    member.task = {Job::Worker, who.index};
    if (comer) {
      member.hostName = comer->hostName;
      member.process = comer->process;
    }
    // Before it knows its number.
    heartbeat.admit(describeMember(member, spec));
    proto::Place place;
    place.set_rank(rank);
    place.set_cpu_variant(cpuVariant);
    if (comer)
      membership.answer(*comer, place.SerializeAsString());
  };
}

} // namespace dist::cluster
