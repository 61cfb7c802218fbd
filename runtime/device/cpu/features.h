//===- features.h - Instruction sets of a CPU -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What generated code may use beyond what every CPU of the architecture has, by
// LLVM's names. A package lists what its code was generated for; it runs where
// all of that is there.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_FEATURES_H
#define RUNTIME_DEVICE_CPU_FEATURES_H

#include "runtime/device/features.h"
#include <string>
#include <vector>

namespace dist::cpu {

/// All that code generation may be asked for and `hostFeatures` looks for.
/// Those of which no code is generated (locks, random numbers, tiles) are not
/// among them.
std::vector<std::string> knownFeatures();

/// Those that this CPU has and the system lets programs use.
std::vector<std::string> hostFeatures();

using dist::missingFeatures;

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_FEATURES_H
