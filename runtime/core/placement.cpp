//===- placement.cpp - Which process runs which rank ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/placement.h"
#include <map>
#include <set>

namespace dist {

Placement Placement::inOneProcess(int ranks) {
  Placement placement;
  placement.table.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    placement.table[rank].device = rank;
  placement.processCount = 1;
  return placement;
}

Status Placement::ofPackage(const manifest::Manifest &manifest,
                            const std::vector<int> &hosts, Placement *out) {
  std::vector<RankPlacement> ranks(manifest.ranks());
  std::map<int, int> devicesOf;
  for (int rank = 0; rank < manifest.ranks(); ++rank) {
    // None: all are of process 0.
    int process =
        manifest.process_of_rank().empty() ? 0 : manifest.process_of_rank(rank);
    if (!hosts.empty() && process >= static_cast<int>(hosts.size()))
      return Status::error(
          StatusCode::InvalidArgument, "ranks cannot be placed so",
          "rank " + std::to_string(rank),
          "process " + std::to_string(process) + " has no host");
    ranks[rank] = {process, hosts.empty() ? process : hosts[process],
                   devicesOf[process]++, process};
  }
  return create(std::move(ranks), out);
}

Status Placement::create(std::vector<RankPlacement> ranks, Placement *out) {
  auto refuse = [](const std::string &what, const std::string &where) {
    return Status::error(StatusCode::InvalidArgument,
                         "ranks cannot be placed so", where, what);
  };
  if (ranks.empty())
    return refuse("there is no rank", "");
  std::map<int, int> hostOfProcess, hostOfDomain;
  std::set<std::pair<int, int>> devices;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankPlacement &place = ranks[rank];
    std::string where = "rank " + std::to_string(rank);
    if (place.process < 0 || place.host < 0 || place.device < 0 ||
        place.domain < 0)
      return refuse("a number is negative", where);
    if (!devices.emplace(place.process, place.device).second)
      return refuse("device " + std::to_string(place.device) + " of process " +
                        std::to_string(place.process) +
                        " is another rank's already",
                    where);
    if (hostOfProcess.emplace(place.process, place.host).first->second !=
        place.host)
      return refuse("process " + std::to_string(place.process) +
                        " is on two hosts",
                    where);
    if (hostOfDomain.emplace(place.domain, place.host).first->second !=
        place.host)
      return refuse("memory domain " + std::to_string(place.domain) +
                        " is on two hosts",
                    where);
  }
  // Ascending from 0 on, so that the last one's number tells of gaps.
  int last = hostOfProcess.rbegin()->first;
  if (last + 1 != static_cast<int>(hostOfProcess.size()))
    return refuse("a process below " + std::to_string(last) + " has no rank",
                  "");
  Placement placement;
  placement.table = std::move(ranks);
  placement.processCount = last + 1;
  *out = std::move(placement);
  return Status();
}

std::vector<int> Placement::ranksOf(int process) const {
  std::vector<int> result;
  for (int rank = 0; rank < ranks(); ++rank)
    if (table[rank].process == process)
      result.push_back(rank);
  return result;
}

bool Placement::isOneDomain() const {
  for (const RankPlacement &place : table)
    if (place.domain != table.front().domain)
      return false;
  return true;
}

Status checkPlacement(const manifest::Manifest &manifest,
                      const Placement &placement) {
  auto refuse = [&](const std::string &why, const std::string &todo) {
    return Status::error(StatusCode::InvalidArgument,
                         "the package cannot run on these processes",
                         manifest.model_name(), why, todo);
  };
  if (placement.ranks() != manifest.ranks())
    return refuse("it is for " + std::to_string(manifest.ranks()) +
                      " ranks, and they are " +
                      std::to_string(placement.ranks()),
                  "compile it for as many");
  if (manifest.shares_memory() && !placement.isOneDomain())
    return refuse("its programs read each other's memory, and these devices "
                  "share none",
                  "compile it for these devices");
  if (manifest.mesh().host() &&
      placement.ranksOf(placement.of(placement.ranks() - 1).process).size() < 2)
    return refuse("the mesh's host has a process of its own",
                  "give that process a device, too");
  return Status();
}

} // namespace dist
