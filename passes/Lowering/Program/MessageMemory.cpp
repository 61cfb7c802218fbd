//===- MessageMemory.cpp - Memory that messages take of a device ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/MessageMemory.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<std::unique_ptr<MessageMemory>>
MessageMemory::create(MeshOp mesh, const ::dist::manifest::Manifest &manifest) {
  std::unique_ptr<MessageMemory> memory(new MessageMemory(mesh));
  memory->options.setMesh(manifest.mesh());
  if (::dist::Status status = ::dist::MeshGroups::create(
          memory->options.mesh, memory->options.host, &memory->groups);
      !status.ok())
    return mesh.emitError(status.message()), failure();
  for (int rank = 0; rank < memory->groups.ranks(); ++rank) {
    if (!memory->groups.isHost(rank))
      memory->devices.push_back(rank);
    memory->ranksOf[manifest.program_of_rank(rank)].push_back(rank);
  }
  memory->scratch.emplace(memory->options, memory->groups);
  return memory;
}

void MessageMemory::add(const ::dist::Collective &call, int64_t program) {
  if (status.ok())
    status = scratch->add(call, program < 0 ? devices : ranksOf[program]);
}

int64_t MessageMemory::getBytes(int64_t program) const {
  int64_t most = 0;
  if (auto found = ranksOf.find(program); found != ranksOf.end())
    for (int rank : found->second)
      most = std::max(most, scratch->bytesOf(rank));
  return most;
}

LogicalResult MessageMemory::verify() const {
  if (status.ok())
    return success();
  return MeshOp(mesh).emitError(status.message());
}
