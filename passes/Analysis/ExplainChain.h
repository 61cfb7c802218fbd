//===- ExplainChain.h - From a decision to a transfer -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAINCHAIN_H
#define PASSES_ANALYSIS_EXPLAINCHAIN_H

#include "dialects/Dist/IR/Sources.h"
#include "passes/Analysis/Explain.h"

namespace mlir::dist {

/// Takes over from the module's table what transfers lead back to.
class SourceCollector {
public:
  SourceCollector(MeshOp mesh, std::vector<SourceRow> &sources)
      : table(mesh), sources(sources) {}
  /// The numbers of the sources that an op follows from.
  std::vector<int64_t> addCauses(Operation *op);

private:
  int64_t add(int32_t row);

  SourceTable table;
  std::vector<SourceRow> &sources;
  DenseMap<int32_t, int64_t> numbers;
};

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAINCHAIN_H
