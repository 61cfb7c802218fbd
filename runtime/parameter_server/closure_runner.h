//===- closure_runner.h - Training steps as closures ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_CLOSURE_RUNNER_H
#define RUNTIME_PARAMETER_SERVER_CLOSURE_RUNNER_H

#include "runtime/parameter_server/served_session.h"
#include "runtime/train/trainer.h"

namespace dist::ps {

/// What `fit` trains the coordinator's session by: a step is a closure of its
/// batch's number.
class ClosureRunner : public StepRunner {
public:
  ClosureRunner(Coordinator &coordinator, ServedSession &session)
      : coordinator(coordinator), session(session) {}
  Status begin(int64_t first, int64_t count) override;
  void cancel() override { coordinator.cancel(); }
  bool isDone() const override { return coordinator.isDone(); }
  Status next(std::optional<StepDone> *out) override;
  bool stops() override { return coordinator.isToldToStop(); }

private:
  Coordinator &coordinator;
  ServedSession &session;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_CLOSURE_RUNNER_H
