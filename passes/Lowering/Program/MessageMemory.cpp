//===- MessageMemory.cpp - Memory that messages take of a device ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/MessageMemory.h"
#include <map>

using namespace mlir;
using namespace mlir::dist;

/// Up to so many ranks are all asked.
static constexpr int kFewRanks = 64;

FailureOr<std::unique_ptr<MessageMemory>>
MessageMemory::create(MeshOp mesh, const ::dist::manifest::Manifest &manifest) {
  std::unique_ptr<MessageMemory> memory(new MessageMemory(mesh));
  memory->options.setMesh(manifest.mesh());
  if (::dist::Status status = ::dist::MeshGroups::create(
          memory->options.mesh, memory->options.host, &memory->groups);
      !status.ok())
    return mesh.emitError(status.message()), failure();
  const int ranks = memory->groups.ranks();
  std::map<int64_t, std::pair<int, int>> ends; // by program
  for (int rank = 0; rank < ranks; ++rank)
    ends.try_emplace(manifest.program_of_rank(rank), rank, rank)
        .first->second.second = rank;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t program = manifest.program_of_rank(rank);
    auto [first, last] = ends.at(program);
    if (ranks <= kFewRanks || rank == first || rank == last)
      memory->ranks.push_back(
          {program, {memory->options, memory->groups, rank}});
  }
  return memory;
}

void MessageMemory::add(const ::dist::Collective &call, int64_t program) {
  for (Rank &rank : ranks)
    if ((program < 0 || rank.program == program) && status.ok())
      status = rank.scratch.add(call);
}

int64_t MessageMemory::getBytes(int64_t program) const {
  int64_t most = 0;
  for (const Rank &rank : ranks)
    if (rank.program == program)
      most = std::max(most, rank.scratch.bytes());
  return most;
}

LogicalResult MessageMemory::verify() const {
  if (status.ok())
    return success();
  return MeshOp(mesh).emitError(status.message());
}
