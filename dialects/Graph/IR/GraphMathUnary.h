//===- GraphMathUnary.h - Element-wise ops of one operand -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One struct an op: its value on numbers, its scalar code, its derivative
// (the cotangent of the operand from dy, that of the result). Private to
// GraphMath.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHMATHUNARY_H
#define DIALECTS_GRAPH_IR_GRAPHMATHUNARY_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/ScalarBuilder.h"
#include <cmath>
#include <limits>

namespace mlir::dist::graph {

/// What integer code has to know of its element type.
struct IntKind {
  bool isUnsigned;
  unsigned width;
  /// The value without the sign's extension.
  uint64_t bits(int64_t x) const {
    return width >= 64 ? uint64_t(x)
                       : uint64_t(x) & ((uint64_t(1) << width) - 1);
  }
  bool less(int64_t x, int64_t y) const {
    return isUnsigned ? uint64_t(x) < uint64_t(y) : x < y;
  }
};

template <typename OpT> struct ScalarCode;

/// Ops that have no integer form: the op's type constraint refuses integers.
struct FloatOnly {
  static int64_t evaluateInt(int64_t, IntKind) { return 0; }
};
/// Ops that have no float form.
struct IntOnly {
  static double evaluate(double) { return 0; }
  static double evaluate(double, double) { return 0; }
  static Value gradient(GraphBuilder &, Operation *, Value) { return {}; }
  static Value gradient(GraphBuilder &, Operation *, Value, unsigned) {
    return {};
  }
};
/// Locally constant ops.
struct ZeroGradient {
  static Value gradient(GraphBuilder &, Operation *, Value) { return {}; }
};
/// A float op with a scalar op of the same meaning.
template <typename ScalarOp> struct FloatCode : FloatOnly {
  static Value emit(ScalarBuilder &b, Value x) { return b.create<ScalarOp>(x); }
};

template <> struct ScalarCode<NegOp> {
  static constexpr bool isLinear = true;
  static double evaluate(double x) { return -x; }
  static int64_t evaluateInt(int64_t x, IntKind) {
    return int64_t(-uint64_t(x));
  }
  static Value emit(ScalarBuilder &b, Value x) {
    return b.isFloat() ? b.create<arith::NegFOp>(x) : b.sub(b.integer(0), x);
  }
  static Value gradient(GraphBuilder &g, NegOp, Value dy) { return g.neg(dy); }
};

template <> struct ScalarCode<AbsOp> {
  static double evaluate(double x) { return std::fabs(x); }
  static int64_t evaluateInt(int64_t x, IntKind kind) {
    return kind.isUnsigned || x >= 0 ? x : int64_t(-uint64_t(x));
  }
  static Value emit(ScalarBuilder &b, Value x) {
    if (b.isFloat())
      return b.create<math::AbsFOp>(x);
    return b.isUnsigned() ? x : b.max(x, b.sub(b.integer(0), x));
  }
  static Value gradient(GraphBuilder &g, AbsOp op, Value dy) {
    return g.mul(dy, g.make<SignOp>(op.getOperand()));
  }
};

template <> struct ScalarCode<SignOp> : ZeroGradient {
  static double evaluate(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
  static int64_t evaluateInt(int64_t x, IntKind kind) {
    return kind.isUnsigned ? x != 0 : (x > 0) - (x < 0);
  }
  static Value emit(ScalarBuilder &b, Value x) {
    if (b.isUnsigned())
      return b.min(x, b.integer(1));
    if (!b.isFloat())
      return b.max(b.min(x, b.integer(1)), b.integer(-1));
    // NaN and zero fail both comparisons and stay.
    Value zero = b.constant(0);
    Value positive = b.select(b.greater(x, zero), b.constant(1), x);
    return b.select(b.less(x, zero), b.constant(-1), positive);
  }
};

template <> struct ScalarCode<ExpOp> : FloatCode<math::ExpOp> {
  static double evaluate(double x) { return std::exp(x); }
  static Value gradient(GraphBuilder &g, ExpOp op, Value dy) {
    return g.mul(dy, op.getResult());
  }
};

template <> struct ScalarCode<LogOp> : FloatOnly {
  static double evaluate(double x) { return std::log(x); }
  static Value emit(ScalarBuilder &b, Value x) {
    if (b.getType().isF64())
      return b.create<math::LogOp>(x);
    // The polynomial takes denormals for the least normal number: scale them.
    Value isDenormal = b.less(x, b.constant(std::numeric_limits<float>::min()));
    Value scaled = b.select(isDenormal, b.mul(x, b.constant(0x1p24)), x);
    Value log = b.create<math::LogOp>(scaled);
    Value offset = b.select(isDenormal, b.constant(24 * M_LN2), b.constant(0));
    return b.sub(log, offset);
  }
  static Value gradient(GraphBuilder &g, LogOp op, Value dy) {
    return g.div(dy, op.getOperand());
  }
};

template <> struct ScalarCode<Log1pOp> : FloatOnly {
  static double evaluate(double x) { return std::log1p(x); }
  // Upstream makes log(1 + x) of math.log1p. What 1 + x was rounded by is in
  // its distance from 1, too (Goldberg, "What Every Computer Scientist Should
  // Know About Floating-Point Arithmetic", theorem 4).
  static Value emit(ScalarBuilder &b, Value x) {
    Value one = b.constant(1), sum = b.add(one, x);
    Value ratio = b.create<arith::DivFOp>(x, b.sub(sum, one));
    Value log = b.mul(b.create<math::LogOp>(sum), ratio);
    Value infinity = b.constant(std::numeric_limits<double>::infinity());
    return b.select(b.equal(sum, one), x,
                    b.select(b.equal(sum, infinity), sum, log));
  }
  static Value gradient(GraphBuilder &g, Log1pOp op, Value dy) {
    return g.div(dy, g.add(op.getOperand(), 1));
  }
};

template <> struct ScalarCode<Expm1Op> : FloatOnly {
  static double evaluate(double x) { return std::expm1(x); }
  // Upstream makes exp(x) - 1 of math.expm1. Near 0 the first terms of the sum
  // of x^k / k! are exact to the type.
  static Value emit(ScalarBuilder &b, Value x) {
    int terms = b.getType().isF64() ? 17 : 9;
    Value one = b.constant(1), sum = one;
    for (int k = terms; k > 1; --k)
      sum = b.add(one, b.mul(b.mul(x, b.constant(1.0 / k)), sum));
    Value isNear = b.less(b.create<math::AbsFOp>(x), b.constant(0.5));
    return b.select(isNear, b.mul(x, sum),
                    b.sub(b.create<math::ExpOp>(x), one));
  }
  static Value gradient(GraphBuilder &g, Expm1Op op, Value dy) {
    return g.mul(dy, g.add(op.getResult(), 1));
  }
};

template <> struct ScalarCode<SqrtOp> : FloatCode<math::SqrtOp> {
  static double evaluate(double x) { return std::sqrt(x); }
  static Value gradient(GraphBuilder &g, SqrtOp op, Value dy) {
    return g.div(g.mul(dy, 0.5), op.getResult());
  }
};

template <> struct ScalarCode<RsqrtOp> : FloatCode<math::RsqrtOp> {
  static double evaluate(double x) { return 1 / std::sqrt(x); }
  static Value gradient(GraphBuilder &g, RsqrtOp op, Value dy) {
    Value y = op.getResult();
    return g.mul(g.mul(dy, -0.5), g.mul(y, g.square(y)));
  }
};

template <> struct ScalarCode<TanhOp> : FloatCode<math::TanhOp> {
  static double evaluate(double x) { return std::tanh(x); }
  static Value gradient(GraphBuilder &g, TanhOp op, Value dy) {
    Value y = op.getResult();
    return g.mul(dy, g.sub(g.like(y, 1), g.square(y)));
  }
};

template <> struct ScalarCode<LogisticOp> : FloatOnly {
  static double evaluate(double x) { return 1 / (1 + std::exp(-x)); }
  static Value emit(ScalarBuilder &b, Value x) {
    Value e = b.create<math::ExpOp>(b.create<arith::NegFOp>(x));
    return b.create<arith::DivFOp>(b.constant(1), b.add(b.constant(1), e));
  }
  static Value gradient(GraphBuilder &g, LogisticOp op, Value dy) {
    Value y = op.getResult();
    return g.mul(dy, g.mul(y, g.sub(g.like(y, 1), y)));
  }
};

template <> struct ScalarCode<ErfOp> : FloatCode<math::ErfOp> {
  static double evaluate(double x) { return std::erf(x); }
  static Value gradient(GraphBuilder &g, ErfOp op, Value dy) {
    Value e = g.exp(g.neg(g.square(op.getOperand())));
    return g.mul(dy, g.mul(e, 2 / std::sqrt(M_PI)));
  }
};

template <> struct ScalarCode<ReluOp> {
  static double evaluate(double x) { return x < 0 ? 0 : x; }
  static int64_t evaluateInt(int64_t x, IntKind kind) {
    return !kind.isUnsigned && x < 0 ? 0 : x;
  }
  static Value emit(ScalarBuilder &b, Value x) {
    return b.select(b.less(x, b.constant(0)), b.constant(0), x);
  }
  // From the result, so that the operand need not be kept.
  static Value gradient(GraphBuilder &g, ReluOp op, Value dy) {
    Value zero = g.zeros(dy.getType());
    return g.select(g.compare(ComparePredicate::GT, op.getResult(), zero), dy,
                    zero);
  }
};

template <> struct ScalarCode<SinOp> : FloatCode<math::SinOp> {
  static double evaluate(double x) { return std::sin(x); }
  static Value gradient(GraphBuilder &g, SinOp op, Value dy) {
    return g.mul(dy, g.make<CosOp>(op.getOperand()));
  }
};

template <> struct ScalarCode<CosOp> : FloatCode<math::CosOp> {
  static double evaluate(double x) { return std::cos(x); }
  static Value gradient(GraphBuilder &g, CosOp op, Value dy) {
    return g.neg(g.mul(dy, g.make<SinOp>(op.getOperand())));
  }
};

template <> struct ScalarCode<TanOp> : FloatCode<math::TanOp> {
  static double evaluate(double x) { return std::tan(x); }
  static Value gradient(GraphBuilder &g, TanOp op, Value dy) {
    return g.mul(dy, g.add(g.square(op.getResult()), 1));
  }
};

template <> struct ScalarCode<AsinOp> : FloatCode<math::AsinOp> {
  static double evaluate(double x) { return std::asin(x); }
  static Value gradient(GraphBuilder &g, AsinOp op, Value dy) {
    Value x = op.getOperand();
    return g.mul(dy, g.rsqrt(g.sub(g.like(x, 1), g.square(x))));
  }
};

template <> struct ScalarCode<AcosOp> : FloatCode<math::AcosOp> {
  static double evaluate(double x) { return std::acos(x); }
  static Value gradient(GraphBuilder &g, AcosOp op, Value dy) {
    Value x = op.getOperand();
    return g.neg(g.mul(dy, g.rsqrt(g.sub(g.like(x, 1), g.square(x)))));
  }
};

template <> struct ScalarCode<AtanOp> : FloatCode<math::AtanOp> {
  static double evaluate(double x) { return std::atan(x); }
  static Value gradient(GraphBuilder &g, AtanOp op, Value dy) {
    return g.div(dy, g.add(g.square(op.getOperand()), 1));
  }
};

template <> struct ScalarCode<SinhOp> : FloatCode<math::SinhOp> {
  static double evaluate(double x) { return std::sinh(x); }
  static Value gradient(GraphBuilder &g, SinhOp op, Value dy) {
    return g.mul(dy, g.make<CoshOp>(op.getOperand()));
  }
};

template <> struct ScalarCode<CoshOp> : FloatCode<math::CoshOp> {
  static double evaluate(double x) { return std::cosh(x); }
  static Value gradient(GraphBuilder &g, CoshOp op, Value dy) {
    return g.mul(dy, g.make<SinhOp>(op.getOperand()));
  }
};

template <> struct ScalarCode<AsinhOp> : FloatCode<math::AsinhOp> {
  static double evaluate(double x) { return std::asinh(x); }
  static Value gradient(GraphBuilder &g, AsinhOp op, Value dy) {
    return g.mul(dy, g.rsqrt(g.add(g.square(op.getOperand()), 1)));
  }
};

template <> struct ScalarCode<AcoshOp> : FloatCode<math::AcoshOp> {
  static double evaluate(double x) { return std::acosh(x); }
  static Value gradient(GraphBuilder &g, AcoshOp op, Value dy) {
    return g.mul(dy, g.rsqrt(g.add(g.square(op.getOperand()), -1)));
  }
};

template <> struct ScalarCode<AtanhOp> : FloatCode<math::AtanhOp> {
  static double evaluate(double x) { return std::atanh(x); }
  static Value gradient(GraphBuilder &g, AtanhOp op, Value dy) {
    Value x = op.getOperand();
    return g.div(dy, g.sub(g.like(x, 1), g.square(x)));
  }
};

template <>
struct ScalarCode<FloorOp> : FloatCode<math::FloorOp>, ZeroGradient {
  static double evaluate(double x) { return std::floor(x); }
};

template <> struct ScalarCode<CeilOp> : FloatCode<math::CeilOp>, ZeroGradient {
  static double evaluate(double x) { return std::ceil(x); }
};

template <>
struct ScalarCode<RoundOp> : FloatCode<math::RoundEvenOp>, ZeroGradient {
  static double evaluate(double x) { return std::nearbyint(x); }
};

template <> struct ScalarCode<StopGradientOp> : ZeroGradient {
  static constexpr bool isLinear = true;
  static double evaluate(double x) { return x; }
  static int64_t evaluateInt(int64_t x, IntKind) { return x; }
  static Value emit(ScalarBuilder &, Value x) { return x; }
};

template <> struct ScalarCode<NotOp> : IntOnly {
  static int64_t evaluateInt(int64_t x, IntKind) { return ~x; }
  static Value emit(ScalarBuilder &b, Value x) {
    return b.create<arith::XOrIOp>(x, b.integer(-1));
  }
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHMATHUNARY_H
