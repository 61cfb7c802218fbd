//===- mpirun.h - Processes that mpirun starts for a test -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_PROCESSES_MPIRUN_H
#define TEST_RUNTIME_CTS_PROCESSES_MPIRUN_H

#include "test/runtime/cts/processes/process.h"

namespace dist::cts {

/// As many as a world has ranks at most.
constexpr int mpirunRanks = 8;

/// The ranks of a job of MPI's, which `launcher`, the words of a command,
/// starts as `PROGRAM --serve-mpi NAME` of this very program. MPI's first ranks
/// are those of a world, in the same order. The job stays for the next world,
/// as long as all its ranks are usable; then there is another one. It ends with
/// the test, however that ends.
std::unique_ptr<Processes> mpirunProcesses(std::vector<std::string> launcher);

/// In a process of the job: its ends, by the NAME that it was given. Exits
/// where the test has gone.
Sockets connectToTest(const std::string &name, int rank);

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_PROCESSES_MPIRUN_H
