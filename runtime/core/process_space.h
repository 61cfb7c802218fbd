//===- process_space.h - Who sees whom by number ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PROCESS_SPACE_H
#define RUNTIME_CORE_PROCESS_SPACE_H

#include <string>

namespace dist {

/// The same, in the processes of one machine (and container), where the
/// system's numbers of processes mean the same; another one elsewhere.
std::string processSpace();

/// Names the machine and what it has of networks: the same in two processes
/// that reach each other without one. Containers on one machine differ in it,
/// unless they share its network.
std::string networkSpace();

} // namespace dist

#endif // RUNTIME_CORE_PROCESS_SPACE_H
