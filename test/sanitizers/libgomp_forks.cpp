//===- libgomp_forks.cpp - libgomp's forks, told to ThreadSanitizer -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libgomp is not instrumented: without this, all that a team's threads do would
// look like races with what the thread that forks them does before and after.
// Linked into the tests of the TSan build in libgomp's place, which oneDNN's
// calls reach as ours do.
//
//===----------------------------------------------------------------------===//
#include <dlfcn.h>
#include <memory>
#include <vector>

extern "C" {
void __tsan_acquire(void *address);
void __tsan_release(void *address);
}

namespace {

using Function = void (*)(void *);

struct Region {
  Function function;
  void *data;
  Region *outer = nullptr;              // that the forking thread works in
  char fork = 0, barrier = 0, join = 0; // of interest are their addresses
};

/// The regions that this thread forked and has not joined yet.
thread_local std::vector<std::unique_ptr<Region>> forked;
/// The one that it works in.
thread_local Region *current = nullptr;

void runRegion(void *data) {
  auto &region = *static_cast<Region *>(data);
  Region *outer = current;
  current = &region;
  __tsan_acquire(&region.fork);
  region.function(region.data);
  __tsan_release(&region.join);
  current = outer;
}

template <typename Signature> Signature *libgomps(const char *name) {
  return reinterpret_cast<Signature *>(dlsym(RTLD_NEXT, name));
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

void GOMP_parallel(Function function, void *data, unsigned threads,
                   unsigned flags) {
  static const auto parallel =
      libgomps<void(Function, void *, unsigned, unsigned)>("GOMP_parallel");
  Region region{function, data};
  __tsan_release(&region.fork);
  parallel(runRegion, &region, threads, flags);
  __tsan_acquire(&region.join);
}

// oneDNN's calls: the caller works on the region itself between these two.
void GOMP_parallel_start(Function function, void *data, unsigned threads) {
  static const auto start =
      libgomps<void(Function, void *, unsigned)>("GOMP_parallel_start");
  forked.push_back(std::make_unique<Region>(Region{function, data, current}));
  current = forked.back().get();
  __tsan_release(&current->fork);
  start(runRegion, current, threads);
}

void GOMP_parallel_end() {
  static const auto end = libgomps<void()>("GOMP_parallel_end");
  end();
  __tsan_acquire(&forked.back()->join);
  current = forked.back()->outer;
  forked.pop_back();
}

void GOMP_barrier() {
  static const auto barrier = libgomps<void()>("GOMP_barrier");
  if (current)
    __tsan_release(&current->barrier);
  barrier();
  if (current)
    __tsan_acquire(&current->barrier);
}

} // extern "C"
#pragma GCC visibility pop
