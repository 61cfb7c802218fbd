//===- main.cpp - Many simulated runs -------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   *_simulation [--seeds N] [--first N]  so many seeds, or 2500
//   *_simulation --seed S                 one of them, with its trace
//   *_simulation --finds-fault            whether one of them fails
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/run.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using dist::simulation::simulateRun;

static constexpr int64_t kSeeds = 2500;

int main(int argc, char **argv) {
  int64_t seeds = kSeeds, first = 1, one = -1;
  bool findsFault = false;
  for (int i = 1; i < argc; ++i) {
    bool hasValue = i + 1 < argc;
    if (!std::strcmp(argv[i], "--finds-fault")) {
      findsFault = true;
    } else if (hasValue && !std::strcmp(argv[i], "--seeds")) {
      seeds = std::atoll(argv[++i]);
    } else if (hasValue && !std::strcmp(argv[i], "--first")) {
      first = std::atoll(argv[++i]);
    } else if (hasValue && !std::strcmp(argv[i], "--seed")) {
      one = std::atoll(argv[++i]);
    } else {
      std::fprintf(stderr, "%s: unknown option %s; see the head of main.cpp\n",
                   argv[0], argv[i]);
      return 2;
    }
  }
  if (one >= 0) {
    std::string failure = simulateRun(uint64_t(one), true);
    std::printf("%s\n", failure.empty() ? "nothing is wrong" : failure.c_str());
    return failure.empty() ? 0 : 1;
  }
  int failures = 0;
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    std::string failure = simulateRun(uint64_t(seed), false);
    if (failure.empty())
      continue;
    std::printf("seed %lld: %s\n", (long long)seed, failure.c_str());
    if (findsFault)
      return 0;
    std::printf("  again, with what happens: %s --seed %lld\n", argv[0],
                (long long)seed);
    if (++failures == 10)
      break;
  }
  if (failures == 0)
    std::printf("%lld seeds, nothing is wrong\n", (long long)seeds);
  return findsFault || failures > 0 ? 1 : 0;
}
