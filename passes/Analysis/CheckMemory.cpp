//===- CheckMemory.cpp - What comparing a partition needs -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/CheckPartition.h"

using namespace mlir;
using namespace mlir::dist;

int64_t mlir::dist::estimateCheckBytes(ModuleOp global) {
  double most = 0;
  for (auto function : global.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    double bytes = 0;
    auto add = [&](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || !type.hasStaticShape())
        return;
      // As doubles: sizes of damaged programs may not fit 64 bits.
      // An element takes 8 bytes, whatever its type.
      double own = 8;
      for (int64_t size : type.getShape())
        own *= size;
      bytes += own;
    };
    for (BlockArgument argument : function.getArguments())
      add(argument);
    for (Operation &op : function.front())
      for (Value result : op.getResults())
        add(result);
    most = std::max(most, 2 * bytes);
  }
  return std::min(most, 9e18);
}
