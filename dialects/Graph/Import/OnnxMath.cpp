//===- OnnxMath.cpp - Element-wise ONNX ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/Import/OnnxNode.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

template <typename OpTy> static LogicalResult importUnary(OnnxNode &n) {
  return n.out(n.unary<OpTy>(n.in(0)));
}

template <typename OpTy> static LogicalResult importBinary(OnnxNode &n) {
  return n.out(n.binary<OpTy>(n.in(0), n.in(1)));
}

/// The second operand as it was until opset 6: repeated only with `broadcast`,
/// its dims at `axis` of the first's.
static Value placeSecond(OnnxNode &n) {
  Value x = n.in(0), y = n.in(1);
  bool broadcasts = n.intAttr("broadcast", 0) != 0, placed = n.hasAttr("axis");
  int64_t axis = n.intAttr("axis", 0), rank = n.rankOf(x);
  if (!broadcasts && n.shapeOf(x) != n.shapeOf(y)) {
    (void)n.fail("the shapes differ, and it does not broadcast");
    return {};
  }
  if (!broadcasts || !placed || n.rankOf(y) == 0)
    return y;
  FailureOr<int64_t> at = n.dim(axis, rank);
  if (failed(at) || *at + n.rankOf(y) > rank) {
    (void)n.fail("axis " + llvm::Twine(axis) + " leaves no room");
    return {};
  }
  SmallVector<int64_t> shape(n.shapeOf(y));
  shape.append(rank - *at - n.rankOf(y), 1);
  return n.reshape(y, shape);
}

template <typename OpTy> static LogicalResult importOldBinary(OnnxNode &n) {
  Value y = placeSecond(n);
  return y ? n.out(n.binary<OpTy>(n.in(0), y)) : failure();
}

template <ComparePredicate predicate>
static LogicalResult importOldCompare(OnnxNode &n) {
  Value y = placeSecond(n);
  return y ? n.out(n.compare(predicate, n.in(0), y)) : failure();
}

template <typename OpTy> static LogicalResult importVariadic(OnnxNode &n) {
  Value result = n.in(0);
  for (unsigned i = 1; i < n.numInputs(); ++i)
    result = n.binary<OpTy>(result, n.in(i));
  return n.out(result);
}

template <ComparePredicate predicate>
static LogicalResult importCompare(OnnxNode &n) {
  return n.out(n.compare(predicate, n.in(0), n.in(1)));
}

/// Sign and magnitude of what has no sign.
template <typename OpTy> static LogicalResult importAbs(OnnxNode &n) {
  bool isUnsigned = n.elementOf(n.in(0)).isUnsignedInteger();
  return n.out(isUnsigned ? n.in(0) : n.unary<OpTy>(n.in(0)));
}

static LogicalResult importReciprocal(OnnxNode &n) {
  return n.out(n.div(n.splat(1, n.in(0)), n.in(0)));
}

static LogicalResult importMean(OnnxNode &n) {
  Value sum = n.in(0);
  for (unsigned i = 1; i < n.numInputs(); ++i)
    sum = n.add(sum, n.in(i));
  return n.out(n.div(sum, double(n.numInputs())));
}

/// `fmod`: C's remainder; else the divisor's sign, as in Python.
static LogicalResult importMod(OnnxNode &n) {
  bool cStyle = n.intAttr("fmod", 0) != 0;
  Value x = n.in(0), y = n.in(1);
  Value rem = n.binary<RemOp>(x, y);
  if (cStyle || n.elementOf(x).isUnsignedInteger())
    return n.out(rem);
  // By a positive number without a choice, so that it is seen to be below it.
  if (auto type = dyn_cast<IntegerType>(n.elementOf(x)))
    if (std::optional<double> number = findSplat(y);
        number && *number > 0 &&
        2 * *number <= std::exp2(double(type.getWidth()) - 1))
      return n.out(n.binary<RemOp>(n.add(rem, y), y));
  Value zero = n.scalar(0, n.elementOf(x));
  Value wrong = n.compare(ComparePredicate::NE,
                          n.compare(ComparePredicate::LT, rem, zero),
                          n.compare(ComparePredicate::LT, y, zero));
  wrong = n.binary<AndOp>(wrong, n.compare(ComparePredicate::NE, rem, zero));
  return n.out(n.select(wrong, n.add(rem, y), rem));
}

static LogicalResult importPow(OnnxNode &n) {
  Value x = n.in(0), y = n.in(1);
  Type type = n.elementOf(x);
  // An integer to a fractional power is computed in floating point.
  if (!n.isFloat(x) && n.isFloat(y)) {
    Type wide = Float64Type::get(n.getContext());
    return n.out(n.convert(
        n.binary<PowOp>(n.convert(x, wide), n.convert(y, wide)), type));
  }
  return n.out(n.binary<PowOp>(x, n.convert(y, type)));
}

