//===- ExampleWeights.h - Factors of examples' losses -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of --class-weights: keras/src/trainers/data_adapters/data_adapter_utils.py,
// `class_weight_to_sample_weights`.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_EXAMPLEWEIGHTS_H
#define PASSES_GRAPH_EXAMPLEWEIGHTS_H

#include "passes/Graph/Losses.h"
#include <map>

namespace mlir::dist::graph {

/// Weights of classes by their numbers; other classes have 1.
using ClassWeights = std::map<int64_t, double>;

/// Of `CLASS=WEIGHT`s. Emits an error on what is none, or given twice.
FailureOr<ClassWeights>
parseClassWeights(ArrayRef<std::string> texts,
                  llvm::function_ref<InFlightDiagnostic()> emitError);

/// The weight of each example, f32 [batch], by its label: a class number, a row
/// that is largest at its class, or one number, which is rounded. Null after an
/// error: labels of more dims, a class that the output has not.
Value buildClassWeights(GraphBuilder &g, const LossInputs &inputs,
                        const ClassWeights &weights,
                        llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_EXAMPLEWEIGHTS_H
