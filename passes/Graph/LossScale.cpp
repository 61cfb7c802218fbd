//===- LossScale.cpp - The dynamic loss scale of f16 -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/LossScale.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static constexpr double kFirstScale = 32768;
static constexpr double kStepsToGrow = 2000;

static VariableOp getCounter(StateIndex &state, StringRef name, Type type,
                             double fill) {
  NewVariable properties;
  properties.group = "counter";
  properties.aggregation = Aggregation::OnlyFirst;
  properties.fill = fill;
  return state.add(name, RankedTensorType::get({}, type), properties);
}

VariableOp mlir::dist::graph::getLossScale(StateIndex &state) {
  return getCounter(state, "loss-scale/value",
                    Float32Type::get(state.getContext()), kFirstScale);
}

void mlir::dist::graph::updateLossScale(GraphBuilder &g, StateIndex &state,
                                        func::FuncOp entry, Value finite) {
  VariableOp scaleVariable = getLossScale(state);
  VariableOp stepsVariable = getCounter(
      state, "loss-scale/steps", IntegerType::get(state.getContext(), 64), 0);
  Value scale = state.getArgument(entry, scaleVariable);
  Value steps = g.add(state.getArgument(entry, stepsVariable), 1.0);
  Value grows =
      g.compare(ComparePredicate::GE, steps, g.like(steps, kStepsToGrow));
  Value larger = g.select(grows, g.mul(scale, 2.0), scale);
  Value smaller = g.max(g.mul(scale, 0.5), g.like(scale, 1));
  Value none = g.like(steps, 0);
  state.setResult(entry, scaleVariable, g.select(finite, larger, smaller));
  state.setResult(entry, stepsVariable,
                  g.select(finite, g.select(grows, none, steps), none));
}
