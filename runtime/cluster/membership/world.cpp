//===- world.cpp - The ranks of a cluster's processes ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/world.h"
#include "runtime/comm/mpi/mpi.h"
#include "runtime/comm/ucx/ucx.h"
#include <algorithm>
#include <unistd.h>

namespace dist::cluster {

/// Seconds until all ranks have reached each other, once all addresses are
/// known.
static constexpr double kConnectSeconds = 30;

Status chooseCpuVariant(const Membership &membership, std::string *out) {
  const std::vector<Member> &members = membership.members();
  for (const std::string &name : members.front().cpuVariants) {
    bool all = true;
    for (const Member &member : members)
      all &= std::count(member.cpuVariants.begin(), member.cpuVariants.end(),
                        name) > 0;
    if (!all)
      continue;
    *out = name;
    return Status();
  }
  std::string text;
  for (const Member &member : members) {
    text += (text.empty() ? "" : "; ") + member.task.text() + " can run";
    for (const std::string &name : member.cpuVariants)
      text += " " + name;
  }
  return Status::error(StatusCode::InvalidInput,
                       "the package has no code that all machines can run", "",
                       text, "compile it with a --target-cpu for all of them");
}

/// Whether processes of this machine may use the same CPUs: who waits then must
/// not keep one from working.
static bool sharesCpus(const Membership &membership) {
  const std::vector<Member> &members = membership.members();
  int64_t cpus = 0;
  for (const Member &member : members)
    if (member.host == members[membership.self()].host)
      cpus += member.cpus;
  return cpus > sysconf(_SC_NPROCESSORS_ONLN);
}

static Status makeEnds(Membership &membership, const Placement &placement,
                       const std::string &networkDevices, bool sharedMemory,
                       const std::function<Status()> &check,
                       std::vector<std::unique_ptr<Transport>> *out) {
  UcxOptions ucx;
  ucx.sharedMemory = sharedMemory;
  ucx.ranks = placement.ranks();
  ucx.ranksHere = placement.ranksOf(membership.self());
  ucx.networkDevices = networkDevices;
  ucx.timeout = kConnectSeconds;
  ucx.check = check;
  ucx.nameRank = [&](int rank) {
    return membership.nameOf(placement.of(rank).process);
  };
  ucx.note = [&](const std::string &line) { membership.note(line); };
  ucx.exchange = [&](const std::vector<std::string> &own,
                     std::vector<std::string> *all) {
    std::vector<std::vector<std::string>> ofMembers;
    DIST_RETURN_IF_ERROR(membership.exchange(kAddresses, own, &ofMembers));
    all->assign(placement.ranks(), "");
    for (int member = 0; member < int(ofMembers.size()); ++member) {
      std::vector<int> ranks = placement.ranksOf(member);
      for (size_t i = 0; i < ranks.size() && i < ofMembers[member].size(); ++i)
        (*all)[ranks[i]] = ofMembers[member][i];
    }
    return Status();
  };
  return makeUcxTransports(ucx, out);
}

Status makeClusterTransport(Membership &membership,
                            const std::string &networkDevices,
                            const std::function<Status()> &check,
                            std::unique_ptr<Transport> *out) {
  std::vector<RankPlacement> ranks;
  for (const Member &member : membership.members()) {
    int number = int(ranks.size());
    ranks.push_back({number, member.host, 0, number});
  }
  Placement placement;
  DIST_RETURN_IF_ERROR(Placement::create(std::move(ranks), &placement));
  std::vector<std::unique_ptr<Transport>> ends;
  // Processes of a host write into one queue of a receiver's: one that is
  // killed while it writes there stops it for all, and here the others go on.
  DIST_RETURN_IF_ERROR(makeEnds(membership, placement, networkDevices,
                                /*sharedMemory=*/false, check, &ends));
  *out = std::move(ends.front());
  return Status();
}

/// Ranks are called by their members' names, and who waits keeps no CPU that
/// others may need.
static WorldOptions ofMembers(const Membership &membership,
                              const Placement &placement,
                              const WorldOptions &options) {
  WorldOptions result = options;
  if (sharesCpus(membership))
    result.spinMicroseconds = result.spinForHostMicroseconds = 0;
  std::vector<std::string> names;
  for (int rank = 0; rank < placement.ranks(); ++rank)
    names.push_back(membership.nameOf(placement.of(rank).process));
  result.nameProcess = [names](int rank) { return names[rank]; };
  return result;
}

Status makeClusterWorld(Membership &membership, const Placement &placement,
                        const WorldOptions &options,
                        const std::string &networkDevices,
                        const std::function<Status()> &check,
                        std::shared_ptr<MessageWorld> *out) {
  std::vector<std::unique_ptr<Transport>> ends;
  DIST_RETURN_IF_ERROR(makeEnds(membership, placement, networkDevices,
                                /*sharedMemory=*/true, check, &ends));
  MessageOptions message;
  static_cast<WorldOptions &>(message) =
      ofMembers(membership, placement, options);
  std::unique_ptr<MessageWorld> made;
  DIST_RETURN_IF_ERROR(MessageWorld::create(message, std::move(ends), &made));
  *out = std::move(made);
  return Status();
}

Status makeMpiClusterWorld(const Membership &membership,
                           const Placement &placement,
                           const WorldOptions &options,
                           const std::vector<std::string> &libraries,
                           std::shared_ptr<World> *out) {
  std::vector<int> ranks = placement.ranksOf(membership.self());
  if (ranks.size() != 1)
    return Status::error(StatusCode::InvalidArgument,
                         "MPI cannot connect the ranks", "--communicator mpi",
                         "its ranks are processes, and this one has " +
                             std::to_string(ranks.size()),
                         "give --devices cpu:1, and mpirun more processes");
  const dist_comm_vtable *mpi = nullptr;
  DIST_RETURN_IF_ERROR(loadMpi(libraries, &mpi));
  return makeMpiWorld(*mpi, ofMembers(membership, placement, options),
                      ranks.front(), out);
}

} // namespace dist::cluster
