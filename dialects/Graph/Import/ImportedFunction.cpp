//===- ImportedFunction.cpp - What importers of nodes share -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/ImportedFunction.h"
#include "dialects/Graph/IR/RandomState.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

void mlir::dist::graph::eraseUnused(func::FuncOp function) {
  // One sweep backwards finds all: uses come after definitions.
  Block &block = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  llvm::StringSet<> read;
  function.walk([&](ReadOp op) { read.insert(op.getVariable()); });
  auto module = function->getParentOfType<ModuleOp>();
  for (auto variable : llvm::make_early_inc_range(module.getOps<VariableOp>()))
    if (!read.contains(variable.getSymName()))
      variable.erase();
}

Value mlir::dist::graph::makeStepCounter(Emitter &emitter, OpBuilder &builder,
                                         func::FuncOp function) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Value counter = emitter.make<ReadOp>(
      {},
      {emitter.attr("variable", FlatSymbolRefAttr::get(builder.getContext(),
                                                       kStepCounter))},
      type);
  builder.setInsertionPoint(function);
  emitter.makeAll<VariableOp>(
      {}, {emitter.text("sym_name", kStepCounter),
           emitter.attr("type", TypeAttr::get(type)),
           emitter.attr("initial", builder.getZeroAttr(type)),
           emitter.text("group", "counter"),
           emitter.attr("aggregation",
                        AggregationAttr::get(builder.getContext(),
                                             Aggregation::OnlyFirst))});
  return counter;
}
