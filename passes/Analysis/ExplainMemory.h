//===- ExplainMemory.h - What is live while an entry runs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAINMEMORY_H
#define PASSES_ANALYSIS_EXPLAINMEMORY_H

#include "passes/Analysis/Explain.h"
#include "passes/Analysis/StageAssignment.h"

namespace mlir::dist {

/// Bytes while an op runs, beside variables and inputs.
struct LiveBytes {
  int64_t activations = 0;
  /// Gradients, and what is in buffers of collectives.
  int64_t others = 0;
};

/// Adds to a report that has the variables and inputs what the function's ops
/// need: gradients, activations, buffers of collectives, and with them the
/// peak. An estimate by liveness, each value in a buffer of its own but where a
/// collective or an update happens in place. Gives back what is live at each op
/// of the function, in their order.
std::vector<LiveBytes> addLiveMemory(func::FuncOp function,
                                     PortVariables &variables,
                                     MemoryReport &memory);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAINMEMORY_H
