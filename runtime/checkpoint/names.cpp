//===- names.cpp - Names in a folder of states -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/names.h"
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <cstdio>
#include <sys/stat.h>

namespace dist {

std::string stateName(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%012lld",
                static_cast<long long>(step));
  return name;
}

std::vector<std::string> listNames(const std::string &folder) {
  return fileSystem().list(folder);
}

std::vector<int64_t> listStates(const std::string &folder) {
  std::vector<int64_t> steps;
  for (const std::string &name : listNames(folder)) {
    long long step;
    int used = 0;
    if (std::sscanf(name.c_str(), "step-%12lld%n", &step, &used) == 1 &&
        name[used] == 0)
      steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

bool exists(const std::string &path) {
  struct stat info;
  return fileSystem().status(path, &info, /*followsLinks=*/false) == 0;
}

} // namespace dist
