//===- BatchRows.h - Whether a batch's examples meet -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A short batch is filled with copies of its examples, and what the copies give
// is left out of the loss. That is right as long as no other example's result
// depends on them.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_BATCHROWS_H
#define PASSES_ANALYSIS_BATCHROWS_H

#include "dialects/Graph/IR/ExampleRows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// On a module: why its step and evaluation (which then have no partial entry),
/// or its prediction, take full batches only. For messages.
inline constexpr llvm::StringLiteral kFullBatches = "graph.full_batches";
inline constexpr llvm::StringLiteral kPredictFullBatches =
    "graph.predict_full_batches";
/// Where copies stand in a batch that they fill up.
enum class CopyPlaces {
  /// Behind the examples, each of which is at its own place.
  AtTheEnd,
  /// Behind the examples of each part: those of the next are moved.
  BetweenParts,
};

/// Why no row of a batch may be a copy of another: examples meet in what the
/// results `outputs` depend on (a mean over them, a lookup of others, their
/// products with each other in an output) by an op that does not read which of
/// them are copies, or a result depends on the place of a row that is moved.
/// Empty: they may. Which dims are of examples: `graph.batch_dim` of the
/// arguments, and what ops' factors tie to them.
std::string describeMixedRows(func::FuncOp entry, ArrayRef<unsigned> outputs,
                              CopyPlaces copies);

/// The dims of examples of the results that have one; of what is drawn at
/// random, that of the examples with which it is combined.
llvm::DenseMap<Value, ExampleDim> findExampleDims(func::FuncOp entry);

/// Why a batch cannot be filled up although no examples meet: the model
/// computes with the size of the batch, as the importer found. Empty: it does
/// not.
std::string describeBatchNumber(ModuleOp module);

/// `op`, as a message names it: its node in the model file, else its kind.
std::string describeNode(Operation *op);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_BATCHROWS_H
