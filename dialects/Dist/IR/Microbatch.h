//===- Microbatch.h - Programs with one op for all microbatches -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between dist-separate-microbatches and dist-unroll-microbatches an op stands
// for its copies, one a microbatch, and what one copy takes from the others is
// a collective over the mesh @microbatches.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_MICROBATCH_H
#define DIALECTS_DIST_IR_MICROBATCH_H

#include "dialects/Dist/IR/Stage.h"

namespace mlir::dist {

/// On an op of a stage's function that the schedule counts as backward work.
inline constexpr llvm::StringLiteral kBackwardAttr = "dist.backward";

/// Whether the op is a collective over the microbatches. They are one rank's:
/// nothing moves, and passes that are about transfers leave it alone.
bool isOverMicrobatches(Operation *op);

/// Whether a collective over the microbatches gives each something of its own;
/// the others give all of them the same.
bool givesEachItsOwn(Operation *op);

/// Fails, with an error, where an op inside stands for its copies: what
/// evaluates or lowers programs takes each op for what one rank does once.
LogicalResult verifyUnrolled(Operation *inside);

/// Fails, with an error, where a function shows few microbatches
/// (CopyPlace.h): it is not yet what runs.
LogicalResult verifyShowsAll(Operation *function);

/// Whether a function of the module does.
bool showsFew(ModuleOp module);

/// How many microbatches a batch has; 1 where none were set apart.
int64_t getNumMicrobatches(Operation *inside);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_MICROBATCH_H
