//===- TensorFlowIndex.cpp - Indices of TensorFlow ----------------------===//
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

/// Rows of `x` along `axis`; the first `batchDims` dims are those of both.
static Value gather(Node &n, Value x, Value indices, int64_t axis,
                    int64_t batchDims) {
  if (batchDims == 0)
    return n.onnx("Gather", {x, indices}, {onnxInt("axis", axis)});
  // Each example has indices of its own: GatherND takes them behind its batch.
  if (axis != batchDims) {
    (void)n.fail("an axis behind batch_dims is not supported");
    return {};
  }
  SmallVector<int64_t> shape(n.shapeOf(indices));
  shape.push_back(1);
  Type i64 = IntegerType::get(n.getContext(), 64);
  return n.onnx("GatherND", {x, n.reshape(n.convert(indices, i64), shape)},
                {onnxInt("batch_dims", batchDims)});
}

static LogicalResult importGather(Node &n) {
  int64_t axis = 0;
  if (n.numInputs() > 2) {
    FailureOr<SmallVector<int64_t>> given = n.numbers(2);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.fail("its axis must be one number");
    axis = given->front();
  }
  FailureOr<int64_t> dim = n.dim(axis, n.rankOf(n.in(0)));
  int64_t batchDims = n.getInt("batch_dims", 0);
  if (batchDims < 0)
    batchDims += n.rankOf(n.in(1));
  if (failed(dim))
    return failure();
  return n.result(gather(n, n.in(0), n.in(1), *dim, batchDims));
}

static LogicalResult importResourceGather(Node &n) {
  if (n.item(0).variable < 0)
    return n.fail("its first input is no variable");
  return n.result(gather(n, n.readVariable(n.item(0).variable), n.in(1), 0,
                         n.getInt("batch_dims", 0)));
}

static LogicalResult importGatherNd(Node &n) {
  Type i64 = IntegerType::get(n.getContext(), 64);
  return n.result(n.onnx("GatherND", {n.in(0), n.convert(n.in(1), i64)}));
}

/// Rows of zeros where an index is out of range, negative ones too.
static LogicalResult importOneHot(Node &n) {
  FailureOr<SmallVector<int64_t>> depth = n.numbers(1);
  if (failed(depth))
    return failure();
  Value indices = n.in(0);
  SmallVector<int64_t> shape(n.shapeOf(indices));
  int64_t axis = n.getInt("axis", -1);
  FailureOr<int64_t> dim = axis == -1
                               ? FailureOr<int64_t>(int64_t(shape.size()))
                               : n.dim(axis, int64_t(shape.size()) + 1);
  if (failed(dim))
    return failure();
  if (depth->size() != 1 || depth->front() < 0)
    return n.fail("its depth must be one number, 0 or more");
  shape.insert(shape.begin() + *dim, depth->front());
  if (!isSaneShape(shape))
    return n.fail("its result would be too large");
  Type i64 = IntegerType::get(n.getContext(), 64);
  Value hit =
      n.compare(ComparePredicate::EQ, n.iota(shape, *dim, i64),
                n.broadcastMissing(n.convert(indices, i64), shape, {*dim}));
  return n.result(n.select(hit, n.broadcastTo(n.in(2), shape),
                           n.broadcastTo(n.in(3), shape)));
}

/// Keeps diagonals within a band; a negative number keeps all on that side.
static LogicalResult importMatrixBandPart(Node &n) {
  FailureOr<SmallVector<int64_t>> lower = n.numbers(1), upper = n.numbers(2);
  if (failed(lower) || failed(upper))
    return failure();
  if (lower->size() != 1 || upper->size() != 1)
    return n.fail("its band must be two numbers");
  Value x = n.in(0);
  auto offset = [&](int64_t by) { return n.reshape(n.intList({by}), {}); };
  if (lower->front() >= 0)
    x = n.onnx("Trilu", {x, offset(-lower->front())}, {onnxInt("upper", 1)});
  if (upper->front() >= 0)
    x = n.onnx("Trilu", {x, offset(upper->front())}, {onnxInt("upper", 0)});
  return n.result(x);
}

/// How many of the boundaries, which ascend, are at most each number.
static LogicalResult importBucketize(Node &n) {
  const tensorflow::AttrValue *value = n.attribute("boundaries");
  Value x = n.in(0);
  Type i32 = IntegerType::get(n.getContext(), 32);
  Value count = n.broadcastTo(n.intScalar(0, i32), n.shapeOf(x));
  if (value && value->list().f_size() > 4096)
    return n.fail("it has more than 4096 boundaries");
  for (int i = 0; value && i < value->list().f_size(); ++i)
    count = n.add(count, n.convert(n.compare(ComparePredicate::GE, x,
                                             n.splat(value->list().f(i), x)),
                                   i32));
  return n.result(count);
}

static LogicalResult importScatter(Node &n) {
  Type i64 = IntegerType::get(n.getContext(), 64);
  return n.result(
      n.onnx("ScatterND", {n.in(0), n.convert(n.in(1), i64), n.in(2)},
             {onnxText("reduction",
                       n.kind() == "TensorScatterAdd" ? "add" : "none")}));
}
/// Into zeros of a shape, where those of the same place add up.
static LogicalResult importScatterNd(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.numbers(2);
  if (failed(shape))
    return failure();
  if (!isSaneShape(*shape))
    return n.fail("its shape is impossible");
  Type i64 = IntegerType::get(n.getContext(), 64);
  return n.result(n.onnx(
      "ScatterND",
      {n.zeros(*shape, n.elementOf(n.in(1))), n.convert(n.in(0), i64), n.in(1)},
      {onnxText("reduction", "add")}));
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowIndexOps() {
  static const TensorFlowOp rows[] = {
      {"Gather", importGather, 2},
      {"GatherV2", importGather, 3},
      {"ResourceGather", importResourceGather, 2},
      {"GatherNd", importGatherNd, 2},
      {"OneHot", importOneHot, 4},
      {"Bucketize", importBucketize},
      {"TensorScatterUpdate", importScatter, 3},
      {"TensorScatterAdd", importScatter, 3},
      {"ScatterNd", importScatterNd, 3},
      {"MatrixBandPart", importMatrixBandPart, 3},
  };
  return rows;
}
