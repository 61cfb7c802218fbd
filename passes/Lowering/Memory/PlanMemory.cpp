//===- PlanMemory.cpp - Functions become programs over one arena ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Cost.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Program/ProgramEmitter.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct PlanMemoryPass : mlir::dist::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (func.isDeclaration() || func.isPrivate())
        continue;
      if (failed(verifyUnrolled(func)) || failed(verifyShowsAll(func)) ||
          failed(checkByteSizes(func)))
        return signalPassFailure();
      MemoryLayout layout = layOutMemory(func, symbols);
      if (failed(emitProgram(func, layout, symbols)))
        return signalPassFailure();
    }
  }
};
} // namespace
