//===- ShardingStates.h - What is split how as shardings spread -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What dist-propagate-sharding knows of values, declared results and variables:
// read from the program, extended while it spreads, and written back. A
// variable is one value that all functions have: what one of them finds out of
// it holds for the others.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_SHARDINGSTATES_H
#define PASSES_PARTITION_SHARDINGSTATES_H

#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/PropagationState.h"

namespace mlir::dist {

struct PropagationOptions {
  bool strictDivisibility, close, sources;
};

class ShardingStates {
public:
  ShardingStates(ModuleOp module, MeshOp mesh, PropagationOptions options)
      : module(module), mesh(mesh), options(options) {}

  /// What the functions and variables say. Starts anew, but remembers the rows
  /// of earlier rounds.
  LogicalResult read(ArrayRef<func::FuncOp> functions);
  void write(ArrayRef<func::FuncOp> functions);

  /// Null where the value has none.
  PropagationState *find(Value value);
  /// The state of the variable that an argument or result stands for, or null.
  PropagationState *findVariable(DictionaryAttr attributes);
  /// The state of a function's result: its variable's, or what was declared of
  /// it; null where a result follows its operand.
  PropagationState *findResult(func::FuncOp function, unsigned result);
  void forAll(llvm::function_ref<void(PropagationState &)> act);

  /// Extends a state by an op's or function's: `findRow` gives the row that an
  /// axis of a dim follows from, `describe` who has it now.
  bool extend(PropagationState &state, const AxisLists &dims, Operation *op,
              int32_t result, llvm::function_ref<std::string()> describe,
              llvm::function_ref<int32_t(unsigned, StringAttr)> findRow);
  /// The same between a variable and an argument that stands for it, which
  /// have their rows in common.
  bool extendByVariable(PropagationState &to, const PropagationState &from);
  /// The row that says where an axis came from; -1: none does.
  int32_t findRow(const PropagationState &state, StringAttr axis) const;

private:
  LogicalResult readVariables();
  LogicalResult readShardings(func::FuncOp function);
  LogicalResult readResults(func::FuncOp function);
  LogicalResult checkDivides(Operation *op, const Twine &what, Type type,
                             ShardingAttr sharding) {
    return dist::checkDivides(op, what, type, sharding, mesh,
                              options.strictDivisibility);
  }
  void decide(PropagationState &state, bool isGiven, int32_t result,
              StringRef name, Attribute known,
              llvm::function_ref<std::string(StringAttr)> explain);
  std::string getDecision(StringAttr axis) const;
  void write(func::FuncOp function);

  ModuleOp module;
  MeshOp mesh;
  PropagationOptions options;
  DenseMap<Value, PropagationState> values;
  /// Declared function results.
  DenseMap<std::pair<Operation *, unsigned>, PropagationState> results;
  DenseMap<StringAttr, PropagationState> variables;
  std::optional<SourceBuilder> table;
  /// The rows of earlier rounds.
  SourceTable earlier;
};

/// A result as a user knows it.
std::string describeResult(func::FuncOp function, unsigned result);

} // namespace mlir::dist

#endif // PASSES_PARTITION_SHARDINGSTATES_H
