//===- result_teller.h - What steps gave, in every process --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_RESULT_TELLER_H
#define RUNTIME_TRAIN_RESULT_TELLER_H

#include "runtime/train/entry.h"

namespace dist {

/// Tells processes whose ranks give no loss, such as those without a pipeline's
/// last stage, what a step gave elsewhere: all of them go on, or end, by it.
class ResultTeller {
public:
  /// All processes call it, with what they are going to run; `mine`: whether
  /// that could be prepared here. Errors: one of them could not; none of them
  /// has all results of a step.
  static Status create(Session &session, const Status &mine,
                       const std::vector<const EntryCall *> &calls,
                       ResultTeller *out);
  /// For so many calls at most between two that tell. All processes ask for as
  /// many.
  Status prepare(int64_t mostCalls);
  /// The results of calls that all processes have made, as EntryCall::read
  /// gives them where the loss is. Moves nothing where each process has them.
  /// Of workers that train by themselves each gives its part of the loss.
  Status tell(StepResult *results, size_t count);
  /// Whether this process learns results by `tell` alone.
  bool isTold() const;

private:
  Session *session = nullptr;
  bool hasAll = true; // here
  int source = -1;    // the process that tells; -1: none has to
  bool adds = false;  // all have parts of the loss
  size_t most = 0;    // calls that are told at once
  std::vector<StepResult> told;
  std::unique_ptr<Telling> telling; // null: nothing is told
};

} // namespace dist

#endif // RUNTIME_TRAIN_RESULT_TELLER_H
