//===- GraphMath.cpp - Element-wise ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphMathBinary.h"
#include "dialects/Interfaces/HostLoops.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static IntKind getIntKind(const HostTensor &tensor) {
  return {tensor.isUnsigned(),
          tensor.getType().getElementType().getIntOrFloatBitWidth()};
}

//===----------------------------------------------------------------------===//
// Ops of one type, from their ScalarCode.
//===----------------------------------------------------------------------===//

template <typename OpT>
static constexpr bool isUnary = OpT::template hasTrait<OpTrait::OneOperand>();

template <typename OpT, typename = void> struct IsLinear : std::false_type {};
template <typename OpT>
struct IsLinear<OpT, std::enable_if_t<ScalarCode<OpT>::isLinear>>
    : std::true_type {};

template <typename OpT> static LinearSets getLinearSets(OpT op) {
  // A quotient of integers is cut off: those of parts do not add up to that of
  // the sum. (Sums, differences and products wrap, and so do their parts.)
  if constexpr (std::is_same_v<OpT, DivOp>)
    if (!isa<FloatType>(op.getType().getElementType()))
      return {};
  if constexpr (!isUnary<OpT>)
    return ScalarCode<OpT>::linear();
  else if constexpr (IsLinear<OpT>::value)
    return {{0}};
  return {};
}

template <typename OpT>
static LogicalResult
differentiateElementwise(OpT op, OpBuilder &builder,
                         ValueRange resultCotangents, ArrayRef<bool> wanted,
                         SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(op.getType()));
  GraphBuilder g(builder, op.getLoc());
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value cotangent;
    if (dy && isFloat && wanted[i]) {
      if constexpr (isUnary<OpT>)
        cotangent = ScalarCode<OpT>::gradient(g, op, dy);
      else
        cotangent = ScalarCode<OpT>::gradient(g, op, dy, i);
    }
    cotangents.push_back(cotangent);
  }
  return success();
}

template <typename OpT>
static LogicalResult evaluateElementwise(OpT op, ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  using Code = ScalarCode<OpT>;
  HostTensor result(op.getType());
  MLIRContext *context = op.getContext();
  if (operands[0].isFloat()) {
    ArrayRef<double> x = operands[0].getFloats();
    if constexpr (isUnary<OpT>) {
      fillFloats(context, result,
                 [&](int64_t i) { return Code::evaluate(x[i]); });
    } else {
      ArrayRef<double> y = operands[1].getFloats();
      fillFloats(context, result,
                 [&](int64_t i) { return Code::evaluate(x[i], y[i]); });
    }
  } else {
    IntKind kind = getIntKind(operands[0]);
    ArrayRef<int64_t> x = operands[0].getInts();
    if constexpr (isUnary<OpT>) {
      fillInts(context, result,
               [&](int64_t i) { return Code::evaluateInt(x[i], kind); });
    } else {
      ArrayRef<int64_t> y = operands[1].getInts();
      fillInts(context, result,
               [&](int64_t i) { return Code::evaluateInt(x[i], y[i], kind); });
    }
  }
  results.push_back(std::move(result));
  return success();
}

template <typename OpT>
static Value emitElementwise(OpT op, OpBuilder &builder, Location loc,
                             ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, op.getType());
  Value x = load(0, indices);
  if constexpr (isUnary<OpT>)
    return ScalarCode<OpT>::emit(b, x);
  else
    return ScalarCode<OpT>::emit(b, x, load(1, indices));
}

//===----------------------------------------------------------------------===//
// Predicates: is_nan, is_inf, compare.
//===----------------------------------------------------------------------===//

static LogicalResult pushZeros(Operation *op,
                               SmallVectorImpl<Value> &cotangents) {
  cotangents.append(op->getNumOperands(), Value());
  return success();
}

template <typename OpT>
static LogicalResult inferPredicateType(typename OpT::Adaptor adaptor, Value x,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(cast<RankedTensorType>(x.getType())
                      .clone(IntegerType::get(x.getContext(), 1)));
  return success();
}

