//===- allocations.cpp - Counts what a program allocates ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/allocations.h"
#include <cstdlib>
#include <new>

namespace dist::cts {
std::atomic<int64_t> allocations;
}

// Sanitizers have these of their own.
#ifndef DIST_SANITIZED
// NOLINTBEGIN: all that C++ allocates.
void *operator new(size_t bytes) {
  ++dist::cts::allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  std::abort();
}
void *operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  ++dist::cts::allocations;
  size_t unit = size_t(alignment);
  if (void *memory = std::aligned_alloc(unit, (bytes / unit + 1) * unit))
    return memory;
  std::abort();
}
void *operator new[](size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
// NOLINTEND
#endif
