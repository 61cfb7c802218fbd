//===- nonfinite.h - Where NaN and infinities come from ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_NONFINITE_H
#define RUNTIME_TRAIN_NONFINITE_H

#include "runtime/train/entry.h"

namespace dist {

/// Says what of a step is not finite first: an example, a variable, or the
/// loss. All processes of a session ask together, and get the same answer.
Status nonfinite(Session &session, const Dataset &data, const Batch &batch,
                 const StepResult &result, const BatchPlan &plan);

} // namespace dist

#endif // RUNTIME_TRAIN_NONFINITE_H
