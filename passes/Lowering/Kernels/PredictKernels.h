//===- PredictKernels.h - How long kernels take -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What runs are not the graph's ops but the kernels that lowering makes of
// them: chains are fused, convolutions may be Winograd's. So predictions are
// made of the lowered program.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_KERNELS_PREDICTKERNELS_H
#define PASSES_LOWERING_KERNELS_PREDICTKERNELS_H

#include "passes/Analysis/Explain.h"
#include "passes/Lowering/Lowering.h"

namespace mlir::dist {

/// Predicted time of an op of a lowered function on one of `ranks` devices.
double predictKernelSeconds(Operation *op, const MachineModel &machine,
                            int64_t ranks);

/// Lowers a copy of the partitioned module as far as kernels and replaces the
/// predicted times of the report, which is of the same module; with `details`
/// also its spans. Then as far as programs, for the memory that is planned.
/// `few`: the module with copies of few microbatches (dialects/Dist/IR/
/// CopyPlace.h), which is lowered in its place where the kernels of all can be
/// made of theirs; null: there is none.
LogicalResult predictByKernels(ModuleOp module, ModuleOp few,
                               const LoweringOptions &options,
                               const MachineModel &machine,
                               ExplainReport &report, bool details = false);

} // namespace mlir::dist

#endif // PASSES_LOWERING_KERNELS_PREDICTKERNELS_H
