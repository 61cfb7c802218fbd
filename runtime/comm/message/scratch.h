//===- scratch.h - Memory of a rank's messages, before it runs --*- C++ -*-===//
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

/// What a rank's plans will have beside their buffers, in bytes: as much as its
/// communicator reserves when it prepares the same calls, by the same dry runs.
/// Plans of one line share it. Copies of what sends take along are not in it:
/// each has as many bytes as it sends.
class Scratch {
public:
  /// Of a rank in a mesh of these sizes. What is given outlives this.
  Scratch(const WorldOptions &options, const MeshGroups &groups, int rank)
      : options(options), groups(groups), team(options), rank(rank) {}

  /// Errors: those of `Communicator::prepare`.
  Status add(const Collective &call);
  int64_t bytes() const;

private:
  const WorldOptions &options;
  const MeshGroups &groups;
  const Team team;
  const int rank;
  std::map<CollectivePlan::Line, int64_t> mostOfLine;
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_SCRATCH_H
