//===- OnnxActivation.cpp - Activation functions of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Composed of element-wise ops, by the formulas of the ONNX operator reference.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxActivation.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Where activations of two pieces are on the left one. Both agree at 0, but
/// the derivative there is the left one's, as in PyTorch and TensorFlow.
static Value isLeft(OnnxNode &n, Value x) {
  return n.compare(ComparePredicate::LE, x, n.scalar(0, n.elementOf(x)));
}
Value mlir::dist::graph::clampTo(OnnxNode &n, Value x, double low,
                                 double high) {
  Type type = n.elementOf(x);
  return n.minimum(n.maximum(x, n.scalar(low, type)), n.scalar(high, type));
}
/// log(1 + e^x) that does not overflow; from one side at 0, where relu and abs
/// would have no derivative, and this has 1/2.
static Value softplus(OnnxNode &n, Value x) {
  Value zero = n.scalar(0, n.elementOf(x));
  Value isRight = n.compare(ComparePredicate::GE, x, zero);
  Value tail = n.unary<Log1pOp>(n.exp(n.select(isRight, n.neg(x), x)));
  return n.add(n.select(isRight, x, zero), tail);
}

static Value leakyRelu(OnnxNode &n, Value x, double alpha, double) {
  return n.select(isLeft(n, x), n.mul(x, alpha), x);
}
/// alpha (e^(x / scale) - 1) where `chosen`; 0 elsewhere, for the branch that a
/// select leaves out has its derivative multiplied by 0: that may be no
/// infinity.
static Value expm1Where(OnnxNode &n, Value chosen, Value x, double alpha,
                        double scale = 1) {
  Value safe = n.select(chosen, x, n.splat(0, x));
  if (scale != 1)
    safe = n.div(safe, scale);
  return n.mul(n.unary<Expm1Op>(safe), alpha);
}
static Value elu(OnnxNode &n, Value x, double alpha, double) {
  Value left = isLeft(n, x);
  return n.select(left, expm1Where(n, left, x, alpha), x);
}
static Value thresholdedRelu(OnnxNode &n, Value x, double alpha, double) {
  Type type = n.elementOf(x);
  return n.select(n.compare(ComparePredicate::GT, x, n.scalar(alpha, type)), x,
                  n.scalar(0, type));
}
static Value hardSigmoid(OnnxNode &n, Value x, double alpha, double beta) {
  return clampTo(n, n.add(n.mul(x, alpha), beta), 0, 1);
}
static Value softsign(OnnxNode &n, Value x) {
  return n.div(x, n.add(n.unary<AbsOp>(x), 1));
}

