//===- TensorFlowMath.cpp - Arithmetic of TensorFlow --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowNode.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using Node = TensorFlowNode;

template <typename OpTy> static LogicalResult importUnary(Node &n) {
  return n.result(n.unary<OpTy>(n.in(0)));
}
template <typename OpTy> static LogicalResult importBinary(Node &n) {
  return n.result(n.binary<OpTy>(n.in(0), n.in(1)));
}
template <ComparePredicate predicate>
static LogicalResult importCompare(Node &n) {
  return n.result(n.compare(predicate, n.in(0), n.in(1)));
}

static LogicalResult importSame(Node &n) { return n.give(0, n.item(0)); }

/// ONNX's op of that name, with its standard attributes.
template <const char *name> static LogicalResult importAs(Node &n) {
  return n.result(n.onnx(name, n.allInputs()));
}
#define AS(NAME) static constexpr char k##NAME[] = #NAME
AS(Abs);
AS(Selu);
AS(Softplus);
AS(Softsign);
AS(Pow);
AS(Where);
#undef AS

static LogicalResult importL2Loss(Node &n) {
  Value square = n.mul(n.in(0), n.in(0));
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(n.in(0))));
  return n.result(n.mul(all.empty() ? square
                                    : n.reduce(Reduction::Sum, square, all,
                                               /*keepDims=*/false),
                        0.5));
}
/// 0 where x is, whatever y is.
template <typename OpTy> static LogicalResult importWithZero(Node &n) {
  Value x = n.in(0), y = n.in(1);
  Value isZero = n.compare(ComparePredicate::EQ, x, n.splat(0, x));
  Value of = std::is_same_v<OpTy, LogOp> ? n.mul(x, n.log(y)) : n.div(x, y);
  if (!of)
    return failure();
  return n.result(
      n.select(n.broadcastTo(isZero, n.shapeOf(of)), n.splat(0, of), of));
}

static LogicalResult importAddN(Node &n) {
  Value sum = n.in(0);
  for (unsigned i = 1; i < n.numInputs(); ++i)
    sum = n.add(sum, n.in(i));
  return n.result(sum);
}

static LogicalResult importSquare(Node &n) {
  return n.result(n.mul(n.in(0), n.in(0)));
}
static LogicalResult importSquaredDifference(Node &n) {
  Value difference = n.sub(n.in(0), n.in(1));
  return n.result(n.mul(difference, difference));
}
static LogicalResult importReciprocal(Node &n) {
  return n.result(n.div(n.splat(1, n.in(0)), n.in(0)));
}
static LogicalResult importErfc(Node &n) {
  return n.result(n.onnx("Erfc", {n.in(0)}));
}

/// x / y, where integers become floats.
static LogicalResult importRealDiv(Node &n) {
  Type f32 = Float32Type::get(n.getContext());
  if (n.isFloat(n.in(0)))
    return n.result(n.div(n.in(0), n.in(1)));
  return n.result(n.div(n.convert(n.in(0), f32), n.convert(n.in(1), f32)));
}

static LogicalResult importDivNoNan(Node &n) {
  Value zero = n.splat(0, n.in(1));
  Value isZero = n.compare(ComparePredicate::EQ, n.in(1), zero);
  // The derivative must not be NaN either: what is divided by is none.
  Value safe = n.select(isZero, n.splat(1, n.in(1)), n.in(1));
  Value quotient = n.div(n.in(0), safe);
  if (!quotient)
    return failure();
  return n.result(n.select(n.broadcastTo(isZero, n.shapeOf(quotient)),
                           n.splat(0, quotient), quotient));
}

/// Quotient rounded down.
static Value floorDiv(Node &n, Value x, Value y) {
  Value quotient = n.div(x, y);
  if (!quotient || n.isFloat(quotient))
    return quotient ? n.unary<FloorOp>(quotient) : Value();
  Value rest = n.sub(x, n.mul(quotient, y));
  Value zero = n.splat(0, rest);
  Value isOff = n.binary<AndOp>(
      n.compare(ComparePredicate::NE, rest, zero),
      n.binary<XorOp>(
          n.compare(ComparePredicate::LT, rest, zero),
          n.compare(ComparePredicate::LT, y, n.scalar(0, n.elementOf(y)))));
  return n.sub(quotient, n.convert(isOff, n.elementOf(quotient)));
}
static LogicalResult importFloorDiv(Node &n) {
  return n.result(floorDiv(n, n.in(0), n.in(1)));
}
static LogicalResult importFloorMod(Node &n) {
  return n.result(
      n.sub(n.in(0), n.mul(floorDiv(n, n.in(0), n.in(1)), n.in(1))));
}

static LogicalResult importIsFinite(Node &n) {
  return n.result(n.unary<NotOp>(
      n.binary<OrOp>(n.unary<IsNanOp>(n.in(0)), n.unary<IsInfOp>(n.in(0)))));
}

