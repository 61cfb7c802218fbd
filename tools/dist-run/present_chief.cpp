//===- present_chief.cpp - Which of a launcher's workers is chief ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dist-run/present_chief.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

static constexpr char kVariable[] = "DIST_RUN_PRESENT_CHIEF";

Status PresentChief::open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return Status::error(StatusCode::Unavailable, "cannot make a pipe",
                         "for the workers", std::strerror(errno));
  heard = cluster::Socket(ends[0]);
  told = cluster::Socket(ends[1]);
  return Status();
}

void PresentChief::giveToChild() const {
  if (told.get() < 0)
    return;
  fcntl(told.get(), F_SETFD, 0);
  setenv(kVariable, std::to_string(told.get()).c_str(), 1);
}

pid_t PresentChief::take() const {
  pid_t last = 0, said = 0;
  while (heard.get() >= 0 &&
         read(heard.get(), &said, sizeof said) == ssize_t(sizeof said))
    last = said;
  return last;
}

void tellPresentChief() {
  const char *given = std::getenv(kVariable);
  char *end = nullptr;
  const long number = given ? std::strtol(given, &end, 10) : -1;
  struct stat found = {};
  if (!given || end == given || *end || number <= STDERR_FILENO ||
      fstat(int(number), &found) != 0 || !S_ISFIFO(found.st_mode))
    return;
  fcntl(int(number), F_SETFD, FD_CLOEXEC);
  // The launcher takes it at once, and ends its workers when it ends.
  const pid_t self = getpid();
  (void)!write(int(number), &self, sizeof self);
}

} // namespace dist::tools
