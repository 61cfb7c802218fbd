//===- Timeline.h - When a program does what, by the machine's figures ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_TIMELINE_H
#define PASSES_ANALYSIS_TIMELINE_H

#include "dialects/Dist/IR/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/MachineModel.h"
#include <vector>

namespace mlir::dist {

/// One op's work. A transfer runs beside the program: where the program waits
/// for one, that is an activity of its own.
struct Activity {
  enum class Kind {
    Compute,
    Transfer,
    /// For a transfer: exposed communication.
    Exposed,
    /// For another stage that has not sent yet, another position that has not
    /// come to a collective.
    Idle,
  };
  Kind kind;
  Operation *op;
  double start, end;
};

/// What one program does.
struct ProgramTimeline {
  std::vector<Activity> activities;
  double compute = 0, transfer = 0, exposed = 0, idle = 0;
  double end = 0;
};

struct Timeline {
  std::vector<ProgramTimeline> programs;
  /// When the last program is done.
  double length = 0;
};

/// Seconds of an op, with all that is inside, on one of so many devices.
using PredictFunction =
    llvm::function_ref<double(Operation *, const MachineModel &, int64_t)>;

/// Runs programs that work together, each on a rank: one for all, or one a
/// stage of a pipeline or an unequal position. Its transfers come one after
/// another, beside what it computes; a program waits for a transfer that was
/// not started beforehand, and a `dist.recv` for the `dist.send` of the same
/// tag. Unequal positions wait for each other at each collective over their
/// axis. Where variables are on the host, ranks sleep between steps and the
/// host sleeps until it is given something: each time a thread has to be woken
/// up. Activities are kept only if `details`. `predict` says how long what is
/// no transfer takes; without, the costs of graph ops do.
Timeline simulate(ArrayRef<func::FuncOp> programs, MeshOp mesh,
                  const MachineModel &machine, bool details,
                  PredictFunction predict = nullptr);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_TIMELINE_H