static LogicalResult importRelu6(Node &n) {
  return n.result(n.onnx("Clip", {n.in(0), n.scalar(0, n.elementOf(n.in(0))),
                                  n.scalar(6, n.elementOf(n.in(0)))}));
}
static LogicalResult importClip(Node &n) {
  return n.result(n.minimum(n.maximum(n.in(0), n.in(1)), n.in(2)));
}
static LogicalResult importLeakyRelu(Node &n) {
  return n.result(n.onnx("LeakyRelu", {n.in(0)},
                         {onnxFloat("alpha", n.getFloat("alpha", 0.2))}));
}
static LogicalResult importElu(Node &n) {
  return n.result(n.onnx("Elu", {n.in(0)}, {onnxFloat("alpha", 1)}));
}

template <typename OpTy> static LogicalResult importSoftmax(Node &n) {
  if (n.rankOf(n.in(0)) < 1)
    return n.fail("its input must have a dim");
  return n.result(
      n.make<OpTy>({n.in(0)}, {n.i64("axis", n.rankOf(n.in(0)) - 1)}));
}

static LogicalResult importCast(Node &n) {
  Type type = n.getType("DstT");
  if (!type)
    return failure();
  Value x = n.in(0);
  if (!type.isInteger(1))
    return n.result(n.convert(x, type));
  return n.result(n.elementOf(x).isInteger(1)
                      ? x
                      : n.compare(ComparePredicate::NE, x, n.splat(0, x)));
}

