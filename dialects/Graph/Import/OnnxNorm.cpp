//===- OnnxNorm.cpp - Normalizations of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxRoot.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

Value mlir::dist::graph::isZero(OnnxNode &n, Value x) {
  return x ? n.compare(ComparePredicate::EQ, x, n.scalar(0, n.elementOf(x)))
           : Value();
}

Value mlir::dist::graph::replaceZeros(OnnxNode &n, Value x) {
  return x ? n.select(isZero(n, x), n.scalar(1, n.elementOf(x)), x) : Value();
}

Value mlir::dist::graph::widen(OnnxNode &n, Value x) {
  bool isNarrow =
      x && n.isFloat(x) && n.elementOf(x).getIntOrFloatBitWidth() < 32;
  return isNarrow ? n.convert(x, Float32Type::get(n.getContext())) : x;
}

Value mlir::dist::graph::rootOfSum(OnnxNode &n, Value sum, double p) {
  if (!sum || p == 1)
    return sum;
  Type element = n.elementOf(sum);
  Value safe = replaceZeros(n, sum);
  Value root =
      p == 2 ? n.sqrt(safe) : n.binary<PowOp>(safe, n.scalar(1 / p, element));
  return n.select(isZero(n, sum), n.scalar(0, element), root);
}

/// Statistics are computed in f32, those of f64 in f64.
static Type statisticsType(OnnxNode &n, Value x) {
  return n.elementOf(x).isF64() ? n.elementOf(x)
                                : Type(Float32Type::get(n.getContext()));
}

/// (x - mean) / sqrt(variance + epsilon) over `dims`; x is of the statistics'
/// type.
static Value normalize(OnnxNode &n, Value x, ArrayRef<int64_t> dims,
                       double epsilon) {
  Value centered = n.sub(x, n.mean(x, dims, true));
  Value variance = n.mean(n.mul(centered, centered), dims, true);
  return n.mul(centered, n.unary<RsqrtOp>(n.add(variance, epsilon)));
}

static bool isVector(OnnxNode &n, Value v, int64_t size) {
  return n.shapeOf(v) == ArrayRef<int64_t>{size};
}

