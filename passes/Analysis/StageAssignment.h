//===- StageAssignment.h - Which stage of a pipeline an op belongs to -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only variables are given a stage (`dist.stage`); an op's follows from the
// variables that it depends on and that depend on it, in every entry alike.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_STAGEASSIGNMENT_H
#define PASSES_ANALYSIS_STAGEASSIGNMENT_H

#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// The variables bound to a function's arguments and results; null for those of
/// none. Made once for many of them: the module's variables are looked at once.
class PortVariables {
public:
  explicit PortVariables(func::FuncOp function);
  graph::VariableOp ofArgument(unsigned argument);
  graph::VariableOp ofResult(unsigned result);

private:
  graph::VariableOp find(Attribute name);
  func::FuncOp function;
  llvm::DenseMap<Attribute, graph::VariableOp> variables;
};

/// The variable's stage; -1 if it has none: every stage that reads it has it.
int64_t getStage(graph::VariableOp variable);

/// Whether each stage that reads the variable keeps a copy of its own: step
/// counters and the like.
bool isKeptByAll(graph::VariableOp variable);

struct StageAssignment {
  /// An op's stage; -1: it depends on no variable that has one, and each stage
  /// that wants its result computes it.
  llvm::DenseMap<Operation *, int64_t> home;
  /// What outputs, the loss and metrics depend on.
  llvm::DenseSet<Operation *> forward;

  /// The stage that has the value; -1: any.
  int64_t getHome(Value value) const;
  llvm::DenseMap<Value, int64_t> argumentHome;
};

/// The assignment from the variables' stages. A forward op belongs to the last
/// stage of what it reads. A backward one belongs to the last of: the stages of
/// forward values that it reads, and of the variables whose update its tensor
/// reaches; or to a later one that has all that it reads, if then less is sent
/// (moveBehindSends).
StageAssignment assignStages(func::FuncOp function);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_STAGEASSIGNMENT_H