static LogicalResult importBitShift(OnnxNode &n) {
  std::string direction = n.textAttr("direction", "");
  if (direction == "LEFT")
    return importBinary<ShiftLeftOp>(n);
  if (direction == "RIGHT") {
    Value x = n.in(0), y = n.in(1);
    if (n.elementOf(x).isUnsignedInteger())
      return n.out(n.binary<ShiftRightOp>(x, y));
    // Signed integers keep their sign: ~(~x >> y) for negative ones.
    Value zero = n.scalar(0, n.elementOf(x));
    Value negative = n.compare(ComparePredicate::LT, x, zero);
    Value bits = n.select(negative, n.unary<NotOp>(x), x);
    Value shifted = n.binary<ShiftRightOp>(bits, y);
    return n.out(n.select(negative, n.unary<NotOp>(shifted), shifted));
  }
  return n.fail("direction must be LEFT or RIGHT, not '" + direction + "'");
}

static LogicalResult importWhere(OnnxNode &n) {
  return n.out(n.select(n.in(0), n.in(1), n.in(2)));
}

static LogicalResult importClip(OnnxNode &n) {
  Value x = n.in(0), low, high;
  if (n.opset < 11) {
    // The attributes' defaults are the type's limits: no bound.
    bool hasLow = n.hasAttr("min"), hasHigh = n.hasAttr("max");
    if (hasLow)
      low = n.scalar(n.floatAttr("min", 0), n.elementOf(x));
    if (hasHigh)
      high = n.scalar(n.floatAttr("max", 0), n.elementOf(x));
  } else {
    low = n.in(1);
    high = n.in(2);
  }
  for (Value bound : {low, high})
    if (bound && n.typeOf(bound).getNumElements() != 1)
      return n.fail("a bound must be one number");
  if (low)
    x = n.maximum(x, n.reshape(low, {}));
  if (high)
    x = n.minimum(x, n.reshape(high, {}));
  return n.out(x);
}

static LogicalResult importCast(OnnxNode &n) {
  n.ignore({"saturate", "round_mode"}); // of 8-bit floats
  Type type = n.elementType(n.intAttr("to", 0));
  return type ? n.out(n.convert(n.in(0), type)) : failure();
}

/// Until opset 5 the type is a name.
static LogicalResult importOldCast(OnnxNode &n) {
  static constexpr std::pair<const char *, int64_t> types[] = {
      {"FLOAT", 1},    {"UINT8", 2},   {"INT8", 3},    {"UINT16", 4},
      {"INT16", 5},    {"INT32", 6},   {"INT64", 7},   {"BOOL", 9},
      {"FLOAT16", 10}, {"DOUBLE", 11}, {"UINT32", 12}, {"UINT64", 13}};
  std::string name = n.textAttr("to", "");
  for (auto [known, number] : types)
    if (StringRef(name).equals_insensitive(known)) {
      Type type = n.elementType(number);
      return type ? n.out(n.convert(n.in(0), type)) : failure();
    }
  return n.fail("elements of '" + name + "' are not supported");
}

/// 1 - erf(x), an op of TensorFlow's that some exporters leave.
static LogicalResult importErfc(OnnxNode &n) {
  return n.out(n.sub(n.splat(1, n.in(0)), n.unary<ErfOp>(n.in(0))));
}

static LogicalResult importCastLike(OnnxNode &n) {
  n.ignore({"saturate", "round_mode"});
  return n.out(n.convert(n.in(0), n.elementOf(n.in(1))));
}

static LogicalResult importIsInf(OnnxNode &n) {
  bool positive = n.intAttr("detect_positive", 1) != 0;
  bool negative = n.intAttr("detect_negative", 1) != 0;
  return n.out(n.make<IsInfOp>(
      {n.in(0)}, {n.flag("positive", positive), n.flag("negative", negative)}));
}