/// Whether the file has the value as an initializer, in this form or another:
/// moving statistics, which fit can move.
static bool isStored(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  while (isa_and_nonnull<ConvertOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<ReadOp>(op);
}

/// A node in training mode is imported as one of a trained model is: fit
/// normalizes by the batch and moves the statistics, as it does of files for
/// inference, and prediction takes what was moved. It normalizes by the batch
/// in prediction, too, where the moved statistics are a result that the model
/// uses, or where there are none to move.
static LogicalResult importBatchNormalization(OnnxNode &n) {
  Value x = n.in(0);
  double epsilon = n.floatAttr("epsilon", 1e-5);
  double momentum = n.floatAttr("momentum", 0.9);
  bool asksForMoved = n.wants(1) || n.wants(2);
  // From opset 7 to 13 only the outputs tell.
  bool training = n.opset >= 14  ? n.intAttr("training_mode", 0) != 0
                  : n.opset >= 7 ? asksForMoved
                                 : n.intAttr("is_test", 0) == 0;
  if (n.opset < 9 && n.intAttr("spatial", 1) == 0)
    return n.fail("spatial = 0 is not supported");
  if (n.rankOf(x) < 2 || !n.isFloat(x))
    return n.fail("the input must be floats with a channel dim");
  int64_t channels = n.shapeOf(x)[1];
  Value parts[4];
  for (unsigned i = 0; i < 4; ++i) {
    parts[i] = n.in(i + 1);
    if (!isVector(n, parts[i], channels) || !n.isFloat(parts[i]))
      return n.fail("scale, bias, mean and variance must be vectors of one "
                    "number a channel");
  }
  bool isMovable = isStored(parts[2]) && isStored(parts[3]);
  bool byBatch = training && (asksForMoved || !isMovable);
  // Of several types, none is rounded to a narrower one.
  Type element = n.elementOf(x), wide = element;
  for (Value part : parts)
    if (Type type = n.elementOf(part); type != wide)
      wide = type.isF64() || wide.isF64()
                 ? Type(Float64Type::get(n.getContext()))
                 : Type(Float32Type::get(n.getContext()));
  x = n.convert(x, wide);
  Value scale = n.convert(parts[0], wide), bias = n.convert(parts[1], wide);
  if (!byBatch) {
    Value y = n.make<BatchNormInferenceOp>(
        {x, scale, bias, n.convert(parts[2], wide), n.convert(parts[3], wide)},
        {n.i64("axis", 1), n.f64("epsilon", epsilon),
         n.f64("momentum", momentum)});
    return n.out(n.convert(y, element));
  }
  SmallVector<Value> results = n.makeAll<BatchNormOp>(
      {x, scale, bias},
      {n.i64("axis", 1), n.f64("epsilon", epsilon), n.i64("groups", 1)});
  if (results.size() < 3 || failed(n.out(n.convert(results[0], element))))
    return failure();
  // running = old * momentum + new * (1 - momentum)
  for (unsigned i : {1u, 2u}) {
    if (!n.wants(i))
      continue;
    Type type = n.elementOf(n.in(i + 2));
    Value old = n.convert(n.in(i + 2), n.elementOf(results[i]));
    Value fresh = n.reshape(results[i], {channels});
    Value running = n.add(n.mul(old, momentum), n.mul(fresh, 1 - momentum));
    if (failed(n.out(i, n.convert(running, type))))
      return failure();
  }
  return success();
}

static LogicalResult importLayerNormalization(OnnxNode &n) {
  Value x = n.in(0);
  double epsilon = n.floatAttr("epsilon", 1e-5);
  if (n.intAttr("stash_type", 1) != 1)
    return n.fail("only stash_type 1 (float) is supported");
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", -1), n.rankOf(x));
  if (failed(axis))
    return failure();
  if (!n.isFloat(x))
    return n.fail("the input must be floats");
  ArrayRef<int64_t> rows = n.shapeOf(x).drop_front(*axis);
  auto fit = [&](Value v) -> Value {
    if (!v)
      return n.broadcastTo(n.scalar(0, n.elementOf(x)), rows);
    FailureOr<SmallVector<int64_t>> shape = n.commonShape(n.shapeOf(v), rows);
    if (failed(shape) || ArrayRef<int64_t>(*shape) != rows) {
      (void)n.fail("scale or bias do not fit the normalized dims");
      return {};
    }
    return n.broadcastTo(n.convert(v, n.elementOf(x)), rows);
  };
  Value scale = fit(n.in(1)), bias = fit(n.in(2));
  SmallVector<Value> results = n.makeAll<LayerNormOp>(
      {x, scale, bias}, {n.i64("axis", *axis), n.f64("epsilon", epsilon)});
  if (results.size() != 3 || failed(n.out(results[0])))
    return failure();
  SmallVector<int64_t> kept(n.shapeOf(x));
  std::fill(kept.begin() + *axis, kept.end(), 1);
  for (unsigned i : {1u, 2u})
    if (n.wants(i) && failed(n.out(i, n.reshape(results[i], kept))))
      return failure();
  return success();
}

static LogicalResult importRMSNormalization(OnnxNode &n) {
  Value x = n.in(0);
  double epsilon = n.floatAttr("epsilon", 1e-5);
  if (n.intAttr("stash_type", 1) != 1)
    return n.fail("only stash_type 1 (float) is supported");
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", -1), n.rankOf(x));
  if (failed(axis))
    return failure();
  Type type = n.elementOf(x);
  Value wide = n.convert(x, statisticsType(n, x));
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(*axis, n.rankOf(x)));
  Value square = n.mean(n.mul(wide, wide), dims, true);
  Value result = n.mul(wide, n.unary<RsqrtOp>(n.add(square, epsilon)));
  return n.out(n.mul(n.convert(result, type), n.convert(n.in(1), type)));
}

static LogicalResult importInstanceNormalization(OnnxNode &n) {
  Value x = n.in(0);
  double epsilon = n.floatAttr("epsilon", 1e-5);
  int64_t rank = n.rankOf(x);
  if (rank < 3 || !n.isFloat(x) || !isVector(n, n.in(1), n.shapeOf(x)[1]) ||
      !isVector(n, n.in(2), n.shapeOf(x)[1]))
    return n.fail("the input must have spatial dims, scale and bias one number "
                  "a channel");
  Type type = n.elementOf(x), wide = statisticsType(n, x);
  Value y = normalize(n, n.convert(x, wide),
                      llvm::to_vector(llvm::seq<int64_t>(2, rank)), epsilon);
  auto along = [&](Value v) {
    return n.broadcastAlong(n.convert(v, wide), n.shapeOf(x), 1);
  };
  return n.out(
      n.convert(n.add(n.mul(y, along(n.in(1))), along(n.in(2))), type));
}

