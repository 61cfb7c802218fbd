//===- ExampleWeights.cpp - Factors of examples' losses ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/ExampleWeights.h"

using namespace mlir;
using namespace mlir::dist::graph;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

FailureOr<ClassWeights>
mlir::dist::graph::parseClassWeights(ArrayRef<std::string> texts,
                                     EmitError emitError) {
  ClassWeights weights;
  for (StringRef text : texts) {
    auto [number, value] = text.split('=');
    int64_t klass = 0;
    double weight = 0;
    if (number.getAsInteger(10, klass) || klass < 0 ||
        value.getAsDouble(weight) || !std::isfinite(weight) || weight < 0)
      return emitError() << "--class-weights: expected CLASS=WEIGHT, numbers "
                            "of at least 0, but got '"
                         << text << "'";
    if (!weights.emplace(klass, weight).second)
      return emitError() << "--class-weights: class " << klass
                         << " is given twice";
  }
  return weights;
}

/// The weights of classes 0 to `count` - 1.
static Value getTable(GraphBuilder &g, const ClassWeights &weights,
                      int64_t count) {
  SmallVector<float> values(count, 1.0f);
  for (auto [klass, weight] : weights)
    values[klass] = float(weight);
  auto type = RankedTensorType::get({count}, g.getBuilder().getF32Type());
  return g.make<ConstantOp>(
      DenseElementsAttr::get(type, ArrayRef<float>(values)));
}

/// By comparing each label, a number [batch], with each class.
static Value compareClasses(GraphBuilder &g, Value label,
                            const ClassWeights &weights) {
  label = g.make<RoundOp>(label);
  auto type = typeOf(label).clone(g.getBuilder().getF32Type());
  Value each = g.splat(type, 1);
  for (auto [klass, weight] : weights) {
    Value isClass =
        g.compare(ComparePredicate::EQ, label, g.like(label, double(klass)));
    each = g.select(isClass, g.splat(type, weight), each);
  }
  return each;
}

Value mlir::dist::graph::buildClassWeights(GraphBuilder &g,
                                           const LossInputs &inputs,
                                           const ClassWeights &weights,
                                           EmitError emitError) {
  RankedTensorType type = typeOf(inputs.label);
  bool isNumber = isa<IntegerType>(type.getElementType());
  int64_t rank = type.getRank();
  if (rank > (isNumber ? 1 : 2)) {
    emitError() << "--class-weights: expected one label an example, but got "
                << type;
    return nullptr;
  }
  if (!isNumber && (rank == 1 || type.getDimSize(1) == 1))
    return compareClasses(g, g.reshape(inputs.label, {type.getDimSize(0)}),
                          weights);
  int64_t classes = typeOf(inputs.prediction).getShape().back();
  if (int64_t largest = weights.rbegin()->first; largest >= classes) {
    emitError() << "--class-weights: class " << largest
                << " is given, but the output has " << classes << " classes";
    return nullptr;
  }
  Value klass = isNumber ? inputs.label
                         : g.make<ArgMaxOp>(inputs.label, uint64_t(1),
                                            /*select_last=*/false);
  return g.make<GatherOp>(getTable(g, weights, classes), klass, /*axis=*/0);
}
