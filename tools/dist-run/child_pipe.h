//===- child_pipe.h - A pipe that started workers find --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_CHILD_PIPE_H
#define TOOLS_DIST_RUN_CHILD_PIPE_H

#include "runtime/cluster/socket.h"
#include "runtime/core/status.h"

namespace dist::tools {

/// Between a launcher and its workers; each has the ends that it needs.
struct ChildPipe {
  cluster::Socket heard, told;

  /// `flags` beside O_CLOEXEC; `whom` names the workers it is for.
  Status open(int flags, const char *whom);
  /// In a child, between fork and exec: it finds `end` under `variable`.
  static void giveToChild(const cluster::Socket &end, const char *variable);
  /// The end that this process was given so; -1: none. It is not handed on.
  static int take(const char *variable);
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_CHILD_PIPE_H
