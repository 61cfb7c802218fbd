//===- process_space.cpp - Who sees whom by number ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/process_space.h"
#include <fstream>
#include <sys/stat.h>

namespace dist {

/// The machine, until it starts anew, and this process's namespace of a kind.
static std::string identify(const char *space) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat file{};
  stat(space, &file);
  return boot + "-" + std::to_string(file.st_ino);
}

std::string processSpace() { return identify("/proc/self/ns/pid"); }

std::string networkSpace() { return identify("/proc/self/ns/net"); }

} // namespace dist
