//===- mesh_groups.h - Which ranks of a mesh meet ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_COMMON_MESH_GROUPS_H
#define RUNTIME_COMM_COMMON_MESH_GROUPS_H

#include "runtime/core/status.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dist {

/// The groups of a mesh's ranks: one for each set of axes and each place on the
/// others, so that no call looks any up; with a host, one more of all ranks.
class MeshGroups {
public:
  /// Errors: too many axes or ranks, an axis of no rank.
  static Status create(const std::vector<int64_t> &mesh, bool host,
                       MeshGroups *out);

  const std::vector<int64_t> &mesh() const { return sizes; }
  bool hasHost() const { return host; }
  /// With the host.
  int ranks() const { return groupsOfRank.size(); }
  bool isHost(int rank) const { return host && rank == ranks() - 1; }
  int64_t coordinate(int64_t rank, int64_t axis) const {
    return coordinates[rank * sizes.size() + axis];
  }

  size_t groups() const { return members.size(); }
  /// World ranks, ascending.
  const std::vector<int> &membersOf(size_t group) const {
    return members[group];
  }
  /// The rank's groups: at a mask of axes (bit 0: the mesh's first) the group
  /// over these; last, with a host, the one of all ranks.
  const std::vector<int> &groupsOf(int rank) const {
    return groupsOfRank[rank];
  }

private:
  std::vector<int64_t> sizes;
  bool host = false;
  std::vector<int64_t> coordinates; // each rank's, one after the other
  std::vector<std::vector<int>> members, groupsOfRank;
};

} // namespace dist

#endif // RUNTIME_COMM_COMMON_MESH_GROUPS_H
