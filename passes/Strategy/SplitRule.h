//===- SplitRule.h - A rule of --split -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_SPLITRULE_H
#define PASSES_STRATEGY_SPLITRULE_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir::dist {

/// REGEX=DIM:AXIS[@PRIORITY]
struct SplitRule {
  /// As users know it, for messages.
  std::string text;
  /// The regular expression as it was given.
  std::string name;
  /// The one that holds for whole names.
  std::string pattern;
  std::string axis;
  unsigned dim = 0;
  int64_t priority = 0;

  /// Emits one error through `emitError` when `text` is no rule.
  static FailureOr<SplitRule>
  parse(StringRef text, llvm::function_ref<InFlightDiagnostic()> emitError);
};

} // namespace mlir::dist

#endif // PASSES_STRATEGY_SPLITRULE_H