static LogicalResult importRelu(OnnxNode &n) {
  return n.out(n.unary<ReluOp>(n.in(0)));
}
static LogicalResult importSigmoid(OnnxNode &n) {
  return n.out(n.unary<LogisticOp>(n.in(0)));
}
static LogicalResult importTanh(OnnxNode &n) { return n.out(n.tanh(n.in(0))); }
static LogicalResult importLeakyRelu(OnnxNode &n) {
  return n.out(leakyRelu(n, n.in(0), n.floatAttr("alpha", 0.01), 0));
}
static LogicalResult importPRelu(OnnxNode &n) {
  Value x = n.in(0), slope = n.in(1);
  // Until opset 6 a vector has one number a channel.
  if (n.opset < 7 && n.rankOf(slope) == 1 && n.rankOf(x) > 2 &&
      n.shapeOf(slope)[0] == n.shapeOf(x)[1])
    slope = n.broadcastAlong(slope, n.shapeOf(x), 1);
  FailureOr<SmallVector<int64_t>> shape =
      n.commonShape(n.shapeOf(x), n.shapeOf(slope));
  if (failed(shape) || ArrayRef<int64_t>(*shape) != n.shapeOf(x))
    return n.fail("the slope's shape does not broadcast to the input's");
  return n.out(n.select(isLeft(n, x), n.mul(x, slope), x));
}
static LogicalResult importElu(OnnxNode &n) {
  return n.out(elu(n, n.in(0), n.floatAttr("alpha", 1), 0));
}
static LogicalResult importSelu(OnnxNode &n) {
  Value x = n.in(0);
  double alpha = n.floatAttr("alpha", 1.67326319217681884765625);
  double gamma = n.floatAttr("gamma", 1.05070102214813232421875);
  Value left = isLeft(n, x);
  return n.out(n.mul(n.select(left, expm1Where(n, left, x, alpha), x), gamma));
}
static LogicalResult importCelu(OnnxNode &n) {
  Value x = n.in(0);
  double alpha = n.floatAttr("alpha", 1);
  Value left = isLeft(n, x);
  return n.out(n.select(left, expm1Where(n, left, x, alpha, alpha), x));
}
static LogicalResult importThresholdedRelu(OnnxNode &n) {
  return n.out(thresholdedRelu(n, n.in(0), n.floatAttr("alpha", 1), 0));
}
static LogicalResult importHardSigmoid(OnnxNode &n) {
  double alpha = n.floatAttr("alpha", 0.2), beta = n.floatAttr("beta", 0.5);
  return n.out(hardSigmoid(n, n.in(0), alpha, beta));
}
static LogicalResult importHardSwish(OnnxNode &n) {
  Value x = n.in(0);
  Value gate = clampTo(n, n.add(n.mul(x, 1.0 / 6), 0.5), 0, 1);
  return n.out(n.mul(x, gate));
}
static LogicalResult importSwish(OnnxNode &n) {
  Value x = n.in(0);
  double alpha = n.floatAttr("alpha", 1);
  Value scaled = alpha == 1 ? x : n.mul(x, alpha);
  return n.out(n.mul(x, n.unary<LogisticOp>(scaled)));
}
static LogicalResult importMish(OnnxNode &n) {
  return n.out(n.mul(n.in(0), n.tanh(softplus(n, n.in(0)))));
}
static LogicalResult importSoftplus(OnnxNode &n) {
  return n.out(softplus(n, n.in(0)));
}
static LogicalResult importSoftsign(OnnxNode &n) {
  return n.out(softsign(n, n.in(0)));
}
static LogicalResult importGelu(OnnxNode &n) {
  Value x = n.in(0);
  std::string form = n.textAttr("approximate", "none");
  Value inner;
  if (form == "none")
    inner = n.unary<ErfOp>(n.mul(x, 0.70710678118654752));
  else if (form == "tanh") {
    // From 10 on tanh is 1 to the last bit; the cube of more may be infinite,
    // and its derivative 0 times that.
    Value small = clampTo(n, x, -10, 10);
    Value cube = n.mul(n.mul(small, small), small);
    inner =
        n.tanh(n.mul(n.add(small, n.mul(cube, 0.044715)), 0.79788456080286536));
  } else
    return n.fail("approximate must be none or tanh, not '" + form + "'");
  return n.out(n.mul(n.mul(x, 0.5), n.add(inner, 1)));
}
static LogicalResult importShrink(OnnxNode &n) {
  Value x = n.in(0);
  double lambda = n.floatAttr("lambd", 0.5), bias = n.floatAttr("bias", 0);
  Type type = n.elementOf(x);
  Value above = n.compare(ComparePredicate::GT, x, n.scalar(lambda, type));
  Value below = n.compare(ComparePredicate::LT, x, n.scalar(-lambda, type));
  Value inner = n.select(below, n.add(x, bias), n.splat(0, x));
  return n.out(n.select(above, n.add(x, -bias), inner));
}

/// Before opset 13, softmax and its kin work on the input as a matrix: dims
/// from `axis` on are one.
template <typename Fn>
static LogicalResult importAlongAxis(OnnxNode &n, Fn compute) {
  Value x = n.in(0);
  bool flattens = n.opset < 13;
  int64_t given = n.intAttr("axis", flattens ? 1 : -1);
  if (flattens && given == n.rankOf(x)) {
    // One-element rows.
    SmallVector<int64_t> shape(n.shapeOf(x));
    shape.push_back(1);
    return n.out(
        n.reshape(compute(n.reshape(x, shape), n.rankOf(x)), n.shapeOf(x)));
  }
  FailureOr<int64_t> axis = n.dim(given, n.rankOf(x));
  if (failed(axis))
    return failure();
  if (!flattens || *axis == n.rankOf(x) - 1)
    return n.out(compute(x, *axis));
  SmallVector<int64_t> shape(n.shapeOf(x).take_front(*axis));
  int64_t rest = 1;
  for (int64_t size : n.shapeOf(x).drop_front(*axis))
    rest *= size;
  shape.push_back(rest);
  return n.out(n.reshape(compute(n.reshape(x, shape), *axis), n.shapeOf(x)));
}