template <typename Fn>
static LogicalResult evaluatePredicate(Operation *op,
                                       SmallVectorImpl<HostTensor> &results,
                                       Fn &&fn) {
  HostTensor result(cast<RankedTensorType>(op->getResult(0).getType()));
  fillInts(op->getContext(), result, fn);
  results.push_back(std::move(result));
  return success();
}

#define DIST_PREDICATE_OP(OP, FIRST)                                           \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>,   \
                                     Adaptor adaptor,                          \
                                     SmallVectorImpl<Type> &types) {           \
    return inferPredicateType<OP>(adaptor, adaptor.FIRST(), types);            \
  }                                                                            \
  static LinearSets getLinearSets(OP) { return {}; }                           \
  static LogicalResult differentiateElementwise(                               \
      OP op, OpBuilder &, ValueRange, ArrayRef<bool>,                          \
      SmallVectorImpl<Value> &cotangents) {                                    \
    return pushZeros(op, cotangents);                                          \
  }
DIST_PREDICATE_OP(IsNanOp, getOperand)
DIST_PREDICATE_OP(IsInfOp, getOperand)
DIST_PREDICATE_OP(CompareOp, getLhs)
#undef DIST_PREDICATE_OP

static LogicalResult evaluateElementwise(IsNanOp op,
                                         ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  return evaluatePredicate(op, results, [&](int64_t i) {
    return std::isnan(operands[0].getDouble(i));
  });
}

static Value emitElementwise(IsNanOp op, OpBuilder &builder, Location loc,
                             ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, op.getOperand().getType());
  Value x = load(0, indices);
  return b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
}

static LogicalResult evaluateElementwise(IsInfOp op,
                                         ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  return evaluatePredicate(op, results, [&](int64_t i) {
    double x = operands[0].getDouble(i);
    return std::isinf(x) && (x > 0 ? op.getPositive() : op.getNegative());
  });
}

static Value emitElementwise(IsInfOp op, OpBuilder &builder, Location loc,
                             ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, op.getOperand().getType());
  Value x = load(0, indices);
  double inf = std::numeric_limits<double>::infinity();
  if (op.getPositive() && op.getNegative())
    return b.equal(b.create<math::AbsFOp>(x), b.constant(inf));
  if (!op.getPositive() && !op.getNegative())
    return b.constant(builder.getBoolAttr(false));
  return b.equal(x, b.constant(op.getPositive() ? inf : -inf));
}

template <typename T>
static bool compareNumbers(ComparePredicate predicate, T x, T y) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return x == y;
  case ComparePredicate::NE:
    return x != y;
  case ComparePredicate::LT:
    return x < y;
  case ComparePredicate::LE:
    return x <= y;
  case ComparePredicate::GT:
    return x > y;
  case ComparePredicate::GE:
    return x >= y;
  }
  llvm_unreachable("all predicates are listed");
}

static LogicalResult evaluateElementwise(CompareOp op,
                                         ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &y = operands[1];
  return evaluatePredicate(op, results, [&](int64_t i) {
    ComparePredicate predicate = op.getPredicate();
    if (x.isFloat())
      return compareNumbers(predicate, x.getDouble(i), y.getDouble(i));
    if (x.isUnsigned())
      return compareNumbers(predicate, uint64_t(x.getInt(i)),
                            uint64_t(y.getInt(i)));
    return compareNumbers(predicate, x.getInt(i), y.getInt(i));
  });
}

static Value emitElementwise(CompareOp op, OpBuilder &builder, Location loc,
                             ValueRange indices, ElementLoader load) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  // In the order of ComparePredicate.
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  static constexpr I ints[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I unsignedInts[] = {I::eq,  I::ne,  I::ult,
                                       I::ule, I::ugt, I::uge};
  auto i = static_cast<unsigned>(op.getPredicate());
  ScalarBuilder b(builder, loc, op.getLhs().getType());
  Value x = load(0, indices);
  return b.compare(floats[i], ints[i], unsignedInts[i], x, load(1, indices));
}

//===----------------------------------------------------------------------===//
// select
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getOnTrue().getType());
  return success();
}

LogicalResult SelectOp::verify() {
  if (getOnTrue().getType() != getOnFalse().getType())
    return emitOpError("expected both values to have one type, but got ")
           << getOnTrue().getType() << " and " << getOnFalse().getType();
  return success();
}

