//===- UnusedState.cpp - Variables that no entry has any more -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/UnusedState.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::eraseUnusedState(ModuleOp module, ArrayRef<StringRef> groups) {
  DenseSet<Attribute> used;
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      used.insert(function.getArgAttr(i, kVariableAttr));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      used.insert(function.getResultAttr(i, kVariableAttr));
  }
  for (auto variable :
       llvm::make_early_inc_range(module.getOps<graph::VariableOp>()))
    if (llvm::is_contained(groups, variable.getGroup()) &&
        !used.contains(FlatSymbolRefAttr::get(variable.getSymNameAttr())))
      variable.erase();
}
