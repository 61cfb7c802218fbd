//===- evaluator.h - The evaluator beside a cluster -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_EVALUATOR_H
#define TOOLS_OPTIONS_EVALUATOR_H

#include "tools/options/options.h"

namespace dist::tools {

/// Whether the evaluator takes an option of `fit`, by its group and name.
bool isOfEvaluator(const std::string &group, const std::string &name);

/// Makes of those options of `fit` the ones of `evaluate --follow`. Errors:
/// there are no states to read, or no data to evaluate on.
Status becomeEvaluator(Options *options);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_EVALUATOR_H
