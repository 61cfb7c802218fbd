//===- Optimizers.h - Updates of variables as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_OPTIMIZERS_H
#define PASSES_GRAPH_OPTIMIZERS_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/TrainingTables.h"

namespace mlir::dist::graph {

/// What all variables of one update share. Scalars that depend on the iteration
/// alone are built once.
class UpdateStep {
public:
  /// `rate` is the learning rate (f32), `number` counts updates from 1 (f32).
  UpdateStep(GraphBuilder &g, StateIndex &state, func::FuncOp entry,
             const TrainingSpec &spec, Value rate, Value number)
      : g(g), state(state), entry(entry), spec(spec), rate(rate),
        number(number) {}

  GraphBuilder &g;
  StateIndex &state;
  func::FuncOp entry;
  const TrainingSpec &spec;
  Value rate, number;

  /// The scalar `build` makes for numbers of type `type`, made once a name.
  Value getScalar(StringRef name, Type type, llvm::function_ref<Value()> build);

private:
  llvm::StringMap<Value> scalars;
};

/// The update of one variable, in f32 (f64 for f64).
class VariableUpdate {
public:
  VariableUpdate(UpdateStep &step, VariableOp variable, Value value,
                 Value gradient);

  UpdateStep &step;
  GraphBuilder &g;
  Value w, gradient;

  double get(StringRef key) const { return step.spec.get(key); }
  Type getElementType() const { return number; }
  /// The present value of a slot of the variable's shape, `fill` at the start.
  Value getSlot(StringRef name, double fill = 0);
  /// Gives the slot its new value, and returns that.
  Value setSlot(StringRef name, Value value);
  /// The learning rate in the variable's shape.
  Value getRate();
  /// A scalar that depends on the iteration, in the variable's shape.
  Value getScalar(StringRef name, llvm::function_ref<Value()> build);
  /// The learning rate and the number of the update as scalars.
  Value getRateScalar() { return g.convert(step.rate, number); }
  Value getNumberScalar() { return g.convert(step.number, number); }
  Value spread(Value scalar);

private:
  VariableOp getSlotVariable(StringRef name, double fill);

  VariableOp variable;
  Type number;
};

struct Optimizer {
  TrainingChoice choice;
  /// The variable's new value; new slots through `setSlot`.
  Value (*update)(VariableUpdate &u);
};

const Optimizer *findOptimizer(StringRef name);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_OPTIMIZERS_H
