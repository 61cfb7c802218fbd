//===- MessageMemory.h - Memory that messages take of a device --*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PROGRAM_MESSAGEMEMORY_H
#define PASSES_LOWERING_PROGRAM_MESSAGEMEMORY_H

#include "dialects/Dist/IR/Mesh.h"
#include "runtime/comm/message/scratch.h"
#include "runtime/core/manifest.pb.h"
#include <map>
#include <optional>

namespace mlir::dist {

/// What the collectives of each program take of a device that sends messages,
/// beside their buffers: as many bytes as its communicator will reserve.
class MessageMemory {
public:
  /// `mesh` outlives it.
  static FailureOr<std::unique_ptr<MessageMemory>>
  create(MeshOp mesh, const ::dist::manifest::Manifest &manifest);

  /// Of one program's ranks; below 0: of all devices.
  void add(const ::dist::Collective &call, int64_t program);
  /// The most of those that run it.
  int64_t getBytes(int64_t program) const;
  /// An error where a communicator would not prepare a call.
  LogicalResult verify() const;

private:
  explicit MessageMemory(MeshOp mesh) : mesh(mesh) {}

  MeshOp mesh;
  ::dist::WorldOptions options;
  ::dist::MeshGroups groups;
  std::vector<int> devices;
  std::map<int64_t, std::vector<int>> ranksOf; // by program
  std::optional<::dist::message::Scratch> scratch;
  ::dist::Status status;
};

} // namespace mlir::dist

#endif // PASSES_LOWERING_PROGRAM_MESSAGEMEMORY_H
