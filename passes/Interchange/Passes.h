//===- Passes.h - Shardings in the words of other dialects -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_INTERCHANGE_PASSES_H
#define PASSES_INTERCHANGE_PASSES_H

#include "dialects/Dist/IR/Sdy.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {
#define GEN_PASS_DECL
#include "passes/Interchange/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Interchange/Passes.h.inc"
} // namespace mlir::dist

#endif // PASSES_INTERCHANGE_PASSES_H
