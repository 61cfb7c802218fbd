//===- LossScale.h - The dynamic loss scale of f16 -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small gradients vanish in f16: the loss is multiplied by a scale, gradients
// are divided by it. The constants are TensorFlow's and Keras'
// (keras/src/optimizers/ loss_scale_optimizer.py): from 2^15, doubled after
// 2000 finite steps, halved on a step that is not, whose update is skipped;
// never below 1.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_LOSSSCALE_H
#define PASSES_GRAPH_LOSSSCALE_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Graph/Entry.h"

namespace mlir::dist::graph {

/// The variable that holds the scale, an f32 scalar; equal on all ranks, since
/// the finite check is on summed gradients.
VariableOp getLossScale(StateIndex &state);

/// The entry's scale after a step of which `finite` says whether it counts.
void updateLossScale(GraphBuilder &g, StateIndex &state, func::FuncOp entry,
                     Value finite);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_LOSSSCALE_H
