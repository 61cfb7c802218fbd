//===- RtWinograd.cpp - Winograd convolutions of the rt dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Rt/IR/Rt.h"

using namespace mlir;
using namespace mlir::dist::rt;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

LogicalResult WinogradFilterOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOutput());
  int64_t elements =
      cast<RankedTensorType>(getFilter().getType()).getNumElements();
  if (shape.size() != 4 || shape[0] != 36 ||
      cast<RankedTensorType>(getOutput().getType()).getNumElements() !=
          4 * elements)
    return emitOpError("expected a result of 4 dims, the first 36, and ")
           << 4 * elements << " elements, but got " << getOutput().getType();
  if (getStrides().size() != 4)
    return emitOpError("expected 4 strides, but got ") << getStrides().size();
  int64_t lanes = getLanes();
  if (shape[2] % lanes != 0 || shape[3] % lanes != 0)
    return emitOpError("expected lanes that divide the ")
           << shape[2] << " input channels and the " << shape[3]
           << " channels of a block, but got " << lanes;
  return success();
}

int64_t WinogradOp::getScratchElements(int64_t tiles, int64_t channels,
                                       int64_t columns) {
  // One vector of 16 between the matrices: at a power of two apart, their rows
  // would meet in a few sets of the cache.
  return 36 * ((channels + columns) * tiles + 2 * 16);
}

LogicalResult WinogradOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), filter = shapeOf(getFilter()),
                    output = shapeOf(getOutput());
  if (input.size() != 4 || filter.size() != 4 || output.size() != 4 ||
      filter[0] != 36 || filter[2] != input[3] || input[0] != output[0] ||
      filter[1] * filter[3] != output[3] ||
      (getBias() && shapeOf(getBias()) != output.take_back()))
    return emitOpError("expected input [N, H, W, C], filter [36, B, C, K / B], "
                       "bias [K] and output [N, H', W', K], but got ")
           << getOperandTypes() << " and " << getOutput().getType();
  if (getPadLow().size() != 2)
    return emitOpError("expected 2 low pads, but got ") << getPadLow().size();
  int64_t lanes = getLanes(), tiles = getTiles();
  if (input[3] % lanes != 0 || filter[3] % lanes != 0)
    return emitOpError("expected lanes that divide ")
           << input[3] << " and " << filter[3] << ", but got " << lanes;
  if (tiles % 4 != 0)
    return emitOpError("expected a multiple of 4 tiles, but got ") << tiles;
  int64_t elements = getScratchElements(tiles, input[3], filter[3]);
  if (cast<RankedTensorType>(getScratch().getType()).getNumElements() !=
      elements)
    return emitOpError("expected a scratch of ")
           << elements << " elements, but got " << getScratch().getType();
  return success();
}

LogicalResult WinogradProductsOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), grad = shapeOf(getGrad()),
                    sums = shapeOf(getSums());
  if (input.size() != 4 || grad.size() != 4 || sums.size() != 3 ||
      input[0] != grad[0] || sums[0] != 36 || sums[1] != input[3] ||
      sums[2] != grad[3])
    return emitOpError("expected input [N, H, W, C], grad [N, H', W', K] and "
                       "sums [36, C, K], but got ")
           << getOperandTypes() << " and " << getSums().getType();
  if (getPadLow().size() != 2)
    return emitOpError("expected 2 low pads, but got ") << getPadLow().size();
  int64_t lanes = getLanes(), columns = getColumns();
  if (sums[1] % lanes != 0 || sums[1] % 4 != 0 || sums[2] % columns != 0 ||
      columns % lanes != 0)
    return emitOpError("expected lanes and columns that divide ")
           << sums[1] << " and " << sums[2] << ", but got " << lanes << " and "
           << columns;
  int64_t elements =
      WinogradOp::getScratchElements(getTiles(), sums[1], sums[2]);
  if (cast<RankedTensorType>(getScratch().getType()).getNumElements() !=
      elements)
    return emitOpError("expected a scratch of ")
           << elements << " elements, but got " << getScratch().getType();
  return success();
}

LogicalResult WinogradFilterGradOp::verify() {
  ArrayRef<int64_t> sums = shapeOf(getSums());
  int64_t elements =
      cast<RankedTensorType>(getOutput().getType()).getNumElements();
  if (sums.size() != 4 || sums[1] != 36 ||
      36 * sums[2] * sums[3] != 4 * elements)
    return emitOpError("expected sums of 4 dims, the second 36, and ")
           << 4 * elements << " elements a chunk, but got "
           << getSums().getType();
  if (getStrides().size() != 4)
    return emitOpError("expected 4 strides, but got ") << getStrides().size();
  if (sums[3] % static_cast<int64_t>(getLanes()) != 0)
    return emitOpError("expected lanes that divide ")
           << sums[3] << ", but got " << getLanes();
  return success();
}