static LinearSets getLinearSets(SelectOp op) {
  LinearSets sets = {{1, 2}};
  // A part of zero is zero.
  if (isZero(op.getOnFalse()))
    sets.push_back({1});
  if (isZero(op.getOnTrue()))
    sets.push_back({2});
  return sets;
}

static LogicalResult
differentiateElementwise(SelectOp op, OpBuilder &builder,
                         ValueRange resultCotangents, ArrayRef<bool> wanted,
                         SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  cotangents.append(3, Value());
  if (!dy || !isa<FloatType>(op.getType().getElementType()))
    return success();
  GraphBuilder g(builder, op.getLoc());
  if (wanted[1])
    cotangents[1] = g.select(op.getPredicate(), dy, g.like(dy, 0));
  if (wanted[2])
    cotangents[2] = g.select(op.getPredicate(), g.like(dy, 0), dy);
  return success();
}

static LogicalResult evaluateElementwise(SelectOp op,
                                         ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  HostTensor result(op.getType());
  auto choose = [&](auto onTrue, auto onFalse) {
    return [=, predicate = operands[0].getInts()](int64_t i) {
      return predicate[i] ? onTrue[i] : onFalse[i];
    };
  };
  if (result.isFloat())
    fillFloats(op.getContext(), result,
               choose(operands[1].getFloats(), operands[2].getFloats()));
  else
    fillInts(op.getContext(), result,
             choose(operands[1].getInts(), operands[2].getInts()));
  results.push_back(std::move(result));
  return success();
}

static Value emitElementwise(SelectOp op, OpBuilder &builder, Location loc,
                             ValueRange indices, ElementLoader load) {
  Value predicate = load(0, indices), onTrue = load(1, indices);
  return arith::SelectOp::create(builder, loc, predicate, onTrue,
                                 load(2, indices));
}

//===----------------------------------------------------------------------===//
// convert
//===----------------------------------------------------------------------===//

