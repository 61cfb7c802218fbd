//===- Passes.h - From annotations to programs of one rank -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_PASSES_H
#define PASSES_PARTITION_PASSES_H

#include "dialects/Dist/IR/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {
#define GEN_PASS_DECL
#include "passes/Partition/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

#endif // PASSES_PARTITION_PASSES_H
