//===- truncation.cpp - Mapped files that are cut short -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel tells by SIGBUS, at the access. Nothing can be computed from then
// on; which file it was stands in the process's own list of mappings, which is
// read here with what a signal handler may call.
//
//===----------------------------------------------------------------------===//
#include "tools/options/truncation.h"
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace {

const char *toolName = "";

struct Line {
  char text[8192];
  size_t size = 0;
  void add(const char *more, size_t count) {
    for (size_t i = 0; i < count && size < sizeof text; ++i)
      text[size++] = more[i];
  }
  void add(const char *more) { add(more, std::strlen(more)); }
};

/// Takes a hexadecimal number off the front.
uintptr_t takeNumber(const char *&at) {
  uintptr_t value = 0;
  for (;; ++at) {
    if (*at >= '0' && *at <= '9')
      value = value * 16 + (*at - '0');
    else if (*at >= 'a' && *at <= 'f')
      value = value * 16 + (*at - 'a' + 10);
    else
      return value;
  }
}

/// Adds the name of the file of which `line` says that it is mapped at
/// `address`. Lines are `BEGIN-END RIGHTS OFFSET DEVICE INODE    PATH`.
bool addFile(const char *line, uintptr_t address, Line *out) {
  uintptr_t begin = takeNumber(line);
  if (*line != '-')
    return false;
  uintptr_t end = takeNumber(++line);
  if (address < begin || address >= end)
    return false;
  if (const char *path = std::strchr(line, '/'))
    out->add(path);
  return true;
}

/// Adds the name of the file that is mapped at `address`.
void addFileAt(uintptr_t address, Line *out) {
  int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0)
    return;
  char line[6000], block[4096];
  size_t used = 0;
  bool done = false;
  while (!done) {
    ssize_t got = read(maps, block, sizeof block);
    if (got <= 0)
      break;
    for (ssize_t i = 0; i < got && !done; ++i) {
      if (block[i] != '\n') {
        if (used + 1 < sizeof line)
          line[used++] = block[i];
        continue;
      }
      line[used] = 0;
      used = 0;
      done = addFile(line, address, out);
    }
  }
  close(maps);
}

void onBusError(int, siginfo_t *info, void *) {
  if (info->si_code != BUS_ADRERR) {
    // None of ours: it happens again, with what it does to any program.
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  Line line;
  line.add(toolName);
  line.add(": error: file was cut short while it was read (");
  addFileAt(reinterpret_cast<uintptr_t>(info->si_addr), &line);
  line.add(
      "): what was to be read is gone; run again when nothing writes it\n");
  ssize_t ignored = write(STDERR_FILENO, line.text, line.size);
  (void)ignored;
  _exit(3);
}

} // namespace

void dist::tools::guardMappedFiles(const char *tool) {
  toolName = tool;
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}
