//===- told.h - What processes tell each other of steps ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain bytes, which are sent as they lie: how many there are is also told
// before anything runs.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_TOLD_H
#define RUNTIME_CORE_TOLD_H

#include "runtime/core/manifest.pb.h"
#include <cstdint>

namespace dist {

/// What a step says of itself.
struct StepResult {
  float loss = 0;
  bool hasLoss = false;
  bool finite = true;
  bool hasLearningRate = false;
  float learningRate = 0;
};

/// Whether a result of an entry is a part of that.
inline bool isOfStepResult(manifest::Binding::Role role) {
  return role == manifest::Binding::LOSS || role == manifest::Binding::FINITE ||
         role == manifest::Binding::LEARNING_RATE;
}

/// Workers that train by themselves run so many steps at once at most, before
/// they agree on the next ones and tell each other what these gave.
constexpr int64_t kOwnSteps = 16;

/// Of a device, before processes tell each other a text: of which process it
/// is, and how long a text it sends; -1: another device of its process does.
struct TextTitle {
  int64_t process, bytes;
};

} // namespace dist

#endif // RUNTIME_CORE_TOLD_H