static LogicalResult importNotOf(OnnxNode &n) {
  return n.out(n.unary<NotOp>(n.in(0)));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxMathOps() {
  static const OnnxOp rows[] = {
      {"Neg", 1, 1, 1, importUnary<NegOp>},
      {"Abs", 1, 1, 1, importAbs<AbsOp>},
      {"Sign", 9, 1, 1, importUnary<SignOp>},
      {"Exp", 1, 1, 1, importUnary<ExpOp>},
      {"Log", 1, 1, 1, importUnary<LogOp>},
      {"Sqrt", 1, 1, 1, importUnary<SqrtOp>},
      {"Reciprocal", 1, 1, 1, importReciprocal},
      {"Erf", 9, 1, 1, importUnary<ErfOp>},
      {"Erfc", 0, 1, 1, importErfc},
      {"Erfc", 0, 1, 1, importErfc, nullptr, "com.microsoft"},
      {"Erfc", 0, 1, 1, importErfc, nullptr, "ai.onnx.converters.tensorflow"},
      {"Sin", 7, 1, 1, importUnary<SinOp>},
      {"Cos", 7, 1, 1, importUnary<CosOp>},
      {"Tan", 7, 1, 1, importUnary<TanOp>},
      {"Asin", 7, 1, 1, importUnary<AsinOp>},
      {"Acos", 7, 1, 1, importUnary<AcosOp>},
      {"Atan", 7, 1, 1, importUnary<AtanOp>},
      {"Sinh", 9, 1, 1, importUnary<SinhOp>},
      {"Cosh", 9, 1, 1, importUnary<CoshOp>},
      {"Asinh", 9, 1, 1, importUnary<AsinhOp>},
      {"Acosh", 9, 1, 1, importUnary<AcoshOp>},
      {"Atanh", 9, 1, 1, importUnary<AtanhOp>},
      {"Floor", 1, 1, 1, importUnary<FloorOp>},
      {"Ceil", 1, 1, 1, importUnary<CeilOp>},
      {"Round", 11, 1, 1, importUnary<RoundOp>},
      {"Not", 1, 1, 1, importNotOf},
      {"BitwiseNot", 18, 1, 1, importNotOf},
      {"Add", 1, 2, 2, importOldBinary<AddOp>},
      {"Add", 7, 2, 2, importBinary<AddOp>},
      {"Sub", 1, 2, 2, importOldBinary<SubOp>},
      {"Sub", 7, 2, 2, importBinary<SubOp>},
      {"Mul", 1, 2, 2, importOldBinary<MulOp>},
      {"Mul", 7, 2, 2, importBinary<MulOp>},
      {"Div", 1, 2, 2, importOldBinary<DivOp>},
      {"Div", 7, 2, 2, importBinary<DivOp>},
      {"Pow", 1, 2, 2, importOldBinary<PowOp>},
      {"Pow", 7, 2, 2, importPow},
      {"Mod", 10, 2, 2, importMod},
      {"And", 1, 2, 2, importOldBinary<AndOp>},
      {"And", 7, 2, 2, importBinary<AndOp>},
      {"Or", 1, 2, 2, importOldBinary<OrOp>},
      {"Or", 7, 2, 2, importBinary<OrOp>},
      {"Xor", 1, 2, 2, importOldBinary<XorOp>},
      {"Xor", 7, 2, 2, importBinary<XorOp>},
      {"BitwiseAnd", 18, 2, 2, importBinary<AndOp>},
      {"BitwiseOr", 18, 2, 2, importBinary<OrOp>},
      {"BitwiseXor", 18, 2, 2, importBinary<XorOp>},
      {"BitShift", 11, 2, 2, importBitShift},
      {"Equal", 1, 2, 2, importOldCompare<ComparePredicate::EQ>},
      {"Equal", 7, 2, 2, importCompare<ComparePredicate::EQ>},
      {"Less", 1, 2, 2, importOldCompare<ComparePredicate::LT>},
      {"Less", 7, 2, 2, importCompare<ComparePredicate::LT>},
      {"Greater", 1, 2, 2, importOldCompare<ComparePredicate::GT>},
      {"Greater", 7, 2, 2, importCompare<ComparePredicate::GT>},
      {"LessOrEqual", 12, 2, 2, importCompare<ComparePredicate::LE>},
      {"GreaterOrEqual", 12, 2, 2, importCompare<ComparePredicate::GE>},
      {"Max", 1, 1, kManyInputs, importVariadic<MaxOp>},
      {"Min", 1, 1, kManyInputs, importVariadic<MinOp>},
      {"Sum", 1, 1, kManyInputs, importVariadic<AddOp>},
      {"Mean", 1, 1, kManyInputs, importMean},
      {"Where", 9, 3, 3, importWhere},
      {"Clip", 1, 1, 3, importClip},
      {"Cast", 1, 1, 1, importOldCast},
      {"Cast", 6, 1, 1, importCast},
      {"CastLike", 15, 2, 2, importCastLike},
      {"IsNaN", 9, 1, 1, importUnary<IsNanOp>},
      {"IsInf", 10, 1, 1, importIsInf},
  };
  return rows;
}