template <typename OpTy> static LogicalResult importSoftmax(OnnxNode &n) {
  return importAlongAxis(n, [&](Value x, int64_t axis) {
    return n.make<OpTy>({x}, {n.i64("axis", axis)});
  });
}
static LogicalResult importHardmax(OnnxNode &n) {
  return importAlongAxis(n, [&](Value x, int64_t axis) -> Value {
    Value best = n.make<ArgMaxOp>({x}, {n.i64("axis", axis)});
    if (!best)
      return {};
    Value position = n.iota(n.shapeOf(x), axis, n.elementOf(best));
    best = n.broadcastMissing(best, n.shapeOf(x), {axis});
    return n.convert(n.compare(ComparePredicate::EQ, position, best),
                     n.elementOf(x));
  });
}

const OnnxActivation *mlir::dist::graph::findOnnxActivation(StringRef name) {
  constexpr std::nullopt_t none = std::nullopt;
  static const OnnxActivation rows[] = {
      {"Relu", 0, none, none,
       [](OnnxNode &n, Value x, double, double) { return n.unary<ReluOp>(x); }},
      {"Tanh", 0, none, none,
       [](OnnxNode &n, Value x, double, double) { return n.tanh(x); }},
      {"Sigmoid", 0, none, none,
       [](OnnxNode &n, Value x, double, double) {
         return n.unary<LogisticOp>(x);
       }},
      {"Softsign", 0, none, none,
       [](OnnxNode &n, Value x, double, double) { return softsign(n, x); }},
      {"Softplus", 0, none, none,
       [](OnnxNode &n, Value x, double, double) { return softplus(n, x); }},
      {"LeakyRelu", 1, 0.01, none, leakyRelu},
      {"ThresholdedRelu", 1, 1.0, none, thresholdedRelu},
      {"Elu", 1, 1.0, none, elu},
      {"HardSigmoid", 2, 0.2, 0.5, hardSigmoid},
      {"Affine", 2, none, none,
       [](OnnxNode &n, Value x, double alpha, double beta) {
         return n.add(n.mul(x, alpha), beta);
       }},
      {"ScaledTanh", 2, none, none,
       [](OnnxNode &n, Value x, double alpha, double beta) {
         return n.mul(n.tanh(n.mul(x, beta)), alpha);
       }},
  };
  for (const OnnxActivation &row : rows)
    if (name.equals_insensitive(row.name))
      return &row;
  return nullptr;
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxActivationOps() {
  static const OnnxOp rows[] = {
      {"Relu", 1, 1, 1, importRelu},
      {"Sigmoid", 1, 1, 1, importSigmoid},
      {"Tanh", 1, 1, 1, importTanh},
      {"LeakyRelu", 1, 1, 1, importLeakyRelu},
      {"PRelu", 1, 2, 2, importPRelu},
      {"Elu", 1, 1, 1, importElu},
      {"Selu", 1, 1, 1, importSelu},
      {"Celu", 12, 1, 1, importCelu},
      {"ThresholdedRelu", 10, 1, 1, importThresholdedRelu},
      {"HardSigmoid", 1, 1, 1, importHardSigmoid},
      {"HardSwish", 14, 1, 1, importHardSwish},
      {"Swish", 24, 1, 1, importSwish},
      {"Mish", 18, 1, 1, importMish},
      {"Softplus", 1, 1, 1, importSoftplus},
      {"Softsign", 1, 1, 1, importSoftsign},
      {"Gelu", 20, 1, 1, importGelu},
      {"Shrink", 9, 1, 1, importShrink},
      {"Softmax", 1, 1, 1, importSoftmax<SoftmaxOp>},
      {"LogSoftmax", 1, 1, 1, importSoftmax<LogSoftmaxOp>},
      {"Hardmax", 1, 1, 1, importHardmax},
  };
  return rows;
}
