//===- restart_end.cpp - When no worker is started again ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/restart_end.h"
#include <memory>
#include <poll.h>

namespace dist::tools {

/// Where the chief finds the number of its end.
static constexpr char kVariable[] = "DIST_RUN_RESTART_END";

Status RestartEnd::open() { return pipe.open(0, "for the chief"); }

void RestartEnd::giveToChild() const {
  ChildPipe::giveToChild(pipe.heard, kVariable);
}

std::function<bool()> takeRestartEnd() {
  const int end = ChildPipe::take(kVariable);
  if (end < 0)
    return nullptr;
  auto heard = std::make_shared<cluster::Socket>(end);
  return [heard] {
    pollfd polled{heard->get(), POLLIN, 0};
    return poll(&polled, 1, 0) == 1 && (polled.revents & POLLHUP);
  };
}

} // namespace dist::tools
