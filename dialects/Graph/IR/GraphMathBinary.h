//===- GraphMathBinary.h - Element-wise ops of two operands -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One struct an op, as in GraphMathUnary.h; `gradient` gives the cotangent of
// operand 0 or 1. Private to GraphMath.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHMATHBINARY_H
#define DIALECTS_GRAPH_IR_GRAPHMATHBINARY_H

#include "dialects/Graph/IR/GraphMathUnary.h"
#include <limits>

namespace mlir::dist::graph {

using LinearSets = SmallVector<SmallVector<unsigned>>;

template <> struct ScalarCode<AddOp> {
  static LinearSets linear() { return {{0, 1}}; }
  static double evaluate(double x, double y) { return x + y; }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind) {
    return int64_t(uint64_t(x) + uint64_t(y));
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) { return b.add(x, y); }
  static Value gradient(GraphBuilder &, AddOp, Value dy, unsigned) {
    return dy;
  }
};

template <> struct ScalarCode<SubOp> {
  static LinearSets linear() { return {{0, 1}}; }
  static double evaluate(double x, double y) { return x - y; }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind) {
    return int64_t(uint64_t(x) - uint64_t(y));
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) { return b.sub(x, y); }
  static Value gradient(GraphBuilder &g, SubOp, Value dy, unsigned operand) {
    return operand == 0 ? dy : g.neg(dy);
  }
};

template <> struct ScalarCode<MulOp> {
  static LinearSets linear() { return {{0}, {1}}; }
  static double evaluate(double x, double y) { return x * y; }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind) {
    return int64_t(uint64_t(x) * uint64_t(y));
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) { return b.mul(x, y); }
  static Value gradient(GraphBuilder &g, MulOp op, Value dy, unsigned operand) {
    return g.mul(dy, operand == 0 ? op.getRhs() : op.getLhs());
  }
};

/// Division's two traps, zero and the overflow of MIN / -1, kept away from the
/// scalar op: gives a divisor that is neither, and what to do about each.
struct SafeDivisor {
  SafeDivisor(ScalarBuilder &b, Value y) {
    isZero = b.equal(y, b.integer(0));
    Value unsafe = isZero;
    if (!b.isUnsigned()) {
      isMinusOne = b.equal(y, b.integer(-1));
      unsafe = b.create<arith::OrIOp>(isZero, isMinusOne);
    }
    divisor = b.select(unsafe, b.integer(1), y);
  }
  Value isZero, isMinusOne, divisor;
};

template <> struct ScalarCode<DivOp> {
  static LinearSets linear() { return {{0}}; }
  static double evaluate(double x, double y) { return x / y; }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind kind) {
    if (y == 0)
      return 0;
    if (kind.isUnsigned)
      return int64_t(uint64_t(x) / uint64_t(y));
    return y == -1 ? int64_t(-uint64_t(x)) : x / y;
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) {
    if (b.isFloat())
      return b.create<arith::DivFOp>(x, y);
    SafeDivisor safe(b, y);
    Value zero = b.integer(0);
    if (b.isUnsigned())
      return b.select(safe.isZero, zero,
                      b.create<arith::DivUIOp>(x, safe.divisor));
    Value quotient = b.create<arith::DivSIOp>(x, safe.divisor);
    quotient = b.select(safe.isMinusOne, b.sub(zero, x), quotient);
    return b.select(safe.isZero, zero, quotient);
  }
  static Value gradient(GraphBuilder &g, DivOp op, Value dy, unsigned operand) {
    if (operand == 0)
      return g.div(dy, op.getRhs());
    return g.neg(g.mul(dy, g.div(op.getResult(), op.getRhs())));
  }
};

template <> struct ScalarCode<RemOp> {
  static LinearSets linear() { return {}; }
  static double evaluate(double x, double y) { return std::fmod(x, y); }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind kind) {
    if (y == 0)
      return 0;
    if (kind.isUnsigned)
      return int64_t(uint64_t(x) % uint64_t(y));
    return y == -1 ? 0 : x % y;
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) {
    if (b.isFloat())
      return b.create<arith::RemFOp>(x, y);
    SafeDivisor safe(b, y);
    // A divisor made 1 leaves remainder 0, as wanted for both traps.
    return b.pick<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(x,
                                                                 safe.divisor);
  }
  static Value gradient(GraphBuilder &g, RemOp op, Value dy, unsigned operand) {
    if (operand == 0)
      return dy;
    // rem = x - y * trunc(x / y).
    Value whole = g.div(g.sub(op.getLhs(), op.getResult()), op.getRhs());
    return g.neg(g.mul(dy, whole));
  }
};

