//===- child_pipe.cpp - A pipe that started workers find ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/child_pipe.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

Status ChildPipe::open(int flags, const char *whom) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | flags) != 0)
    return Status::error(StatusCode::Unavailable, "cannot make a pipe", whom,
                         std::strerror(errno));
  heard = cluster::Socket(ends[0]);
  told = cluster::Socket(ends[1]);
  return Status();
}

void ChildPipe::giveToChild(const cluster::Socket &end, const char *variable) {
  if (end.get() < 0)
    return;
  fcntl(end.get(), F_SETFD, 0);
  setenv(variable, std::to_string(end.get()).c_str(), 1);
}

int ChildPipe::take(const char *variable) {
  const char *given = std::getenv(variable);
  char *end = nullptr;
  const long number = given ? std::strtol(given, &end, 10) : -1;
  struct stat found = {};
  if (!given || end == given || *end || number <= STDERR_FILENO ||
      fstat(int(number), &found) != 0 || !S_ISFIFO(found.st_mode))
    return -1;
  fcntl(int(number), F_SETFD, FD_CLOEXEC);
  return int(number);
}

} // namespace dist::tools
