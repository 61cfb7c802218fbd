//===- ScalarBuilder.h - Scalar code of element-wise ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `emitElement` is written with: scalar ops in the compute type, chosen by
// the element type, with the fast-math flags that every kernel uses.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_SCALARBUILDER_H
#define DIALECTS_GRAPH_IR_SCALARBUILDER_H

#include "dialects/Interfaces/Elemental.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::dist {

class ScalarBuilder {
public:
  /// `type` is the tensor or element type that decides between float, signed
  /// and unsigned code.
  ScalarBuilder(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), elementType(getElementTypeOrSelf(type)) {}

  bool isFloat() const { return isa<FloatType>(elementType); }
  bool isUnsigned() const {
    return elementType.isUnsignedInteger() || elementType.isInteger(1);
  }
  unsigned getWidth() const { return elementType.getIntOrFloatBitWidth(); }
  Type getElementType() const { return elementType; }
  Type getType() const { return getComputeType(elementType); }
  OpBuilder &getBuilder() { return builder; }
  Location getLoc() { return loc; }

  /// Any scalar op. A kernel may compute a value again in another of its loops
  /// and compare it with what the first made of it (a maximum's gradient goes
  /// to the elements that equal it), so that the code may not depend on the
  /// loop: of the freedoms that floats can give, only the sign of zero.
  template <typename OpT, typename... Args> Value create(Args &&...args) {
    auto op = OpT::create(builder, loc, std::forward<Args>(args)...);
    if (auto fast = dyn_cast<arith::ArithFastMathInterface>(op.getOperation()))
      op->setAttr(fast.getFastMathAttrName(), getFlags());
    return op->getResult(0);
  }
  /// The op for floats or the one for integers.
  template <typename FloatOp, typename IntOp> Value pick(Value x, Value y) {
    return isFloat() ? create<FloatOp>(x, y) : create<IntOp>(x, y);
  }
  template <typename FloatOp, typename SignedOp, typename UnsignedOp>
  Value pick(Value x, Value y) {
    if (isFloat())
      return create<FloatOp>(x, y);
    return isUnsigned() ? create<UnsignedOp>(x, y) : create<SignedOp>(x, y);
  }
  Value add(Value x, Value y) {
    return pick<arith::AddFOp, arith::AddIOp>(x, y);
  }
  Value sub(Value x, Value y) {
    return pick<arith::SubFOp, arith::SubIOp>(x, y);
  }
  Value mul(Value x, Value y) {
    return pick<arith::MulFOp, arith::MulIOp>(x, y);
  }
  Value max(Value x, Value y) {
    return pick<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(x, y);
  }
  Value min(Value x, Value y) {
    return pick<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(x, y);
  }
  Value select(Value predicate, Value x, Value y) {
    return arith::SelectOp::create(builder, loc, predicate, x, y);
  }
  /// Ordered comparison; ints by signedness.
  Value compare(arith::CmpFPredicate floats, arith::CmpIPredicate ints,
                arith::CmpIPredicate unsignedInts, Value x, Value y) {
    if (isFloat())
      return create<arith::CmpFOp>(floats, x, y);
    return create<arith::CmpIOp>(isUnsigned() ? unsignedInts : ints, x, y);
  }
  Value less(Value x, Value y) {
    return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt,
                   arith::CmpIPredicate::ult, x, y);
  }
  Value greater(Value x, Value y) { return less(y, x); }
  /// Whether x is above (or below) y, NaN being beyond every number on either
  /// side and level with itself: what selects elements by their order.
  Value beyond(Value x, Value y, bool above) {
    if (!isFloat())
      return above ? greater(x, y) : less(x, y);
    Value unlessNan = create<arith::CmpFOp>(
        above ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, x, y);
    Value isNumber = create<arith::CmpFOp>(arith::CmpFPredicate::ORD, y, y);
    return create<arith::AndIOp>(unlessNan, isNumber);
  }
  Value equal(Value x, Value y) {
    return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq,
                   arith::CmpIPredicate::eq, x, y);
  }

  /// A constant of the compute type.
  Value constant(double value) {
    Type type = getType();
    if (auto floatType = dyn_cast<FloatType>(type))
      return constant(builder.getFloatAttr(floatType, value));
    return constant(builder.getIntegerAttr(type, static_cast<int64_t>(value)));
  }
  Value integer(int64_t value) {
    return constant(builder.getIntegerAttr(getType(), value));
  }
  Value index(int64_t value) { return constant(builder.getIndexAttr(value)); }
  Value constant(TypedAttr value) {
    return arith::ConstantOp::create(builder, loc, value);
  }

  /// Index arithmetic (no overflow flags: sizes are small).
  Value addIndex(Value x, int64_t y) {
    return y == 0 ? x : arith::AddIOp::create(builder, loc, x, index(y));
  }
  Value mulIndex(Value x, int64_t y) {
    return y == 1 ? x : arith::MulIOp::create(builder, loc, x, index(y));
  }
  /// The index brought into [0, size).
  Value clampIndex(Value x, int64_t size) {
    Value low = arith::MaxSIOp::create(builder, loc, x, index(0));
    return arith::MinSIOp::create(builder, loc, low, index(size - 1));
  }

private:
  arith::FastMathFlagsAttr getFlags() {
    return arith::FastMathFlagsAttr::get(builder.getContext(),
                                         arith::FastMathFlags::nsz);
  }
  OpBuilder &builder;
  Location loc;
  Type elementType;
};

} // namespace mlir::dist

#endif // DIALECTS_GRAPH_IR_SCALARBUILDER_H
