//===- nonfinite.h - Where NaN or infinity came from ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_NONFINITE_H
#define RUNTIME_TRAIN_NONFINITE_H

#include "runtime/train/entry.h"

namespace dist {

/// The error of a step whose numbers are not finite. Says what is not finite
/// first: an example, a variable, or the loss.
Status nonfinite(Session &session, const Dataset &data, const Batch &batch,
                 const StepResult &result, const BatchPlan &plan);

} // namespace dist

#endif // RUNTIME_TRAIN_NONFINITE_H
