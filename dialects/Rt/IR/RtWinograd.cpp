//===- RtWinograd.cpp - Winograd convolutions of the rt dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Rt/IR/Rt.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist::rt;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static int64_t countElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

static LogicalResult verifyScratch(Operation *op, Value scratch,
                                   int64_t elements) {
  if (countElements(scratch) == elements)
    return success();
  return op->emitOpError("expected a scratch of ")
         << elements << " elements, but got " << scratch.getType();
}

static LogicalResult verifyPads(Operation *op, ArrayRef<int64_t> padLow) {
  if (padLow.size() == 2)
    return success();
  return op->emitOpError("expected 2 low pads, but got ") << padLow.size();
}

static LogicalResult verifyStrides(Operation *op, ArrayRef<int64_t> strides) {
  if (strides.size() == 4)
    return success();
  return op->emitOpError("expected 4 strides, but got ") << strides.size();
}

static LogicalResult verifyTiles(Operation *op, int64_t tiles) {
  if (tiles % 4 == 0)
    return success();
  return op->emitOpError("expected a multiple of 4 tiles, but got ") << tiles;
}

LogicalResult WinogradFilterOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOutput());
  int64_t elements = countElements(getFilter());
  if (shape.size() != 4 || shape[0] != 36 ||
      countElements(getOutput()) != 4 * elements)
    return emitOpError("expected a result of 4 dims, the first 36, and ")
           << 4 * elements << " elements, but got " << getOutput().getType();
  if (failed(verifyStrides(*this, getStrides())))
    return failure();
  int64_t lanes = getLanes();
  if (shape[2] % lanes != 0 || shape[3] % lanes != 0)
    return emitOpError("expected lanes that divide the ")
           << shape[2] << " input channels and the " << shape[3]
           << " channels of a block, but got " << lanes;
  return success();
}

int64_t WinogradOp::countTiles(RankedTensorType images) {
  return images.getDimSize(0) * llvm::divideCeil(images.getDimSize(1), 4) *
         llvm::divideCeil(images.getDimSize(2), 4);
}

int64_t WinogradOp::getScratchElements(int64_t tiles, int64_t channels,
                                       int64_t columns, int64_t panel) {
  // One vector of 16 between the matrices: at a power of two apart, their rows
  // would meet in a few sets of the cache.
  return 36 *
         ((channels + columns) * tiles + 2 * 16 + (panel ? panel + 16 : 0));
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
  if (failed(verifyPads(*this, getPadLow())))
    return failure();
  int64_t lanes = getLanes(), tiles = getTiles();
  if (input[3] % lanes != 0 || filter[3] % lanes != 0)
    return emitOpError("expected lanes that divide ")
           << input[3] << " and " << filter[3] << ", but got " << lanes;
  if (failed(verifyTiles(*this, tiles)))
    return failure();
  return verifyScratch(*this, getScratch(),
                       getScratchElements(tiles, input[3], filter[3]));
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
  if (failed(verifyPads(*this, getPadLow())))
    return failure();
  int64_t lanes = getLanes(), columns = getColumns();
  if (sums[1] % lanes != 0 || sums[1] % 4 != 0 || sums[2] % columns != 0 ||
      columns % lanes != 0)
    return emitOpError("expected lanes and columns that divide ")
           << sums[1] << " and " << sums[2] << ", but got " << lanes << " and "
           << columns;
  return verifyScratch(
      *this, getScratch(),
      WinogradOp::getScratchElements(getTiles(), sums[1], sums[2]));
}

LogicalResult WinogradFilterGradOp::verify() {
  ArrayRef<int64_t> sums = shapeOf(getSums());
  int64_t elements = countElements(getOutput());
  if (sums.size() != 4 || sums[1] != 36 ||
      36 * sums[2] * sums[3] != 4 * elements)
    return emitOpError("expected sums of 4 dims, the second 36, and ")
           << 4 * elements << " elements a chunk, but got "
           << getSums().getType();
  if (failed(verifyStrides(*this, getStrides())))
    return failure();
  if (sums[3] % static_cast<int64_t>(getLanes()) != 0)
    return emitOpError("expected lanes that divide ")
           << sums[3] << ", but got " << getLanes();
  return success();
}

/// What ops that work panel by panel have in common, but for the scratch:
/// `filter` is an operand or a result.
template <typename OpT>
static LogicalResult verifyPanels(OpT op, Value filter,
                                  ArrayRef<int64_t> output) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  if (input.size() != 4 || output.size() != 4 || input[0] != output[0] ||
      countElements(filter) != 9 * input[3] * output[3])
    return op.emitOpError("expected images [N, H, W, C] and [N, H', W', K] and "
                          "a filter of 9 * C * K elements, but got ")
           << op->getOperandTypes() << " and " << op->getResult(0).getType();
  if (failed(verifyPads(op, op.getPadLow())) ||
      failed(verifyStrides(op, op.getStrides())))
    return failure();
  int64_t lanes = op.getLanes(), depth = op.getDepth(), width = op.getColumns();
  if (depth % lanes != 0 || width % lanes != 0 || input[3] % depth != 0 ||
      output[3] % width != 0)
    return op.emitOpError("expected lanes that divide depth and columns, and "
                          "these ")
           << input[3] << " and " << output[3] << ", but got " << lanes << ", "
           << depth << " and " << width;
  return success();
}

LogicalResult WinogradPanelsOp::verify() {
  ArrayRef<int64_t> output = shapeOf(getOutput());
  if (failed(verifyPanels(*this, getFilter(), output)))
    return failure();
  if (getBias() && shapeOf(getBias()) != output.take_back())
    return emitOpError("expected a bias of the output's channels, but got ")
           << getBias().getType();
  if (failed(verifyTiles(*this, getTiles())))
    return failure();
  return verifyScratch(
      *this, getScratch(),
      WinogradOp::getScratchElements(getTiles(), shapeOf(getInput()).back(),
                                     getColumns(), getDepth() * getColumns()));
}

LogicalResult WinogradPanelsGradOp::verify() {
  ArrayRef<int64_t> grad = shapeOf(getGrad());
  if (failed(verifyPanels(*this, getOutput(), grad)))
    return failure();
  if (getDepth() % 4 != 0)
    return emitOpError("expected a depth that 4 divides, but got ")
           << getDepth();
  int64_t tiles =
      WinogradOp::countTiles(cast<RankedTensorType>(getGrad().getType()));
  if (int64_t(getTiles()) != tiles)
    return emitOpError("expected all ") << tiles << " tiles of the gradient, "
                                        << "but got " << getTiles();
  return verifyScratch(
      *this, getScratch(),
      WinogradOp::getScratchElements(tiles, getDepth(), grad.back(),
                                     getDepth() * getColumns()));
}
