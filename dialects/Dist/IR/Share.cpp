//===- Share.cpp - Parts of the batch that are not equal -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Share.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

static constexpr llvm::StringLiteral kAxis = "axis", kPlace = "place",
                                     kWeights = "weights";

int64_t Share::getTotal() const {
  return std::accumulate(weights.begin(), weights.end(), int64_t(0));
}

int64_t Share::getStart(int64_t size) const {
  ArrayRef<int64_t> before = weights.take_front(place);
  return size / getTotal() *
         std::accumulate(before.begin(), before.end(), int64_t(0));
}

int64_t Share::getSize(int64_t size) const {
  return size / getTotal() * weights[place];
}

std::optional<Share> mlir::dist::findShare(Operation *function) {
  auto attribute = function->getAttrOfType<DictionaryAttr>(kShareAttr);
  if (!attribute)
    return std::nullopt;
  return Share{attribute.getAs<StringAttr>(kAxis),
               attribute.getAs<IntegerAttr>(kPlace).getInt(),
               attribute.getAs<DenseI64ArrayAttr>(kWeights).asArrayRef()};
}

DictionaryAttr mlir::dist::getShareAttr(const Share &share) {
  Builder builder(share.axis.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(kAxis, share.axis),
       builder.getNamedAttr(kPlace, builder.getI64IntegerAttr(share.place)),
       builder.getNamedAttr(kWeights,
                            builder.getDenseI64ArrayAttr(share.weights))});
}

LogicalResult mlir::dist::verifyShare(Operation *op, Attribute attribute) {
  auto share = dyn_cast<DictionaryAttr>(attribute);
  auto axis = share ? share.getAs<StringAttr>(kAxis) : StringAttr();
  auto place = share ? share.getAs<IntegerAttr>(kPlace) : IntegerAttr();
  auto weights =
      share ? share.getAs<DenseI64ArrayAttr>(kWeights) : DenseI64ArrayAttr();
  if (!axis || !place || !weights || share.size() != 3)
    return op->emitOpError()
           << "expected an axis, a place and weights as dist.share";
  if (llvm::any_of(weights.asArrayRef(), [](int64_t w) { return w < 1; }))
    return op->emitOpError() << "expected weights >= 1 in dist.share";
  if (place.getInt() < 0 || place.getInt() >= weights.size())
    return op->emitOpError()
           << "expected the place in dist.share to be one of the "
           << weights.size() << " that have weights, but got "
           << place.getInt();
  return success();
}

SmallVector<unsigned> mlir::dist::getSharedDims(ShardingAttr sharding,
                                                const Share &share) {
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; sharding && dim < sharding.getNumDims(); ++dim)
    if (llvm::is_contained(sharding.getAxes(dim), share.axis))
      dims.push_back(dim);
  return dims;
}

HostTensor mlir::dist::cutShare(const HostTensor &global, const Share &share,
                                ShardingAttr &sharding) {
  HostTensor result = global;
  for (unsigned dim : getSharedDims(sharding, share)) {
    SmallVector<int64_t> shape(result.getShape());
    int64_t start = share.getStart(shape[dim]);
    shape[dim] = share.getSize(shape[dim]);
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
    // The share is the major part.
    SmallVector<StringAttr> minor(sharding.getAxes(dim).drop_front());
    sharding = sharding.withDim(dim, minor);
  }
  return result;
}
