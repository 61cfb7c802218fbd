//===- names.cpp - Names in a folder of states -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/names.h"
#include "runtime/core/text.h"
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

namespace dist {

static constexpr const char *kStep = "step-";

std::string stateName(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%012lld", kStep,
                static_cast<long long>(step));
  return name;
}

std::vector<std::string> listNames(const std::string &folder) {
  return fileSystem().list(folder);
}

std::vector<int64_t> listStates(const std::string &folder) {
  std::vector<int64_t> steps;
  for (const std::string &name : listNames(folder)) {
    // Of as many digits as the step has: apps count as they like.
    int64_t step = 0;
    const char *end = name.data() + name.size();
    if (startsWith(name, kStep) &&
        std::from_chars(name.data() + std::strlen(kStep), end, step).ptr ==
            end &&
        name == stateName(step))
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
