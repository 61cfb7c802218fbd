//===- world.h - The communicators of a process's ranks ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_WORLD_H
#define RUNTIME_CORE_WORLD_H

#include "runtime/core/communicator.h"

namespace dist {

/// Who the ranks of one process talk through. Sessions use what they are given,
/// whatever moves the bytes.
class World {
public:
  virtual ~World() = default;
  /// Of the mesh, in all processes.
  virtual int ranks() const = 0;
  /// Of a rank of this process.
  virtual Communicator &rank(int rank) = 0;
  /// After a failure, when no rank of any process is in a collective any more:
  /// starts anew.
  virtual void reset() = 0;
};

} // namespace dist

#endif // RUNTIME_CORE_WORLD_H
