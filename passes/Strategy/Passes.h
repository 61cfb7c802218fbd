//===- Passes.h - Passes that annotate with a strategy -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_PASSES_H
#define PASSES_STRATEGY_PASSES_H

#include "dialects/Dist/IR/Dist.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {
#define GEN_PASS_DECL
#include "passes/Strategy/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

#endif // PASSES_STRATEGY_PASSES_H
