//===- TargetCpu.h - The CPU that code is generated for ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PACKAGE_TARGETCPU_H
#define PASSES_LOWERING_PACKAGE_TARGETCPU_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

struct TargetCpu {
  /// LLVM's names of the CPU, and of what is added to it or taken away.
  std::string name, features;
  /// What a machine must have to run the code (runtime/device/cpu/features.h).
  std::vector<std::string> needed;
  /// Whether it is the machine that compiles.
  bool isNative = false;

  bool has(StringRef feature) const;
  /// Bits of a vector register.
  int64_t getVectorBits() const;
};

/// `native` (or nothing), or a CPU by LLVM's name of this architecture; `why`
/// says what is wrong with the name.
std::optional<TargetCpu> findTargetCpu(StringRef name, std::string *why);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PACKAGE_TARGETCPU_H
