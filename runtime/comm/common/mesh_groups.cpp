//===- mesh_groups.cpp - Which ranks of a mesh meet -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/common/mesh_groups.h"
#include "runtime/core/types.h"
#include <map>

namespace dist {

Status MeshGroups::create(const std::vector<int64_t> &mesh, bool host,
                          MeshGroups *out) {
  constexpr size_t maxAxes = 6;
  constexpr int64_t maxRanks = 1024;
  int64_t devices = 1;
  for (int64_t size : mesh) {
    if (size < 1 || devices * size > maxRanks || mesh.size() > maxAxes)
      return Status::error(StatusCode::InvalidArgument,
                           "a mesh has at most 6 axes and 1024 ranks",
                           toString(mesh));
    devices *= size;
  }
  int64_t ranks = devices + host;
  MeshGroups result;
  result.sizes = mesh;
  result.host = host;
  size_t axes = mesh.size();
  result.coordinates.resize(ranks * axes);
  for (int64_t rank = 0; rank < devices; ++rank)
    for (int64_t rest = rank, axis = axes; axis-- > 0;) {
      result.coordinates[rank * axes + axis] = rest % mesh[axis];
      rest /= mesh[axis];
    }
  result.groupsOfRank.resize(ranks);
  auto join = [&](int64_t rank, int group) {
    result.members[group].push_back(rank);
    result.groupsOfRank[rank].push_back(group);
  };
  auto makeGroup = [&] {
    result.members.emplace_back();
    return static_cast<int>(result.members.size()) - 1;
  };
  for (uint32_t mask = 0; mask < 1u << axes; ++mask) {
    // Ranks of one group have the same coordinates on all other axes.
    std::map<int64_t, int> groupAt;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t color = 0;
      for (size_t axis = 0; axis < axes; ++axis)
        color = color * mesh[axis] +
                (mask >> axis & 1 ? 0 : result.coordinate(rank, axis));
      // The host is alone.
      auto [found, isNew] = groupAt.emplace(rank < devices ? color : -1, 0);
      if (isNew)
        found->second = makeGroup();
      join(rank, found->second);
    }
  }
  if (host) {
    int all = makeGroup();
    for (int64_t rank = 0; rank < ranks; ++rank)
      join(rank, all);
  }
  *out = std::move(result);
  return Status();
}

} // namespace dist