static LinearSets getLinearSets(ConvertOp op) {
  auto from = dyn_cast<FloatType>(op.getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(op.getType().getElementType());
  // Only a conversion that loses nothing: partial sums must not be rounded.
  if (from && to && from.getWidth() < to.getWidth())
    return {{0}};
  return {};
}

static LogicalResult
differentiateElementwise(ConvertOp op, OpBuilder &builder,
                         ValueRange resultCotangents, ArrayRef<bool> wanted,
                         SmallVectorImpl<Value> &cotangents) {
  Type from = op.getOperand().getType().getElementType();
  bool isFloat =
      isa<FloatType>(from) && isa<FloatType>(op.getType().getElementType());
  Value dy = resultCotangents[0];
  cotangents.push_back(
      dy && isFloat && wanted[0]
          ? GraphBuilder(builder, op.getLoc()).convert(dy, from)
          : Value());
  return success();
}

static LogicalResult evaluateElementwise(ConvertOp op,
                                         ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  HostTensor result(op.getType());
  const HostTensor &x = operands[0];
  bool toBool = op.getType().getElementType().isInteger(1);
  MLIRContext *context = op.getContext();
  if (toBool)
    fillInts(context, result, [&](int64_t i) { return x.getDouble(i) != 0; });
  else if (result.isFloat())
    fillFloats(context, result, [&](int64_t i) { return x.getDouble(i); });
  else if (x.isFloat())
    for (int64_t i = 0, e = result.getNumElements(); i < e; ++i)
      result.setDouble(i, x.getDouble(i));
  else
    fillInts(context, result, [&](int64_t i) { return x.getInt(i); });
  results.push_back(std::move(result));
  return success();
}

static Value emitFloatToFloat(ScalarBuilder &from, ScalarBuilder &to, Value x) {
  OpBuilder &builder = from.getBuilder();
  Location loc = from.getLoc();
  Type element = to.getElementType();
  // f16 and bf16 are computed in f32, but a conversion to them rounds.
  if (element.getIntOrFloatBitWidth() < from.getWidth() ||
      (element != from.getElementType() && element != to.getType())) {
    // Few processors make two-byte floats of f64, and the C library has no
    // function that would: through f32.
    if (x.getType().isF64() && element.getIntOrFloatBitWidth() < 32)
      x = arith::TruncFOp::create(builder, loc, builder.getF32Type(), x);
    if (x.getType() != element)
      x = arith::TruncFOp::create(builder, loc, element, x);
  }
  if (x.getType() == to.getType())
    return x;
  return arith::ExtFOp::create(builder, loc, to.getType(), x);
}

static Value emitFloatToInt(ScalarBuilder &from, ScalarBuilder &to, Value x) {
  if (to.getWidth() == 1)
    return from.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, x,
                                      from.constant(0));
  OpBuilder &builder = from.getBuilder();
  // The scalar op is poison outside of the type's range: keep NaN and what is
  // beyond either end away from it. Both bounds are powers of two or 0, exact
  // in any float type that has them; f16 has no more than 65504.
  unsigned bits = to.isUnsigned() ? to.getWidth() : to.getWidth() - 1;
  Value low = from.constant(to.isUnsigned() ? 0 : -std::ldexp(1.0, bits));
  Value end = from.constant(std::ldexp(1.0, bits));
  Value below = from.less(x, low);
  Value above = from.create<arith::CmpFOp>(arith::CmpFPredicate::OGE, x, end);
  Value isInside =
      from.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, end);
  isInside = from.create<arith::AndIOp>(
      isInside, from.create<arith::CmpFOp>(arith::CmpFPredicate::OGE, x, low));
  Value inside = from.select(isInside, x, from.constant(0));
  Value integer;
  if (to.isUnsigned() && to.getWidth() == 64) {
    integer = from.create<arith::FPToUIOp>(to.getType(), inside);
  } else {
    // Few machines convert to narrow or unsigned integers.
    Type wide = bits >= 32 ? builder.getI64Type() : builder.getI32Type();
    integer = from.create<arith::FPToSIOp>(wide, inside);
    if (wide != to.getType())
      integer = from.create<arith::TruncIOp>(to.getType(), integer);
  }
  llvm::APInt least = to.isUnsigned()
                          ? llvm::APInt::getMinValue(to.getWidth())
                          : llvm::APInt::getSignedMinValue(to.getWidth());
  llvm::APInt most = to.isUnsigned()
                         ? llvm::APInt::getMaxValue(to.getWidth())
                         : llvm::APInt::getSignedMaxValue(to.getWidth());
  auto constant = [&](const llvm::APInt &value) {
    return to.constant(builder.getIntegerAttr(to.getType(), value));
  };
  integer = to.select(below, constant(least), integer);
  return to.select(above, constant(most), integer);
}

static Value emitIntToInt(ScalarBuilder &from, ScalarBuilder &to, Value x) {
  if (from.getWidth() == to.getWidth())
    return x;
  if (to.getWidth() == 1)
    return from.create<arith::CmpIOp>(arith::CmpIPredicate::ne, x,
                                      from.integer(0));
  if (from.getWidth() > to.getWidth())
    return from.create<arith::TruncIOp>(to.getType(), x);
  return from.isUnsigned() ? from.create<arith::ExtUIOp>(to.getType(), x)
                           : from.create<arith::ExtSIOp>(to.getType(), x);
}

static Value emitElementwise(ConvertOp op, OpBuilder &builder, Location loc,
                             ValueRange indices, ElementLoader load) {
  ScalarBuilder from(builder, loc, op.getOperand().getType());
  ScalarBuilder to(builder, loc, op.getType());
  Value x = load(0, indices);
  if (from.isFloat() && to.isFloat())
    return emitFloatToFloat(from, to, x);
  if (from.isFloat())
    return emitFloatToInt(from, to, x);
  if (!to.isFloat())
    return emitIntToInt(from, to, x);
  Value number = from.isUnsigned()
                     ? from.create<arith::UIToFPOp>(to.getType(), x)
                     : from.create<arith::SIToFPOp>(to.getType(), x);
  if (to.getType() == to.getElementType())
    return number;
  Value rounded =
      arith::TruncFOp::create(builder, loc, to.getElementType(), number);
  return arith::ExtFOp::create(builder, loc, to.getType(), rounded);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void GraphDialect::registerMathOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphMathOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphMathOps.cpp.inc"