template <> struct ScalarCode<PowOp> {
  static LinearSets linear() { return {}; }
  static double evaluate(double x, double y) { return std::pow(x, y); }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind kind) {
    if (!kind.isUnsigned && y < 0)
      return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    uint64_t result = 1, base = uint64_t(x);
    for (uint64_t n = kind.bits(y); n != 0; n >>= 1, base *= base)
      if (n & 1)
        result *= base;
    return int64_t(result);
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) {
    if (b.isFloat())
      return b.create<math::PowFOp>(x, y);
    // Square and multiply over the exponent's bits.
    Value one = b.integer(1), zero = b.integer(0);
    auto loop = scf::ForOp::create(
        b.getBuilder(), b.getLoc(), b.index(0), b.index(b.getWidth()),
        b.index(1), ValueRange{one, x, y},
        [&](OpBuilder &builder, Location loc, Value, ValueRange state) {
          ScalarBuilder s(builder, loc, b.getElementType());
          Value odd = s.create<arith::AndIOp>(state[2], one);
          Value isOdd =
              s.create<arith::CmpIOp>(arith::CmpIPredicate::ne, odd, zero);
          Value product = s.select(isOdd, s.mul(state[0], state[1]), state[0]);
          Value square = s.mul(state[1], state[1]);
          // Of i1 a shift by the width would be poison; one round ends it.
          Value rest = s.getWidth() == 1
                           ? zero
                           : s.create<arith::ShRUIOp>(state[2], one);
          scf::YieldOp::create(builder, loc, ValueRange{product, square, rest});
        });
    Value result = loop.getResult(0);
    if (b.isUnsigned())
      return result;
    Value minusOne = b.integer(-1);
    Value isOdd = b.equal(b.create<arith::AndIOp>(y, one), one);
    Value inverse = b.select(
        b.equal(x, one), one,
        b.select(b.equal(x, minusOne), b.select(isOdd, minusOne, one), zero));
    return b.select(b.less(y, zero), inverse, result);
  }
  static Value gradient(GraphBuilder &g, PowOp op, Value dy, unsigned operand) {
    Value x = op.getLhs(), y = op.getRhs();
    std::optional<double> exponent = findSplat(y);
    if (operand == 0) {
      if (exponent) {
        // The exponent 0 would give 0 * x^-1: NaN at 0.
        if (*exponent == 0)
          return {};
        Value power = *exponent == 1   ? Value()
                      : *exponent == 2 ? x
                                       : g.pow(x, g.like(x, *exponent - 1));
        Value slope = power ? g.mul(power, *exponent) : g.like(x, 1);
        return g.mul(dy, slope);
      }
      Value zero = g.like(y, 0);
      Value slope = g.mul(y, g.pow(x, g.add(y, -1)));
      Value isConstant = g.compare(ComparePredicate::EQ, y, zero);
      return g.mul(dy, g.select(isConstant, zero, slope));
    }
    if (exponent)
      return {};
    // x^y grows with y only where x > 0; log of anything else would be NaN.
    Value zero = g.like(x, 0);
    Value isPositive = g.compare(ComparePredicate::GT, x, zero);
    Value slope =
        g.mul(op.getResult(), g.log(g.select(isPositive, x, g.like(x, 1))));
    return g.mul(dy, g.select(isPositive, slope, zero));
  }
};

/// max and min: the cotangent goes to the operand that was chosen, lhs first.
template <typename OpT>
static Value differentiateChoice(GraphBuilder &g, OpT op, Value dy,
                                 unsigned operand, ComparePredicate lhsWins) {
  Value chosen = g.compare(lhsWins, op.getLhs(), op.getRhs());
  Value zero = g.like(dy, 0);
  return operand == 0 ? g.select(chosen, dy, zero) : g.select(chosen, zero, dy);
}

template <> struct ScalarCode<MaxOp> {
  static LinearSets linear() { return {}; }
  static double evaluate(double x, double y) {
    return std::isnan(x) || std::isnan(y)
               ? std::numeric_limits<double>::quiet_NaN()
               : std::fmax(x, y);
  }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind kind) {
    return kind.less(x, y) ? y : x;
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) { return b.max(x, y); }
  static Value gradient(GraphBuilder &g, MaxOp op, Value dy, unsigned operand) {
    return differentiateChoice(g, op, dy, operand, ComparePredicate::GE);
  }
};

template <> struct ScalarCode<MinOp> {
  static LinearSets linear() { return {}; }
  static double evaluate(double x, double y) {
    return std::isnan(x) || std::isnan(y)
               ? std::numeric_limits<double>::quiet_NaN()
               : std::fmin(x, y);
  }
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind kind) {
    return kind.less(y, x) ? y : x;
  }
  static Value emit(ScalarBuilder &b, Value x, Value y) { return b.min(x, y); }
  static Value gradient(GraphBuilder &g, MinOp op, Value dy, unsigned operand) {
    return differentiateChoice(g, op, dy, operand, ComparePredicate::LE);
  }
};

template <typename ScalarOp> struct BitCode : IntOnly {
  static LinearSets linear() { return {}; }
  static Value emit(ScalarBuilder &b, Value x, Value y) {
    return b.create<ScalarOp>(x, y);
  }
};
template <> struct ScalarCode<AndOp> : BitCode<arith::AndIOp> {
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind) { return x & y; }
};
template <> struct ScalarCode<OrOp> : BitCode<arith::OrIOp> {
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind) { return x | y; }
};
template <> struct ScalarCode<XorOp> : BitCode<arith::XOrIOp> {
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind) { return x ^ y; }
};

/// Shifts by the width or more (as an unsigned number) give 0, where the scalar
/// op is undefined.
template <typename ScalarOp> struct ShiftCode : IntOnly {
  static LinearSets linear() { return {}; }
  static Value emit(ScalarBuilder &b, Value x, Value y) {
    Value inside = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, y,
                                           b.integer(b.getWidth()));
    if (b.getWidth() == 1)
      inside = b.equal(y, b.integer(0));
    Value amount = b.select(inside, y, b.integer(0));
    return b.select(inside, b.create<ScalarOp>(x, amount), b.integer(0));
  }
};
template <> struct ScalarCode<ShiftLeftOp> : ShiftCode<arith::ShLIOp> {
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind kind) {
    return kind.bits(y) >= kind.width ? 0 : int64_t(uint64_t(x) << y);
  }
};
template <> struct ScalarCode<ShiftRightOp> : ShiftCode<arith::ShRUIOp> {
  static int64_t evaluateInt(int64_t x, int64_t y, IntKind kind) {
    return kind.bits(y) >= kind.width ? 0 : int64_t(kind.bits(x) >> y);
  }
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHMATHBINARY_H
