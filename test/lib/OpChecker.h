//===- OpChecker.h - One op's interfaces against each other -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_LIB_OPCHECKER_H
#define TEST_LIB_OPCHECKER_H

#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/HostTensor.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <random>

namespace mlir::dist::test {

using Tensors = SmallVector<HostTensor>;

inline RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A block of ops of its own, in which derivatives and shards are built.
class Scratch {
public:
  explicit Scratch(Location loc)
      : function(func::FuncOp::create(
            loc, "scratch", FunctionType::get(loc.getContext(), {}, {}))),
        builder(loc.getContext()) {
    Block *block = function->addEntryBlock();
    end = func::ReturnOp::create(builder, loc);
    block->push_back(end);
    builder.setInsertionPoint(end);
  }
  OpBuilder &getBuilder() { return builder; }

  Value addInput(const HostTensor &tensor) {
    Value value =
        function->getBody().addArgument(tensor.getType(), function->getLoc());
    values[value] = tensor;
    return value;
  }
  /// Runs every op that has no value yet.
  LogicalResult run();
  HostTensor get(Value value) { return values.lookup(value); }

private:
  OwningOpRef<func::FuncOp> function;
  OpBuilder builder;
  Operation *end;
  llvm::DenseMap<Value, HostTensor> values;
};

/// The relative difference that the type's precision excuses.
double getTolerance(Type elementType);

/// Where two tensors differ by more than their type's precision, in words.
std::optional<std::string>
findDifference(const HostTensor &a, const HostTensor &b, double tolerance = -1);

struct Split;

/// Checks one op on given operands.
class OpChecker {
public:
  OpChecker(Operation *op, Tensors operands, std::mt19937_64 &random)
      : op(op), operands(std::move(operands)), random(random) {}

  /// All checks; emits the errors or the remark.
  LogicalResult run();
  ArrayRef<HostTensor> getResults() const { return whole; }

private:
  /// Operands for a clone of the op: constants stay constants, since rules and
  /// derivatives look at them.
  SmallVector<Value> buildOperands(Scratch &scratch,
                                   ArrayRef<HostTensor> tensors);
  /// Numbers in [-1, 1).
  HostTensor randomLike(RankedTensorType type);
  LogicalResult evaluate(ArrayRef<HostTensor> inputs, Tensors &results) {
    return mlir::cast<ReferenceOpInterface>(op).evaluate(inputs, results);
  }

  LogicalResult checkSizes(const ShardingRule &rule);
  LogicalResult checkSharding();
  LogicalResult checkSplit(const ShardingRule &rule, const Split &split);
  LogicalResult checkLinear();
  LogicalResult checkDerivative();
  LogicalResult checkDecomposition();
  LogicalResult checkScalarCode();

  Operation *op;
  Tensors operands, whole;
  std::mt19937_64 &random;
  unsigned numFactors = 0, numLinear = 0, numDerivatives = 0;
};

} // namespace mlir::dist::test

#endif // TEST_LIB_OPCHECKER_H
