//===- TensorFlowSpace.cpp - Images and blocks of TensorFlow ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowNode.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using Node = TensorFlowNode;

/// Images of examples, rows, columns and channels, in another size.
template <bool isLinear> static LogicalResult importResize(Node &n) {
  FailureOr<SmallVector<int64_t>> size = n.numbers(1);
  if (failed(size))
    return failure();
  Value x = n.in(0);
  if (n.rankOf(x) != 4 || size->size() != 2)
    return n.fail("its input must have 4 dims, and its size 2 numbers");
  bool isAligned = n.getBool("align_corners", false),
       isHalf = n.getBool("half_pixel_centers", false);
  x = n.transpose(x, {0, 3, 1, 2});
  if (isLinear && x)
    x = n.convert(x, Float32Type::get(n.getContext()));
  if (!x)
    return failure();
  Value sizes = n.intList(
      {n.shapeOf(x)[0], n.shapeOf(x)[1], size->front(), size->back()});
  StringRef places = isAligned ? "align_corners"
                     : isHalf  ? "half_pixel"
                               : "asymmetric";
  // What is nearest is that whose middle is; without middles, the one before.
  StringRef nearest = isAligned || isHalf ? "round_prefer_ceil" : "floor";
  Value resized = n.onnx("Resize", {x, Value(), Value(), sizes},
                         {onnxText("mode", isLinear ? "linear" : "nearest"),
                          onnxText("coordinate_transformation_mode", places),
                          onnxText("nearest_mode", nearest)});
  return n.result(resized ? n.transpose(resized, {0, 2, 3, 1}) : Value());
}

/// Blocks of rows and columns become channels, and back.
template <bool isBack> static LogicalResult importBlocks(Node &n) {
  Value x = n.in(0);
  int64_t block = n.getInt("block_size", 0);
  if (n.rankOf(x) != 4 || n.getText("data_format", "NHWC") != "NHWC")
    return n.fail("only channels last (NHWC) are supported");
  SmallVector<int64_t> s(n.shapeOf(x));
  if (block < 1 || block > 4096 ||
      (isBack ? s[3] % (block * block) : (s[1] % block || s[2] % block)))
    return n.fail("its block does not fit");
  if (isBack) {
    int64_t channels = s[3] / block / block;
    x = n.transpose(n.reshape(x, {s[0], s[1], s[2], block, block, channels}),
                    {0, 1, 3, 2, 4, 5});
    return n.result(n.reshape(x, {s[0], s[1] * block, s[2] * block, channels}));
  }
  x = n.transpose(
      n.reshape(x, {s[0], s[1] / block, block, s[2] / block, block, s[3]}),
      {0, 1, 3, 2, 4, 5});
  return n.result(
      n.reshape(x, {s[0], s[1] / block, s[2] / block, block * block * s[3]}));
}

/// The block's sizes, and pairs of pads or crops, of the dims after the first.
static LogicalResult readBlock(Node &n, SmallVector<int64_t> *block,
                               SmallVector<int64_t> *edges) {
  FailureOr<SmallVector<int64_t>> sizes = n.numbers(1), pairs = n.numbers(2);
  if (failed(sizes) || failed(pairs))
    return failure();
  if (pairs->size() != 2 * sizes->size() ||
      n.rankOf(n.in(0)) < int64_t(sizes->size()) + 1)
    return n.fail("its block has more dims than its input, or other ones than "
                  "its pads");
  auto inRange = [](int64_t least) {
    return [=](int64_t v) { return v >= least && v < (1 << 30); };
  };
  if (!llvm::all_of(*sizes, inRange(1)) || !llvm::all_of(*pairs, inRange(0)))
    return n.fail("its block or pads are out of range");
  *block = *sizes;
  *edges = *pairs;
  return success();
}

