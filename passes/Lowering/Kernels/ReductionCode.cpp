//===- ReductionCode.cpp - Neutral elements and combinations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Kernels/ReductionCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::dist;

static bool isUnsignedType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer && (integer.isUnsigned() || integer.getWidth() == 1);
}

Value mlir::dist::makeNeutral(OpBuilder &b, Location loc, Reduction kind,
                              Type element) {
  Type compute = getComputeType(element);
  if (auto type = dyn_cast<FloatType>(compute)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    llvm::APFloat value = llvm::APFloat::getZero(semantics);
    switch (kind) {
    case Reduction::Sum:
      break;
    case Reduction::Product:
      value = llvm::APFloat::getOne(semantics);
      break;
    case Reduction::Max:
      value = llvm::APFloat::getInf(semantics, /*Negative=*/true);
      break;
    case Reduction::Min:
      value = llvm::APFloat::getInf(semantics);
      break;
    }
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  auto type = cast<IntegerType>(compute);
  unsigned width = type.getWidth();
  bool isUnsigned = isUnsignedType(element);
  llvm::APInt value(width, 0);
  switch (kind) {
  case Reduction::Sum:
    break;
  case Reduction::Product:
    value = llvm::APInt(width, 1);
    break;
  case Reduction::Max:
    value = isUnsigned ? llvm::APInt::getMinValue(width)
                       : llvm::APInt::getSignedMinValue(width);
    break;
  case Reduction::Min:
    value = isUnsigned ? llvm::APInt::getMaxValue(width)
                       : llvm::APInt::getSignedMaxValue(width);
    break;
  }
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value mlir::dist::combine(OpBuilder &b, Location loc, Reduction kind,
                          Type element, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType())) {
    // Only the order of sums is free: expressions keep theirs, since some are
    // written so that an error cancels.
    auto flags = arith::FastMathFlags::reassoc | arith::FastMathFlags::nsz |
                 arith::FastMathFlags::contract;
    switch (kind) {
    case Reduction::Sum:
      return arith::AddFOp::create(b, loc, lhs, rhs, flags);
    case Reduction::Product:
      return arith::MulFOp::create(b, loc, lhs, rhs, flags);
    case Reduction::Max:
      return arith::MaximumFOp::create(b, loc, lhs, rhs, flags);
    case Reduction::Min:
      return arith::MinimumFOp::create(b, loc, lhs, rhs, flags);
    }
  }
  bool isUnsigned = isUnsignedType(element);
  switch (kind) {
  case Reduction::Sum:
    return arith::AddIOp::create(b, loc, lhs, rhs);
  case Reduction::Product:
    return arith::MulIOp::create(b, loc, lhs, rhs);
  case Reduction::Max:
    if (isUnsigned)
      return arith::MaxUIOp::create(b, loc, lhs, rhs);
    return arith::MaxSIOp::create(b, loc, lhs, rhs);
  case Reduction::Min:
    if (isUnsigned)
      return arith::MinUIOp::create(b, loc, lhs, rhs);
    return arith::MinSIOp::create(b, loc, lhs, rhs);
  }
  llvm_unreachable("covered switch");
}
