//===- restart_end.cpp - When no worker is started again ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/restart_end.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

/// Where the chief finds the number of its end.
static constexpr char kVariable[] = "DIST_RUN_RESTART_END";

Status RestartEnd::open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Status::error(StatusCode::Unavailable, "cannot make a pipe",
                         "for the chief", std::strerror(errno));
  heard = cluster::Socket(ends[0]);
  told = cluster::Socket(ends[1]);
  return Status();
}

void RestartEnd::giveToChild() const {
  if (heard.get() < 0)
    return;
  fcntl(heard.get(), F_SETFD, 0);
  setenv(kVariable, std::to_string(heard.get()).c_str(), 1);
}

std::function<bool()> takeRestartEnd() {
  const char *given = std::getenv(kVariable);
  char *end = nullptr;
  const long number = given ? std::strtol(given, &end, 10) : -1;
  struct stat found = {};
  if (!given || end == given || *end || number <= STDERR_FILENO ||
      fstat(int(number), &found) != 0 || !S_ISFIFO(found.st_mode))
    return nullptr;
  fcntl(int(number), F_SETFD, FD_CLOEXEC);
  auto heard = std::make_shared<cluster::Socket>(int(number));
  return [heard] {
    pollfd polled{heard->get(), POLLIN, 0};
    return poll(&polled, 1, 0) == 1 && (polled.revents & POLLHUP);
  };
}

} // namespace dist::tools
