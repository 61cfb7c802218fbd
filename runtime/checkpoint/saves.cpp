//===- saves.cpp - The saves of a training --------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/saves.h"
#include <utility>

namespace dist {

Status Saves::begin(const TrainingState &state, bool beside) {
  DIST_RETURN_IF_ERROR(finish(nullptr));
  DIST_RETURN_IF_ERROR(folder.beginSave(session, state, beside));
  savingStep = state.step;
  return Status();
}

Status Saves::finish(Status *failure) {
  if (savingStep < 0)
    return Status();
  // Whatever comes of it, it is not waited for again.
  const int64_t step = std::exchange(savingStep, -1);
  Status why;
  DIST_RETURN_IF_ERROR(folder.finishSave(keep, session, &why));
  if (why.ok())
    savedStep = step;
  else if (!failure)
    note("step " + std::to_string(step) + " is not saved: " + why.message() +
         "; training goes on");
  if (failure)
    *failure = std::move(why);
  return Status();
}

Status Saves::finishWritten() {
  if (savingStep < 0)
    return Status();
  bool isDone = false;
  DIST_RETURN_IF_ERROR(session.agree(folder.isWritten(), &isDone));
  return isDone ? finish(nullptr) : Status();
}

} // namespace dist
