//===- runner.h - Random cases in a process that may die --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs numbered cases, each of which follows from the seed and its number. They
// run in a child process, one for each instruction set that the library is held
// to: a case that crashes or hangs is a failure like others, and the next ones
// still run. What is run is set by the environment:
//
//   SWEEP_CASES=300    cases for each instruction set
//   SWEEP_SEED=1       of all cases
//   SWEEP_FIRST=0      the number of the first one
//   SWEEP_ISA=AVX2     this instruction set alone
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SWEEP_RUNNER_H
#define TEST_RUNTIME_SWEEP_RUNNER_H

#include "runtime/device/cpu/library_kernel.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace dist::sweep {

/// How a case went: empty `failure` if well.
struct Outcome {
  bool ran = true; // false: the library has no such kernel
  std::string description, failure;
};

using Case = std::function<Outcome(uint64_t seed, uint64_t index,
                                   const std::function<void(std::string)> &)>;

/// What parent and child both see.
struct Shared {
  uint64_t current, ran, failed;
  char isa[64], what[1024], failures[1 << 16];
};

inline void put(char *to, size_t room, const std::string &text) {
  size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

inline uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

inline std::string again(const char *isa, uint64_t seed, uint64_t index) {
  return std::string("\n    again: SWEEP_ISA=") + isa +
         " SWEEP_SEED=" + std::to_string(seed) +
         " SWEEP_FIRST=" + std::to_string(index) + " SWEEP_CASES=1";
}

/// In the child.
inline void runCases(const Case &run, const char *isa, uint64_t seed,
                     uint64_t end, Shared *shared) {
  for (uint64_t i = shared->current; i < end; ++i) {
    shared->current = i;
    Outcome outcome = run(seed, i, [&](const std::string &what) {
      put(shared->what, sizeof(shared->what), what);
    });
    shared->ran += outcome.ran;
    if (outcome.failure.empty())
      continue;
    ++shared->failed;
    size_t used = std::strlen(shared->failures);
    put(shared->failures + used, sizeof(shared->failures) - used,
        outcome.description + ": " + outcome.failure + again(isa, seed, i) +
            "\n");
  }
  shared->current = end;
}

/// Waits for the child; a case may take a minute. Whether it ended by itself.
inline bool await(pid_t child, const Shared *shared) {
  using namespace std::chrono;
  uint64_t last = ~0ull;
  auto before = steady_clock::now();
  steady_clock::duration waited{};
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(milliseconds(5));
    // While this process is stopped, the child may be, too.
    auto now = steady_clock::now();
    waited += std::min<steady_clock::duration>(now - before, milliseconds(500));
    before = now;
    uint64_t current = const_cast<const volatile uint64_t &>(shared->current);
    if (current != last)
      waited = {};
    last = current;
    if (waited < seconds(60))
      continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// All cases with the library held to `isa`, unless that is one of `seen`.
inline void sweepIsa(const Case &run, const char *isa, uint64_t cases,
                     std::set<std::string> *seen) {
  uint64_t seed = setting("SWEEP_SEED", 1), first = setting("SWEEP_FIRST", 0);
  auto *shared = static_cast<Shared *>(mmap(nullptr, sizeof(Shared),
                                            PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  shared->current = first;
  for (int deaths = 0; shared->current < first + cases; ++shared->current) {
    std::fflush(nullptr);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Before the library is asked for the first time.
      if (std::strcmp(isa, "native") != 0)
        setenv("ONEDNN_MAX_CPU_ISA", isa, 1);
      std::string host = cpu::hostIsa();
      put(shared->isa, sizeof(shared->isa), host.substr(host.rfind('=') + 1));
      if (seen->count(shared->isa))
        shared->current = first + cases;
      else
        runCases(run, isa, seed, first + cases, shared);
      _exit(0);
    }
    if (await(child, shared))
      break;
    ADD_FAILURE() << shared->what << ": crashed or hung"
                  << again(isa, seed, shared->current);
    if (++deaths == 10)
      break;
  }
  if (shared->failed)
    ADD_FAILURE() << shared->failed << " failed\n" << shared->failures;
  if (seen->insert(shared->isa).second) {
    printf("%s: %llu cases, %llu failed\n", shared->isa,
           static_cast<unsigned long long>(shared->ran),
           static_cast<unsigned long long>(shared->failed));
    EXPECT_GT(shared->ran, 0u);
  }
  munmap(shared, sizeof(Shared));
}

/// `cases` for each instruction set that this machine has.
inline void sweep(const Case &run, uint64_t cases) {
  cases = setting("SWEEP_CASES", cases);
  std::set<std::string> seen;
  if (const char *isa = std::getenv("SWEEP_ISA"))
    return sweepIsa(run, isa, cases, &seen);
  for (const char *isa : {"native", "AVX512_CORE_AMX", "AVX512_CORE_FP16",
                          "AVX512_CORE_BF16", "AVX512_CORE", "AVX2"})
    sweepIsa(run, isa, cases, &seen);
}

} // namespace dist::sweep

#endif // TEST_RUNTIME_SWEEP_RUNNER_H
