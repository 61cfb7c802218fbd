//===- library_faults.h - What of the library computes wrongly --*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implementations of oneDNN that are known to be wrong, and for which kernels.
// library_kernel.cpp, which alone asks the library, takes the next one that it
// offers instead.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_LIBRARY_FAULTS_H
#define RUNTIME_DEVICE_CPU_LIBRARY_FAULTS_H

#include "runtime/core/manifest.pb.h"
#include <string>

namespace dist::cpu {

/// Whether the library's `implementation` of the kernel, which the library has
/// taken, reads or writes what is not its own, or gives another result than it
/// should.
bool isFaulty(const manifest::LibraryKernel &kernel,
              const std::string &implementation);

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_LIBRARY_FAULTS_H
