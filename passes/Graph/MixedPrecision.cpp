//===- MixedPrecision.cpp - Contractions in half the bits -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheme of Micikevicius et al., "Mixed Precision Training" (2018):
// products in the low precision, variables, sums over dims, norms and losses in
// f32. Which ops are which follows from their sharding rules: a contraction is
// bilinear and sums over a factor; ops that are linear and sum over none only
// carry values on.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_MIXEDPRECISIONPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
class Lowerer {
public:
  Lowerer(func::FuncOp entry, FloatType type) : entry(entry), type(type) {}
  void run();

private:
  bool isSingle(Value value) const {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return tensor && tensor.getElementType().isF32();
  }
  bool isLow(Value value) const { return low.contains(value); }
  /// Variables and constants, and layouts of them, may be rounded.
  bool isStored(Value value);
  bool shouldLower(Operation *op);
  Value getLow(Value value);
  void lower(Operation *op);

  func::FuncOp entry;
  FloatType type;
  /// The same value in the low precision.
  DenseMap<Value, Value> low;
};

struct MixedPrecisionPass
    : mlir::dist::impl::MixedPrecisionPassBase<MixedPrecisionPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

bool Lowerer::isStored(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return op->hasTrait<OpTrait::ConstantLike>();
    if (op->getNumOperands() != 1)
      return false;
    value = op->getOperand(0);
  }
  return bool(entry.getArgAttr(cast<BlockArgument>(value).getArgNumber(),
                               kVariableAttr));
}

bool Lowerer::shouldLower(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumResults() != 1 || !isSingle(op->getResult(0)) ||
      op->getNumOperands() == 0 || isa<ConvertOp>(op))
    return false;
  // Its factors do not tell, but each of its results is a sum over a dim.
  if (isa<CumSumOp>(op))
    return false;
  ShardingRule rule = sharded.getShardingRule();
  bool sums = false;
  for (const Factor &factor : rule.factors)
    sums |= factor.kind == FactorKind::Reduction;
  SmallVector<unsigned> floats;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (isSingle(op->getOperand(i)))
      floats.push_back(i);
  // A product that is summed: linear in either of two operands.
  if (sums)
    return floats.size() == 2 && rule.linear.size() == 2 &&
           llvm::all_of(rule.linear, [](const SmallVector<unsigned> &set) {
             return set.size() == 1;
           });
  // What carries low values on: linear in all of its operands together, which
  // are low already, or stored values of which one more copy is rounded.
  return llvm::any_of(floats,
                      [&](unsigned i) { return isLow(op->getOperand(i)); }) &&
         llvm::any_of(rule.linear,
                      [&](const SmallVector<unsigned> &set) {
                        return llvm::all_of(floats, [&](unsigned i) {
                          return llvm::is_contained(set, i);
                        });
                      }) &&
         llvm::all_of(floats, [&](unsigned i) {
           return isLow(op->getOperand(i)) || isStored(op->getOperand(i));
         });
}

Value Lowerer::getLow(Value value) {
  Value &result = low[value];
  if (result)
    return result;
  OpBuilder builder(entry.getContext());
  builder.setInsertionPointAfterValue(value);
  return result = GraphBuilder(builder, value.getLoc()).convert(value, type);
}

void Lowerer::lower(Operation *op) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.operands.push_back(isSingle(operand) ? getLow(operand) : operand);
  auto single = cast<RankedTensorType>(op->getResult(0).getType());
  state.addTypes(single.clone(type));
  state.addAttributes(op->getAttrs());
  Value result = builder.create(state)->getResult(0);
  Value back =
      GraphBuilder(builder, op->getLoc()).convert(result, builder.getF32Type());
  low[back] = result;
  op->getResult(0).replaceAllUsesWith(back);
  op->erase();
}

void Lowerer::run() {
  for (Operation &op : llvm::make_early_inc_range(entry.front()))
    if (shouldLower(&op))
      lower(&op);
  eraseDeadOps(entry);
}

void MixedPrecisionPass::runOnOperation() {
  Builder builder(&getContext());
  if (precision != "bf16" && precision != "f16") {
    getOperation().emitError()
        << "graph-mixed-precision: expected precision bf16 or f16, but got '"
        << precision << "'";
    return signalPassFailure();
  }
  FloatType type = precision == "bf16" ? FloatType(builder.getBF16Type())
                                       : FloatType(builder.getF16Type());
  for (auto entry : getOperation().getOps<func::FuncOp>())
    if (!entry.isExternal())
      Lowerer(entry, type).run();
}
