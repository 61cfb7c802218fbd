//===- TensorFlowContraction.cpp - Products of TensorFlow ---------------===//
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

static LogicalResult importMatMul(Node &n) {
  Value x = n.in(0), y = n.in(1);
  int64_t turnsX = n.getBool("transpose_a", false),
          turnsY = n.getBool("transpose_b", false);
  if (n.rankOf(x) != 2 || n.rankOf(y) != 2)
    return n.fail("its inputs must be matrices");
  if (n.shapeOf(x)[1 - turnsX] != n.shapeOf(y)[turnsY])
    return n.fail("inner dims " + llvm::Twine(n.shapeOf(x)[1 - turnsX]) +
                  " and " + llvm::Twine(n.shapeOf(y)[turnsY]) + " differ");
  return n.result(n.dot(x, y, {}, {}, {1 - turnsX}, {turnsY}));
}

static LogicalResult importBatchMatMul(Node &n) {
  auto turned = [&](Value v, StringRef adjoint) -> Value {
    int64_t rank = n.rankOf(v);
    if (rank < 2) {
      (void)n.fail("its inputs must have 2 dims or more");
      return {};
    }
    return n.getBool(adjoint, false) ? n.moveDim(v, rank - 2, rank - 1) : v;
  };
  Value x = turned(n.in(0), "adj_x"), y = turned(n.in(1), "adj_y");
  return n.result(x && y ? n.onnx("MatMul", {x, y}) : Value());
}

static LogicalResult importEinsum(Node &n) {
  return n.result(n.onnx("Einsum", n.allInputs(),
                         {onnxText("equation", n.getText("equation", ""))}));
}

/// The dim of channels in "NHWC", "NCHW" and their like.
static int64_t channelDim(Node &n, Value x) {
  return n.getText("data_format", "NHWC").starts_with("NC") ? 1
                                                            : n.rankOf(x) - 1;
}

static LogicalResult importBiasAdd(Node &n) {
  Value x = n.in(0), bias = n.in(1);
  int64_t dim = channelDim(n, x);
  if (n.rankOf(x) < 2 || n.rankOf(bias) != 1 ||
      n.shapeOf(bias)[0] != n.shapeOf(x)[dim])
    return n.fail("the bias must be a vector of one number a channel");
  return n.result(n.add(x, n.broadcastAlong(bias, n.shapeOf(x), dim)));
}

/// By the statistics that it is given, or by those of the batch.
static LogicalResult importBatchNorm(Node &n) {
  Value x = n.in(0);
  int64_t dim = channelDim(n, x);
  if (n.rankOf(x) < 2 || !n.isFloat(x))
    return n.fail("the input must be floats with a channel dim");
  int64_t channels = n.shapeOf(x)[dim];
  double epsilon = n.getFloat("epsilon", 1e-4);
  bool training = n.getBool("is_training", true);
  for (unsigned i = 1; i < (training ? 3u : 5u); ++i)
    if (n.rankOf(n.in(i)) != 1 || n.shapeOf(n.in(i))[0] != channels)
      return n.fail("scale, offset, mean and variance must be vectors of one "
                    "number a channel");
  Type element = n.elementOf(x), wide = n.elementOf(n.in(1));
  Value wideX = n.convert(x, wide);
  if (!training) {
    Value scale = n.mul(n.in(1), n.unary<RsqrtOp>(n.add(n.in(4), epsilon)));
    Value shift = n.sub(n.in(2), n.mul(n.in(3), scale));
    Value y = n.add(n.mul(wideX, n.broadcastAlong(scale, n.shapeOf(x), dim)),
                    n.broadcastAlong(shift, n.shapeOf(x), dim));
    if (failed(n.result(0, n.convert(y, element))))
      return failure();
    for (unsigned i : {1u, 2u, 3u, 4u, 5u})
      if (failed(n.result(i, n.in(i % 2 ? 3 : 4))))
        return failure();
    return success();
  }
  SmallVector<Value> made = n.makeAll<BatchNormOp>(
      {wideX, n.in(1), n.in(2)},
      {n.i64("axis", dim), n.f64("epsilon", epsilon), n.i64("groups", 1)});
  if (made.size() < 3 || failed(n.result(0, n.convert(made[0], element))))
    return failure();
  // The variance for the moving one is of a sample.
  double count = 1;
  for (int64_t d = 0; d < n.rankOf(x); ++d)
    count *= d == dim ? 1 : double(n.shapeOf(x)[d]);
  Value mean = n.reshape(made[1], {channels}),
        variance = n.reshape(made[2], {channels});
  Value sample = n.mul(variance, count > 1 ? count / (count - 1) : 1);
  return failure(failed(n.result(1, mean)) || failed(n.result(2, sample)) ||
                 failed(n.result(3, mean)) || failed(n.result(4, variance)) ||
                 failed(n.result(5, mean)));
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowContractionOps() {
  static const char *norm = "y,batch_mean,batch_variance,reserve_space_1,"
                            "reserve_space_2,reserve_space_3";
  static const TensorFlowOp rows[] = {
      {"MatMul", importMatMul, 2},
      {"BatchMatMul", importBatchMatMul, 2},
      {"BatchMatMulV2", importBatchMatMul, 2},
      {"BatchMatMulV3", importBatchMatMul, 2},
      {"Einsum", importEinsum},
      {"BiasAdd", importBiasAdd, 2},
      {"FusedBatchNorm", importBatchNorm, 3, norm},
      {"FusedBatchNormV2", importBatchNorm, 3, norm},
      {"FusedBatchNormV3", importBatchNorm, 3, norm},
  };
  return rows;
}
