//===- Passes.h - From a model to a training program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_PASSES_H
#define PASSES_GRAPH_PASSES_H

#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {
#define GEN_PASS_DECL
#include "passes/Graph/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

#endif // PASSES_GRAPH_PASSES_H
