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

std::string processSpace() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat space{};
  stat("/proc/self/ns/pid", &space);
  return boot + "-" + std::to_string(space.st_ino);
}

} // namespace dist
