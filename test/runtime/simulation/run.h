//===- run.h - A simulated run ----------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_RUN_H
#define TEST_RUNTIME_SIMULATION_RUN_H

#include <cstdint>
#include <string>

namespace dist::simulation {

/// What each simulation's program is of: runs under faults of this seed's
/// choice; returns what is wrong with how that went. Empty: nothing.
std::string simulateRun(uint64_t seed, bool isTraced);

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_RUN_H
