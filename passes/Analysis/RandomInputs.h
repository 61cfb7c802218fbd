//===- RandomInputs.h - Arguments to try a function with -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_RANDOMINPUTS_H
#define PASSES_ANALYSIS_RANDOMINPUTS_H

#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Interfaces/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace mlir::dist {

/// Arguments of an entry by their roles: variables have their initial values
/// (sums, slots and metrics random ones), a mask leaves out the last examples
/// and the count agrees with it, integers that are indices or labels are of the
/// whole range that their uses allow, others of all sizes and both signs, all
/// else is uniform in [-1, 1) (labels in [0, 1)). With a mesh, the
/// whole values that one rank's arguments are parts of.
SmallVector<HostTensor> makeRandomArguments(func::FuncOp function,
                                            uint64_t seed, MeshOp mesh = {});

/// The number of values an integer may have by its uses (classes of a loss,
/// rows of a gather's table); nothing if it is no index and no label.
std::optional<int64_t> findIntegerRange(Value value);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_RANDOMINPUTS_H
