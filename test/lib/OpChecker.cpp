//===- OpChecker.cpp - One op's interfaces against each other -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "OpChecker.h"
#include "CheckElements.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InterleavedRange.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

LogicalResult Scratch::run() {
  for (Operation &op : function->getBody().front()) {
    if (&op == end || (op.getNumResults() && values.count(op.getResult(0))))
      continue;
    if (failed(mlir::verify(&op)))
      return op.emitError("built for ") << op.getName() << " does not verify";
    auto reference = dyn_cast<ReferenceOpInterface>(op);
    if (!reference)
      return op.emitError("has no evaluator");
    Tensors operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    if (failed(reference.evaluate(operands, results)))
      return failure();
    for (auto [value, tensor] : llvm::zip(op.getResults(), results))
      values[value] = tensor;
  }
  return success();
}

double test::getTolerance(Type elementType) {
  if (elementType.isF64())
    return 1e-9;
  if (elementType.isF32())
    return 2e-5;
  return isa<FloatType>(elementType) ? 2e-2 : 0;
}

std::optional<std::string> test::findDifference(const HostTensor &a,
                                                const HostTensor &b,
                                                double tolerance) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!a || !b || a.getType() != b.getType()) {
    os << "types " << (a ? a.getType() : RankedTensorType()) << " and "
       << (b ? b.getType() : RankedTensorType());
    return text;
  }
  if (tolerance < 0)
    tolerance = getTolerance(a.getType().getElementType());
  for (int64_t i = 0, e = a.getNumElements(); i < e; ++i) {
    double x = a.getDouble(i), y = b.getDouble(i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (std::fabs(x - y) <= tolerance * std::max(1.0, std::fabs(y)))
      continue;
    os << "element [" << llvm::interleaved(a.delinearize(i)) << "]: " << x
       << " and " << y;
    return text;
  }
  return std::nullopt;
}

LogicalResult OpChecker::run() {
  if (failed(mlir::cast<ReferenceOpInterface>(op).evaluate(operands, whole)))
    return failure();
  for (auto [result, tensor] : llvm::zip(op->getResults(), whole))
    if (result.getType() != tensor.getType())
      return op->emitError("evaluated type ")
             << tensor.getType() << " is not the result's " << result.getType();
  if (op->hasAttr("test.skip"))
    return success();
  if (failed(checkSharding()) || failed(checkLinear()) ||
      failed(checkDerivative()) || failed(checkDecomposition()) ||
      failed(checkScalarCode()))
    return failure();
  op->emitRemark("rules hold: ")
      << numFactors << " factors, " << numLinear << " linear sets, "
      << numDerivatives << " derivatives";
  return success();
}

SmallVector<Value> OpChecker::buildOperands(Scratch &scratch,
                                            ArrayRef<HostTensor> tensors) {
  SmallVector<Value> values;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), tensors)) {
    if (graph::findSplat(operand) || operand.getDefiningOp<graph::ConstantOp>())
      values.push_back(graph::ConstantOp::create(
          scratch.getBuilder(), op->getLoc(), tensor.toAttribute()));
    else
      values.push_back(scratch.addInput(tensor));
  }
  return values;
}
HostTensor OpChecker::randomLike(RankedTensorType type) {
  HostTensor tensor(type);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
    tensor.setDouble(i, uniform(random));
  return tensor;
}
LogicalResult OpChecker::checkLinear() {
  ShardingRule rule = mlir::cast<ShardingRuleOpInterface>(op).getShardingRule();
  for (ArrayRef<unsigned> set : rule.linear) {
    Tensors first = operands, second = operands, sum = operands;
    bool isFloat = true;
    double tolerance = 0;
    for (unsigned i : set) {
      isFloat &= operands[i].isFloat();
      tolerance = std::max(
          tolerance, getTolerance(operands[i].getType().getElementType()));
      second[i] = randomLike(operands[i].getType());
      for (int64_t e = 0; e < sum[i].getNumElements(); ++e)
        sum[i].setDouble(e, first[i].getDouble(e) + second[i].getDouble(e));
    }
    if (!isFloat)
      continue;
    Tensors a, b, both;
    if (failed(evaluate(first, a)) || failed(evaluate(second, b)) ||
        failed(evaluate(sum, both)))
      return failure();
    for (unsigned r = 0; r < a.size(); ++r) {
      HostTensor joined = a[r];
      for (int64_t e = 0; e < joined.getNumElements(); ++e)
        joined.setDouble(e, joined.getDouble(e) + b[r].getDouble(e));
      if (auto difference = findDifference(joined, both[r], tolerance))
        return op->emitError("is not linear in operands [")
               << llvm::join(
                      llvm::map_range(
                          set, [](unsigned i) { return std::to_string(i); }),
                      ", ")
               << "]: " << *difference;
    }
    ++numLinear;
  }
  return success();
}

