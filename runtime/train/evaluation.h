//===- evaluation.h - What evaluates data --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_EVALUATION_H
#define RUNTIME_TRAIN_EVALUATION_H

#include "runtime/train/entry.h"
#include "runtime/train/result_teller.h"
#include "runtime/train/trainer.h"

namespace dist {

/// What evaluates `data`, all of it once. Errors: a program that does not
/// evaluate, a last batch that it cannot take.
Status prepareEvaluation(Session &session, const Dataset &data,
                         EntryPair *entries, BatchPlan *plan,
                         ResultTeller *teller);

/// As `fit` does it between epochs, by who is to.
Status evaluate(Session &session, const Dataset &data,
                const FitOptions &options, Evaluation *out,
                const std::function<bool()> &stops);

} // namespace dist

#endif // RUNTIME_TRAIN_EVALUATION_H
