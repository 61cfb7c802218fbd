//===- scratch.h - Memory of ranks' messages, before they run ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_SCRATCH_H
#define RUNTIME_COMM_MESSAGE_SCRATCH_H

#include "runtime/comm/message/rank.h"
#include <map>

namespace dist::message {

/// What the plans of a mesh's ranks will have beside their buffers, in bytes:
/// as much as their communicators reserve when they prepare the same calls, by
/// the same dry runs. Plans of one line share it. Copies of what sends take
/// along are not in it: each has as many bytes as it sends.
class Scratch {
public:
  /// Of a mesh of these sizes. What is given outlives this.
  Scratch(const WorldOptions &options, const MeshGroups &groups)
      : options(options), groups(groups), team(options),
        mostOfLine(groups.ranks()) {}

  /// That each of these ranks makes. Dry runs are made of the positions in a
  /// group that differ in what they need (positions.h), not of all ranks.
  /// Errors: those of `Communicator::prepare`.
  Status add(const Collective &call, const std::vector<int> &ranks);
  int64_t bytesOf(int rank) const;

private:
  const WorldOptions &options;
  const MeshGroups &groups;
  const Team team;
  std::vector<std::map<CollectivePlan::Line, int64_t>> mostOfLine; // by rank
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_SCRATCH_H
