//===- allocations.h - Counts what a program allocates ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a program of its own: it has all of C++'s `new` counted.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_ALLOCATIONS_H
#define TEST_RUNTIME_CTS_ALLOCATIONS_H

#include <atomic>
#include <cstdint>

namespace dist::cts {

extern std::atomic<int64_t> allocations;

// Under sanitizers the steps run, and are not counted.
#ifdef DIST_SANITIZED
constexpr bool isCounted = false;
#else
constexpr bool isCounted = true;
#endif

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_ALLOCATIONS_H
