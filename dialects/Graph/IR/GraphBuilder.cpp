//===- GraphBuilder.cpp - Formulas as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static RankedTensorType typeOf(Value x) {
  return cast<RankedTensorType>(x.getType());
}

static DenseElementsAttr splatAttr(RankedTensorType type, double value) {
  HostTensor one(type.clone(ArrayRef<int64_t>{}));
  one.setDouble(0, value);
  Attribute element = one.toAttribute().getValues<Attribute>()[0];
  return DenseElementsAttr::get(type, element);
}

Value GraphBuilder::splat(Type type, double value) {
  return make<ConstantOp>(splatAttr(cast<RankedTensorType>(type), value));
}

Value GraphBuilder::scalar(Type elementType, double value) {
  return splat(RankedTensorType::get({}, elementType), value);
}

Value GraphBuilder::convert(Value x, Type elementType) {
  if (typeOf(x).getElementType() == elementType)
    return x;
  return make<ConvertOp>(typeOf(x).clone(elementType), x);
}

Value GraphBuilder::sum(Value x, ArrayRef<int64_t> dims) {
  return dims.empty() ? x : reduce(Reduction::Sum, x, dims);
}

Value GraphBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  if (typeOf(x).getShape() == shape)
    return x;
  return make<ReshapeOp>(typeOf(x).clone(shape), x);
}

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  for (auto [i, p] : llvm::enumerate(permutation))
    if (int64_t(i) != p)
      return make<TransposeOp>(x, permutation);
  return x;
}

Value GraphBuilder::broadcast(Value x, ArrayRef<int64_t> shape,
                              ArrayRef<int64_t> dims) {
  if (typeOf(x).getShape() == shape)
    return x;
  return make<BroadcastOp>(typeOf(x).clone(shape), x, dims);
}

Value GraphBuilder::broadcastOver(Value x, ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t d = 0, e = shape.size(); d < e; ++d)
    if (!llvm::is_contained(dims, d))
      kept.push_back(d);
  return broadcast(x, shape, kept);
}

Value GraphBuilder::iota(Type type, int64_t dim) {
  return make<IotaOp>(type, static_cast<uint64_t>(dim));
}

/// The one element that all of a value are.
static std::optional<HostTensor> findOneElement(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || (!dense.isSplat() && dense.getNumElements() != 1))
        return std::nullopt;
      auto one = HostTensor::fromAttribute(
          dense.resizeSplat(dense.getType().clone(ArrayRef<int64_t>{})));
      return failed(one) ? std::nullopt : std::optional<HostTensor>(*one);
    }
    // A conversion may change the number: between integers it wraps, from
    // floats it truncates and saturates.
    if (auto convert = dyn_cast<ConvertOp>(op)) {
      std::optional<HostTensor> source = findOneElement(convert.getOperand());
      if (!source)
        return std::nullopt;
      HostTensor one(convert.getType().clone(ArrayRef<int64_t>{}));
      if (source->isFloat() || one.isFloat() ||
          convert.getType().getElementType().isInteger(1))
        one.setDouble(0, source->getDouble(0));
      else
        one.setInt(0, source->getInt(0));
      return one;
    }
    if (!keepsElements(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

std::optional<double> mlir::dist::graph::findSplat(Value value) {
  std::optional<HostTensor> one = findOneElement(value);
  return one ? std::optional<double>(one->getDouble(0)) : std::nullopt;
}

bool mlir::dist::graph::isZero(Value value) { return findSplat(value) == 0.0; }