LogicalResult OpChecker::checkDerivative() {
  bool anyFloat = llvm::any_of(operands, [](const HostTensor &t) {
    return t.getType().getElementType().isF64();
  });
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!anyFloat || !differentiable)
    return success();
  Scratch scratch(op->getLoc());
  SmallVector<Value> inputs = buildOperands(scratch, operands);
  Operation *clone = op->cloneWithoutRegions();
  clone->setOperands(inputs);
  scratch.getBuilder().insert(clone);
  Tensors weights;
  SmallVector<Value> resultCotangents;
  bool anyResult = false;
  for (Value result : clone->getResults()) {
    bool isFloat = isa<FloatType>(typeOf(result).getElementType());
    anyResult |= isFloat;
    weights.push_back(isFloat ? randomLike(typeOf(result)) : HostTensor());
    resultCotangents.push_back(isFloat ? scratch.addInput(weights.back())
                                       : Value());
  }
  auto scratchOp = mlir::cast<DifferentiableOpInterface>(clone);
  SmallVector<bool> wanted(inputs.size(), true), unwanted(inputs.size(), false);
  SmallVector<Value> cotangents, none;
  if (!anyResult)
    return success();
  if (failed(scratchOp.differentiate(scratch.getBuilder(), resultCotangents,
                                     unwanted, none)) ||
      none.size() != inputs.size() ||
      llvm::any_of(none, [](Value v) { return bool(v); }))
    return op->emitError("builds cotangents that nobody wants");
  if (failed(scratchOp.differentiate(scratch.getBuilder(), resultCotangents,
                                     wanted, cotangents)) ||
      cotangents.size() != inputs.size())
    return op->emitError("gives ") << cotangents.size() << " cotangents for "
                                   << inputs.size() << " operands";
  if (failed(scratch.run()))
    return failure();

  auto loss = [&](ArrayRef<HostTensor> at) -> std::optional<double> {
    Tensors results;
    if (failed(evaluate(at, results)))
      return std::nullopt;
    double total = 0;
    for (auto [result, weight] : llvm::zip(results, weights))
      for (int64_t i = 0; weight && i < weight.getNumElements(); ++i)
        total += result.getDouble(i) * weight.getDouble(i);
    return total;
  };
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (!operands[i].getType().getElementType().isF64()) {
      if (cotangents[i] && !operands[i].isFloat())
        return op->emitError("gives a cotangent to integer operand ") << i;
      continue;
    }
    // A constant's cotangent may be left out.
    bool isConstant = inputs[i].getDefiningOp() != nullptr;
    if (!cotangents[i] && isConstant)
      continue;
    if (cotangents[i] && cotangents[i].getType() != inputs[i].getType())
      return op->emitError("cotangent of operand ")
             << i << " has type " << cotangents[i].getType();
    HostTensor expected(operands[i].getType());
    for (int64_t e = 0; e < expected.getNumElements(); ++e) {
      const double step = 1e-5;
      Tensors low = operands, high = operands;
      low[i].setDouble(e, operands[i].getDouble(e) - step);
      high[i].setDouble(e, operands[i].getDouble(e) + step);
      auto below = loss(low), above = loss(high);
      if (!below || !above)
        return failure();
      expected.setDouble(e, (*above - *below) / (2 * step));
    }
    HostTensor actual = cotangents[i] ? scratch.get(cotangents[i])
                                      : HostTensor(expected.getType());
    if (auto difference = findDifference(actual, expected, 1e-6))
      return op->emitError("derivative by operand ")
             << i << " is not the difference quotient: " << *difference;
    ++numDerivatives;
  }
  return success();
}

LogicalResult OpChecker::checkDecomposition() {
  if (!isa<DecomposableOpInterface>(op))
    return success();
  Scratch scratch(op->getLoc());
  SmallVector<Value> inputs = buildOperands(scratch, operands);
  Operation *clone = op->cloneWithoutRegions();
  clone->setOperands(inputs);
  scratch.getBuilder().insert(clone);
  SmallVector<Value> replacements;
  if (failed(mlir::cast<DecomposableOpInterface>(clone).decompose(
          scratch.getBuilder(), replacements)) ||
      replacements.size() != op->getNumResults())
    return op->emitError("does not decompose into ")
           << op->getNumResults() << " results";
  if (failed(scratch.run()))
    return failure();
  for (unsigned r = 0; r < replacements.size(); ++r)
    if (auto difference =
            findDifference(scratch.get(replacements[r]), whole[r]))
      return op->emitError("decomposition changes result ")
             << r << ": " << *difference;
  return success();
}

LogicalResult OpChecker::checkScalarCode() {
  auto results = interpretScalarCode(op, operands);
  if (failed(results))
    return failure();
  for (auto [r, result] : llvm::enumerate(*results))
    if (auto difference = findDifference(result, whole[r]))
      return op->emitError("scalar code of result ")
             << r << " differs from the evaluator: " << *difference;
  return success();
}
