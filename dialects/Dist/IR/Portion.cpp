//===- Portion.cpp - Parts of the batch that are not equal -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Portion.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

static constexpr llvm::StringLiteral kAxis = "axis", kPosition = "position",
                                     kWeights = "weights";

int64_t Portion::getTotal() const {
  return std::accumulate(weights.begin(), weights.end(), int64_t(0));
}

int64_t Portion::getStart(int64_t size) const {
  ArrayRef<int64_t> before = weights.take_front(position);
  return size / getTotal() *
         std::accumulate(before.begin(), before.end(), int64_t(0));
}

int64_t Portion::getSize(int64_t size) const {
  return size / getTotal() * weights[position];
}

std::optional<Portion> mlir::dist::findPortion(Operation *function) {
  auto attribute = function->getAttrOfType<DictionaryAttr>(kPortionAttr);
  if (!attribute)
    return std::nullopt;
  return Portion{attribute.getAs<StringAttr>(kAxis),
                 attribute.getAs<IntegerAttr>(kPosition).getInt(),
                 attribute.getAs<DenseI64ArrayAttr>(kWeights).asArrayRef()};
}

DictionaryAttr mlir::dist::getPortionAttr(const Portion &portion) {
  Builder builder(portion.axis.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(kAxis, portion.axis),
       builder.getNamedAttr(kPosition,
                            builder.getI64IntegerAttr(portion.position)),
       builder.getNamedAttr(kWeights,
                            builder.getDenseI64ArrayAttr(portion.weights))});
}

LogicalResult mlir::dist::verifyPortion(Operation *op, Attribute attribute) {
  auto portion = dyn_cast<DictionaryAttr>(attribute);
  auto axis = portion ? portion.getAs<StringAttr>(kAxis) : StringAttr();
  auto position =
      portion ? portion.getAs<IntegerAttr>(kPosition) : IntegerAttr();
  auto weights = portion ? portion.getAs<DenseI64ArrayAttr>(kWeights)
                         : DenseI64ArrayAttr();
  if (!axis || !position || !weights || portion.size() != 3)
    return op->emitOpError()
           << "expected an axis, a position and weights as dist.portion";
  if (llvm::any_of(weights.asArrayRef(), [](int64_t w) { return w < 1; }))
    return op->emitOpError() << "expected weights >= 1 in dist.portion";
  if (position.getInt() < 0 || position.getInt() >= weights.size())
    return op->emitOpError()
           << "expected the position in dist.portion to be one of the "
           << weights.size() << " that have weights, but got "
           << position.getInt();
  return success();
}

SmallVector<unsigned> mlir::dist::getPortionDims(ShardingAttr sharding,
                                                 const Portion &portion) {
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; sharding && dim < sharding.getNumDims(); ++dim)
    if (llvm::is_contained(sharding.getAxes(dim), portion.axis))
      dims.push_back(dim);
  return dims;
}

HostTensor mlir::dist::cutPortion(const HostTensor &global,
                                  const Portion &portion,
                                  ShardingAttr &sharding) {
  HostTensor result = global;
  for (unsigned dim : getPortionDims(sharding, portion)) {
    SmallVector<int64_t> shape(result.getShape());
    int64_t start = portion.getStart(shape[dim]);
    shape[dim] = portion.getSize(shape[dim]);
    HostTensor part(
        RankedTensorType::get(shape, result.getType().getElementType()));
    int64_t position = 0;
    forEachIndex(shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> from(index);
      from[dim] += start;
      int64_t at = result.linearize(from);
      if (result.isFloat())
        part.setDouble(position++, result.getDouble(at));
      else
        part.setInt(position++, result.getInt(at));
    });
    result = part;
    // The portion is the major part.
    SmallVector<StringAttr> minor(sharding.getAxes(dim).drop_front());
    sharding = sharding.withDim(dim, minor);
  }
  return result;
}
