//===- limits.h - How large a run may be ------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_LIMITS_H
#define RUNTIME_CORE_LIMITS_H

#include <cstdint>

namespace dist {

/// A run's devices: each has a state and threads, and hears of all others.
constexpr int64_t kMostRanks = 1024;

} // namespace dist

#endif // RUNTIME_CORE_LIMITS_H