/// What lies a block apart becomes an example: how a convolution with holes was
/// written.
static LogicalResult importSpaceToBatch(Node &n) {
  SmallVector<int64_t> block, pads;
  if (failed(readBlock(n, &block, &pads)))
    return failure();
  Value x = n.in(0);
  int64_t rank = n.rankOf(x), dims = block.size();
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  for (int64_t d = 0; d < dims; ++d) {
    low[d + 1] = pads[2 * d];
    high[d + 1] = pads[2 * d + 1];
  }
  x = n.pad(x, n.scalar(0, n.elementOf(x)), low, high);
  if (!x)
    return failure();
  ArrayRef<int64_t> s = n.shapeOf(x);
  SmallVector<int64_t> apart = {s[0]}, order, whole = {s[0]};
  for (int64_t d = 0; d < dims; ++d) {
    if (s[d + 1] % block[d])
      return n.fail("its block does not divide the padded input");
    apart.append({s[d + 1] / block[d], block[d]});
    order.push_back(2 * d + 2);
    whole[0] *= block[d];
    whole.push_back(s[d + 1] / block[d]);
  }
  order.push_back(0);
  for (int64_t d = 0; d < dims; ++d)
    order.push_back(2 * d + 1);
  for (int64_t d = dims + 1; d < rank; ++d) {
    order.push_back(apart.size());
    apart.push_back(s[d]);
    whole.push_back(s[d]);
  }
  if (!isSaneShape(whole))
    return n.fail("its block is too large");
  return n.result(n.reshape(n.transpose(n.reshape(x, apart), order), whole));
}

static LogicalResult importBatchToSpace(Node &n) {
  SmallVector<int64_t> block, crops;
  if (failed(readBlock(n, &block, &crops)))
    return failure();
  Value x = n.in(0);
  ArrayRef<int64_t> s = n.shapeOf(x);
  int64_t rank = n.rankOf(x), dims = block.size(), examples = s[0];
  for (int64_t size : block) {
    if (examples % size)
      return n.fail("its block does not divide the examples");
    examples /= size;
  }
  SmallVector<int64_t> apart = block, order = {dims}, whole = {examples};
  apart.push_back(examples);
  for (int64_t d = 0; d < dims; ++d) {
    order.append({dims + 1 + d, d});
    whole.push_back(s[d + 1] * block[d]);
  }
  apart.append(s.begin() + 1, s.end());
  for (int64_t d = dims + 1; d < rank; ++d) {
    order.push_back(dims + d);
    whole.push_back(s[d]);
  }
  SmallVector<int64_t> starts(rank, 0), limits(whole);
  for (int64_t d = 0; d < dims; ++d) {
    starts[d + 1] = crops[2 * d];
    limits[d + 1] -= crops[2 * d + 1];
    if (starts[d + 1] > limits[d + 1])
      return n.fail("its crops are larger than the result");
  }
  x = n.reshape(n.transpose(n.reshape(x, apart), order), whole);
  return n.result(n.slice(x, starts, limits));
}

/// What leaves a dim at its end enters it in front.
static LogicalResult importRoll(Node &n) {
  FailureOr<SmallVector<int64_t>> shifts = n.numbers(1), axes = n.numbers(2);
  if (failed(shifts) || failed(axes))
    return failure();
  if (shifts->size() != axes->size())
    return n.fail("it must have a shift an axis");
  Value x = n.in(0);
  for (auto [shift, axis] : llvm::zip_equal(*shifts, *axes)) {
    FailureOr<int64_t> dim = n.dim(axis, n.rankOf(x));
    if (failed(dim))
      return failure();
    int64_t size = n.shapeOf(x)[*dim];
    int64_t by = size ? ((shift % size) + size) % size : 0;
    if (by == 0)
      continue;
    x = n.concat({n.sliceDim(x, *dim, size - by, size),
                  n.sliceDim(x, *dim, 0, size - by)},
                 *dim);
    if (!x)
      return failure();
  }
  return n.result(x);
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowSpaceOps() {
  static const TensorFlowOp rows[] = {
      {"ResizeBilinear", importResize<true>, 2},
      {"ResizeNearestNeighbor", importResize<false>, 2},
      {"SpaceToDepth", importBlocks<false>},
      {"DepthToSpace", importBlocks<true>},
      {"SpaceToBatchND", importSpaceToBatch, 3},
      {"BatchToSpaceND", importBatchToSpace, 3},
      {"Roll", importRoll, 3},
  };
  return rows;
}
