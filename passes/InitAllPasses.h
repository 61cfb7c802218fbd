//===- InitAllPasses.h - Every pass and pipeline -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_INITALLPASSES_H
#define PASSES_INITALLPASSES_H

#include "mlir/Transforms/Passes.h"
#include "passes/Graph/Passes.h"
#include "passes/Interchange/Passes.h"
#include "passes/Lowering/Lowering.h"
#include "passes/Lowering/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Strategy/Passes.h"
#include "passes/Workers/Passes.h"

namespace mlir::dist {

inline void registerAllPasses() {
  mlir::registerTransformsPasses();
  registerGraphPasses();
  registerStrategyPasses();
  registerPartitionPasses();
  registerWorkersPasses();
  registerInterchangePasses();
  registerDistLoweringPasses();
  registerLoweringPipelines();
  registerPipelines();
}

} // namespace mlir::dist

#endif // PASSES_INITALLPASSES_H
