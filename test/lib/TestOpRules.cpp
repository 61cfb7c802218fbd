//===- TestOpRules.cpp - Do an op's interfaces agree? -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `test-op-rules` runs each op of a function on random operands and holds its
// interfaces against each other, with the evaluator as the judge: the
// derivative against central differences, each split that the sharding rule
// allows and each linear set against the whole op, the decomposition and the
// scalar code (or loops) against the op. It emits an error for what differs and
// otherwise a remark
//   rules hold: F factors, L linear sets, D derivatives
// A function argument's values come from `test.range = [low, high]` on the
// argument, or on its first user; integers likewise. An op with `test.skip` is
// evaluated only.
//
//===----------------------------------------------------------------------===//
#include "CheckElements.h"
#include "OpChecker.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
struct TestOpRules : PassWrapper<TestOpRules, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestOpRules)
  StringRef getArgument() const override { return "test-op-rules"; }
  StringRef getDescription() const override {
    return "checks that an op's derivative, sharding rule, decomposition and "
           "evaluator agree";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<graph::GraphDialect>();
    registerScalarDialects(registry);
  }
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      if (failed(checkFunction(function)))
        signalPassFailure();
    });
  }

  HostTensor makeArgument(func::FuncOp function, BlockArgument argument,
                          std::mt19937_64 &random) {
    HostTensor tensor(typeOf(argument));
    double low = tensor.isFloat() ? -2 : 0, high = tensor.isFloat() ? 2 : 3;
    auto range = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                      "test.range");
    if (!range && !argument.use_empty())
      range = argument.user_begin()->getAttrOfType<ArrayAttr>("test.range");
    auto number = [](Attribute attribute) {
      if (auto integer = dyn_cast<IntegerAttr>(attribute))
        return double(integer.getInt());
      return mlir::cast<FloatAttr>(attribute).getValueAsDouble();
    };
    if (range && range.size() == 2)
      low = number(range[0]), high = number(range[1]);
    else if (typeOf(argument).getElementType().isInteger(1))
      high = 1;
    for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
      if (tensor.isFloat())
        tensor.setDouble(i,
                         std::uniform_real_distribution<>(low, high)(random));
      else
        tensor.setInt(
            i, std::uniform_int_distribution<int64_t>(low, high)(random));
    }
    return tensor;
  }

  LogicalResult checkFunction(func::FuncOp function) {
    std::mt19937_64 random(7);
    llvm::DenseMap<Value, HostTensor> values;
    for (BlockArgument argument : function.getArguments())
      values[argument] = makeArgument(function, argument, random);
    bool failedAny = false;
    for (Operation &op : function.getBody().front()) {
      if (!isa<ReferenceOpInterface>(op))
        continue;
      Tensors operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.lookup(operand));
      OpChecker checker(&op, operands, random);
      if (isa<graph::ConstantOp>(op) && function.getNumArguments() != 0)
        op.setAttr("test.skip", UnitAttr::get(&getContext()));
      failedAny |= failed(checker.run());
      if (checker.getResults().size() != op.getNumResults())
        return failure();
      for (auto [result, tensor] :
           llvm::zip(op.getResults(), checker.getResults()))
        values[result] = tensor;
    }
    return failure(failedAny);
  }
};

} // namespace

namespace mlir::dist {
void registerTestOpRules();
void registerTestOpRules() { PassRegistration<TestOpRules>(); }
} // namespace mlir::dist