static LogicalResult importGroupNormalization(OnnxNode &n) {
  Value x = n.in(0);
  double epsilon = n.floatAttr("epsilon", 1e-5);
  int64_t groups = n.intAttr("num_groups", 0);
  if (n.opset >= 21)
    n.ignore({"stash_type"});
  if (n.rankOf(x) < 2 || groups < 1 || n.shapeOf(x)[1] % groups ||
      !n.isFloat(x))
    return n.fail("the channels must divide into num_groups groups");
  SmallVector<int64_t> original(n.shapeOf(x));
  int64_t channels = original[1], size = channels / groups;
  Type type = n.elementOf(x), wide = statisticsType(n, x);
  SmallVector<int64_t> split = {original[0], groups, size};
  split.append(original.begin() + 2, original.end());
  Value y =
      normalize(n, n.reshape(n.convert(x, wide), split),
                llvm::to_vector(llvm::seq<int64_t>(2, split.size())), epsilon);
  // Until opset 20 scale and bias are one number a group; exporters write one a
  // channel there, too, which only the size tells.
  bool perGroup = n.opset < 21 && isVector(n, n.in(1), groups);
  for (unsigned i : {1u, 2u}) {
    if (!isVector(n, n.in(i), perGroup ? groups : channels))
      return n.fail("scale and bias do not fit");
    Value part = n.convert(n.in(i), wide);
    part = perGroup ? n.broadcastDims(part, split, {1})
                    : n.broadcastDims(n.reshape(part, {groups, size}), split,
                                      {1, 2});
    y = i == 1 ? n.mul(y, part) : n.add(y, part);
  }
  return n.out(n.convert(n.reshape(y, original), type));
}

/// (x - mean) / (sqrt(E[x^2] - mean^2) + 1e-9), as the reference has it.
static LogicalResult importMeanVarianceNormalization(OnnxNode &n) {
  Value x = n.in(0);
  FailureOr<SmallVector<int64_t>> dims = n.dims(
      n.intsAttr("axes").value_or(SmallVector<int64_t>{0, 2, 3}), n.rankOf(x));
  if (failed(dims))
    return failure();
  Value wide = widen(n, x);
  Value centered = n.sub(wide, n.mean(wide, *dims, true));
  Value variance = n.mean(n.mul(centered, centered), *dims, true);
  Value y = n.div(centered, n.add(rootOfSum(n, variance, 2), 1e-9));
  return n.out(n.convert(y, n.elementOf(x)));
}

static LogicalResult importLpNormalization(OnnxNode &n) {
  Value x = n.in(0);
  int64_t p = n.intAttr("p", 2);
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", -1), n.rankOf(x));
  if (failed(axis))
    return failure();
  if (p != 1 && p != 2)
    return n.fail("p must be 1 or 2");
  Type type = n.elementOf(x);
  x = widen(n, x);
  Value sum = n.reduce(Reduction::Sum, p == 1 ? n.unary<AbsOp>(x) : n.mul(x, x),
                       {*axis}, true);
  if (!sum)
    return failure();
  // A row of zeros stays one, and its derivative is 0.
  Value norm = rootOfSum(n, sum, p);
  Value y = n.select(isZero(n, norm), n.scalar(0, n.elementOf(x)),
                     n.div(x, replaceZeros(n, norm)));
  return n.out(n.convert(y, type));
}

/// x / (bias + alpha / size * sum of squares over nearby channels)^beta.
static LogicalResult importLRN(OnnxNode &n) {
  Value x = n.in(0);
  double alpha = n.floatAttr("alpha", 1e-4), beta = n.floatAttr("beta", 0.75),
         bias = n.floatAttr("bias", 1);
  int64_t size = n.intAttr("size", 0), rank = n.rankOf(x);
  if (size < 1 || size > (1 << 20) || rank < 2)
    return n.fail("size must be 1 or more, and the input have channels");
  Type type = n.elementOf(x);
  x = widen(n, x);
  SmallVector<int64_t> window(rank, 1), ones(rank, 1), low(rank, 0),
      high(rank, 0);
  window[1] = size;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  // The mean over the window with zeros outside is the sum / size.
  Value mean = n.make<AvgPoolOp>(
      {n.mul(x, x)},
      {n.list("window", window), n.list("strides", ones),
       n.list("dilations", ones), n.list("pad_low", low),
       n.list("pad_high", high), n.flag("count_include_pad", true)});
  Value base = n.add(n.mul(mean, alpha), bias);
  if (!base)
    return failure();
  Value y = n.div(x, n.binary<PowOp>(base, n.scalar(beta, n.elementOf(x))));
  return n.out(n.convert(y, type));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxNormOps() {
  static const OnnxOp rows[] = {
      {"BatchNormalization", 1, 5, 5, importBatchNormalization},
      {"LayerNormalization", 17, 2, 3, importLayerNormalization},
      {"RMSNormalization", 23, 2, 2, importRMSNormalization},
      {"InstanceNormalization", 1, 3, 3, importInstanceNormalization},
      {"GroupNormalization", 18, 3, 3, importGroupNormalization},
      {"MeanVarianceNormalization", 9, 1, 1, importMeanVarianceNormalization},
      {"LpNormalization", 1, 1, 1, importLpNormalization},
      {"LRN", 1, 1, 1, importLRN},
  };
  return rows;
}
