//===- learning_rate.h - The learning rate that a host sets -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that was compiled with --settable-lr reads the optimizer's lr from
// a variable in every step. The schedule makes the step's rate of it: with
// `constant` they are the same.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_LEARNING_RATE_H
#define RUNTIME_CORE_LEARNING_RATE_H

#include "runtime/core/session.h"

namespace dist {

/// Whether the program has the variable.
bool hasSettableLearningRate(const manifest::Manifest &manifest);

/// The optimizer's lr, an f32. Fails for a program without the variable.
Status readLearningRate(Session &session, double *rate);

/// The same for all ranks from the next step on, rounded to f32. Fails for a
/// program without the variable, and for what is no finite number of at least
/// 0 as f32.
Status setLearningRate(Session &session, double rate);

} // namespace dist

#endif // RUNTIME_CORE_LEARNING_RATE_H
