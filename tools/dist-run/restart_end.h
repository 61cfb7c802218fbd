//===- restart_end.h - When no worker is started again ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chief of parameter servers whose workers are all lost waits for one to come
// back. The launcher knows when none does. It holds one end of a pipe, and the
// chief the other one: that is closed, then.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_RESTART_END_H
#define TOOLS_DIST_RUN_RESTART_END_H

#include "tools/dist-run/child_pipe.h"
#include <functional>

namespace dist::tools {

/// The launcher's.
class RestartEnd {
public:
  Status open();
  /// In the process that is to become the chief, behind its fork.
  void giveToChild() const;
  /// All workers have ended, and none is started again.
  void tell() { pipe.told = cluster::Socket(); }

private:
  ChildPipe pipe;
};

/// The chief's: whether its launcher has told it so. Null: it was not launched
/// by one that tells.
std::function<bool()> takeRestartEnd();

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_RESTART_END_H