/// As SelectV2, but a vector chooses rows.
static LogicalResult importOldSelect(Node &n) {
  Value condition = n.in(0);
  ArrayRef<int64_t> shape = n.shapeOf(n.in(1));
  if (n.rankOf(condition) == 1 && shape.size() > 1) {
    SmallVector<int64_t> column(shape.size(), 1);
    column[0] = n.shapeOf(condition)[0];
    condition = n.reshape(condition, column);
  }
  return n.result(n.onnx("Where", {condition, n.in(1), n.in(2)}));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<int64_t>> reducedDims(Node &n) {
  FailureOr<SmallVector<int64_t>> given = n.numbers(1);
  if (failed(given))
    return failure();
  return n.dims(*given, n.rankOf(n.in(0)));
}
static bool keepsDims(Node &n) {
  return n.getBool("keep_dims", n.getBool("keepdims", false));
}

template <Reduction kind> static LogicalResult importReduce(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = reducedDims(n);
  if (failed(dims))
    return failure();
  if (dims->empty())
    return n.result(n.in(0));
  return n.result(n.reduce(kind, n.in(0), *dims, keepsDims(n)));
}
static LogicalResult importMean(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = reducedDims(n);
  if (failed(dims))
    return failure();
  if (dims->empty())
    return n.result(n.in(0));
  return n.result(n.mean(n.in(0), *dims, keepsDims(n)));
}
/// `All` is the smallest of bits, `Any` the largest.
template <Reduction kind> static LogicalResult importBits(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = reducedDims(n);
  if (failed(dims))
    return failure();
  if (dims->empty())
    return n.result(n.in(0));
  Type i32 = IntegerType::get(n.getContext(), 32);
  Value reduced = n.reduce(kind, n.convert(n.in(0), i32), *dims, keepsDims(n));
  if (!reduced)
    return failure();
  return n.result(
      n.compare(ComparePredicate::NE, reduced, n.splat(0, reduced)));
}

template <typename OpTy> static LogicalResult importArg(Node &n) {
  FailureOr<SmallVector<int64_t>> axis = n.numbers(1);
  if (failed(axis))
    return failure();
  if (axis->size() != 1)
    return n.fail("its axis must be one number");
  Type type = n.attribute("output_type") ? n.getType("output_type")
                                         : IntegerType::get(n.getContext(), 64);
  Value index =
      n.onnx(std::is_same_v<OpTy, ArgMaxOp> ? "ArgMax" : "ArgMin", {n.in(0)},
             {onnxInt("axis", axis->front()), onnxInt("keepdims", 0)});
  return type ? n.result(n.convert(index, type)) : failure();
}

static LogicalResult importCumsum(Node &n) {
  return n.result(n.onnx("CumSum", {n.in(0), n.in(1)},
                         {onnxInt("exclusive", n.getBool("exclusive", false)),
                          onnxInt("reverse", n.getBool("reverse", false))}));
}

static LogicalResult importTopK(Node &n) {
  Value k =
      n.reshape(n.convert(n.in(1), IntegerType::get(n.getContext(), 64)), {1});
  SmallVector<Value> made =
      n.onnxAll("TopK", {n.in(0), k}, {onnxInt("axis", -1)}, 2);
  if (made.size() < 2 || failed(n.result(0, made[0])))
    return failure();
  return n.result(1, n.convert(made[1], IntegerType::get(n.getContext(), 32)));
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowMathOps() {
  static const TensorFlowOp rows[] = {
      {"Identity", importSame},
      {"Snapshot", importSame},
      {"PreventGradient", importSame},
      {"CheckNumerics", importSame},
      {"EnsureShape", importSame},
      {"StopGradient", importUnary<StopGradientOp>},
      {"Neg", importUnary<NegOp>},
      {"Abs", importAs<kAbs>},
      {"Sign", importUnary<SignOp>},
      {"Exp", importUnary<ExpOp>},
      {"Expm1", importUnary<Expm1Op>},
      {"Log", importUnary<LogOp>},
      {"Log1p", importUnary<Log1pOp>},
      {"Sqrt", importUnary<SqrtOp>},
      {"Rsqrt", importUnary<RsqrtOp>},
      {"Square", importSquare},
      {"SquaredDifference", importSquaredDifference},
      {"Reciprocal", importReciprocal},
      {"Inv", importReciprocal},
      {"Erf", importUnary<ErfOp>},
      {"Erfc", importErfc},
      {"Sin", importUnary<SinOp>},
      {"Cos", importUnary<CosOp>},
      {"Tan", importUnary<TanOp>},
      {"Asin", importUnary<AsinOp>},
      {"Acos", importUnary<AcosOp>},
      {"Atan", importUnary<AtanOp>},
      {"Sinh", importUnary<SinhOp>},
      {"Cosh", importUnary<CoshOp>},
      {"Asinh", importUnary<AsinhOp>},
      {"Acosh", importUnary<AcoshOp>},
      {"Atanh", importUnary<AtanhOp>},
      {"Floor", importUnary<FloorOp>},
      {"Ceil", importUnary<CeilOp>},
      {"Round", importUnary<RoundOp>},
      {"Rint", importUnary<RoundOp>},
      {"IsNan", importUnary<IsNanOp>},
      {"IsInf", importUnary<IsInfOp>},
      {"IsFinite", importIsFinite},
      {"LogicalNot", importUnary<NotOp>},
      {"Add", importBinary<AddOp>, 2},
      {"AddV2", importBinary<AddOp>, 2},
      {"AddN", importAddN},
      {"Sub", importBinary<SubOp>, 2},
      {"Mul", importBinary<MulOp>, 2},
      {"RealDiv", importRealDiv, 2},
      {"Div", importBinary<DivOp>, 2},
      {"DivNoNan", importDivNoNan, 2},
      {"TruncateDiv", importBinary<DivOp>, 2},
      {"TruncateMod", importBinary<RemOp>, 2},
      {"FloorDiv", importFloorDiv, 2},
      {"FloorMod", importFloorMod, 2},
      {"Pow", importAs<kPow>, 2},
      {"L2Loss", importL2Loss},
      {"Xlogy", importWithZero<LogOp>, 2},
      {"Xdivy", importWithZero<DivOp>, 2},
      {"Maximum", importBinary<MaxOp>, 2},
      {"Minimum", importBinary<MinOp>, 2},
      {"LogicalAnd", importBinary<AndOp>, 2},
      {"LogicalOr", importBinary<OrOp>, 2},
      {"Equal", importCompare<ComparePredicate::EQ>, 2},
      {"NotEqual", importCompare<ComparePredicate::NE>, 2},
      {"Less", importCompare<ComparePredicate::LT>, 2},
      {"LessEqual", importCompare<ComparePredicate::LE>, 2},
      {"Greater", importCompare<ComparePredicate::GT>, 2},
      {"GreaterEqual", importCompare<ComparePredicate::GE>, 2},
      {"SelectV2", importAs<kWhere>, 3},
      {"Select", importOldSelect, 3},
      {"ClipByValue", importClip, 3},
      {"Cast", importCast},
      {"Relu", importUnary<ReluOp>},
      {"Relu6", importRelu6},
      {"LeakyRelu", importLeakyRelu},
      {"Elu", importElu},
      {"Selu", importAs<kSelu>},
      {"Softplus", importAs<kSoftplus>},
      {"Softsign", importAs<kSoftsign>},
      {"Sigmoid", importUnary<LogisticOp>},
      {"Tanh", importUnary<TanhOp>},
      {"Softmax", importSoftmax<SoftmaxOp>},
      {"LogSoftmax", importSoftmax<LogSoftmaxOp>},
      {"Sum", importReduce<Reduction::Sum>, 2},
      {"Prod", importReduce<Reduction::Product>, 2},
      {"Max", importReduce<Reduction::Max>, 2},
      {"Min", importReduce<Reduction::Min>, 2},
      {"Mean", importMean, 2},
      {"All", importBits<Reduction::Min>, 2},
      {"Any", importBits<Reduction::Max>, 2},
      {"ArgMax", importArg<ArgMaxOp>, 2},
      {"ArgMin", importArg<ArgMinOp>, 2},
      {"Cumsum", importCumsum, 2},
      {"TopKV2", importTopK, 2, "values,indices"},
  };
  return rows;
}
