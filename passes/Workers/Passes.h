//===- Passes.h - Workers that train by themselves -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_WORKERS_PASSES_H
#define PASSES_WORKERS_PASSES_H

#include "dialects/Dist/IR/Dist.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {
#define GEN_PASS_DECL
#include "passes/Workers/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Workers/Passes.h.inc"
} // namespace mlir::dist

#endif // PASSES_WORKERS_PASSES_H
