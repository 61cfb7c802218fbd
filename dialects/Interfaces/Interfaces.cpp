//===- Interfaces.cpp - Defaults and helpers of the interfaces -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/Decomposable.h"
#include "dialects/Interfaces/Differentiable.h"
#include "dialects/Interfaces/Elemental.h"
#include "dialects/Interfaces/Indexing.h"
#include "dialects/Interfaces/Reference.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/Interfaces/Contraction.cpp.inc"
#include "dialects/Interfaces/Cost.cpp.inc"
#include "dialects/Interfaces/Decomposable.cpp.inc"
#include "dialects/Interfaces/Differentiable.cpp.inc"
#include "dialects/Interfaces/Elemental.cpp.inc"
#include "dialects/Interfaces/Indexing.cpp.inc"
#include "dialects/Interfaces/Reference.cpp.inc"
#include "dialects/Interfaces/ShardingRule.cpp.inc"

std::optional<int64_t> mlir::dist::findByteSize(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return 0;
  if (!shaped.hasStaticShape() || !shaped.getElementType().isIntOrFloat())
    return std::nullopt;
  unsigned bits = shaped.getElementType().getIntOrFloatBitWidth();
  return shaped.getNumElements() * ((bits + 7) / 8);
}

int64_t mlir::dist::getByteSize(Type type) {
  if (std::optional<int64_t> bytes = findByteSize(type))
    return *bytes;
  std::string text;
  llvm::raw_string_ostream(text)
      << "a value of " << type << " has no known size";
  llvm::report_fatal_error(StringRef(text));
}

LogicalResult mlir::dist::checkByteSizes(Operation *function) {
  auto check = [&](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (!findByteSize(type))
        return op->emitOpError()
               << "has a value of " << type
               << ", whose size is not known; give its dims sizes";
    return success();
  };
  for (Region &region : function->getRegions())
    for (Block &block : region) {
      if (failed(check(function, block.getArgumentTypes())))
        return failure();
      for (Operation &op : block)
        if (failed(check(&op, op.getResultTypes())))
          return failure();
    }
  return success();
}

bool mlir::dist::hasOneElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 1;
}

OpCost mlir::dist::getElementwiseCost(Operation *op) {
  OpCost cost;
  for (Type type : op->getOperandTypes())
    cost.bytesRead += getByteSize(type);
  for (Type type : op->getResultTypes()) {
    cost.bytesWritten += getByteSize(type);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      cost.flops = std::max(cost.flops, double(tensor.getNumElements()));
  }
  return cost;
}

bool mlir::dist::isElemental(Operation *op) {
  if (isa_and_nonnull<RowCodeOpInterface>(op))
    return true;
  auto elemental = dyn_cast_or_null<ElementalOpInterface>(op);
  return elemental && elemental.isElemental();
}

Type mlir::dist::getComputeType(Type elementType) {
  if (auto vector = dyn_cast<VectorType>(elementType))
    return vector.clone(getComputeType(vector.getElementType()));
  if (elementType.isF16() || elementType.isBF16())
    return Float32Type::get(elementType.getContext());
  return getStorageType(elementType);
}

Type mlir::dist::getStorageType(Type elementType) {
  if (auto vector = dyn_cast<VectorType>(elementType))
    return vector.clone(getStorageType(vector.getElementType()));
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  // As bits: LLVM moves vectors of bf16 through f32 and back, by calls of a
  // library function on most machines.
  if (elementType.isBF16())
    return IntegerType::get(elementType.getContext(), 16);
  return elementType;
}

Value mlir::dist::emitToCompute(OpBuilder &builder, Location loc, Value stored,
                                Type elementType) {
  Type compute = getComputeType(elementType);
  if (stored.getType() == compute)
    return stored;
  if (stored.getType() != elementType)
    stored = arith::BitcastOp::create(builder, loc, elementType, stored);
  return arith::ExtFOp::create(builder, loc, compute, stored);
}

Value mlir::dist::emitToStorage(OpBuilder &builder, Location loc,
                                Value computed, Type elementType) {
  Type storage = getStorageType(elementType);
  if (computed.getType() == storage)
    return computed;
  Value narrow = arith::TruncFOp::create(builder, loc, elementType, computed);
  if (storage == elementType)
    return narrow;
  return arith::BitcastOp::create(builder, loc, storage, narrow);
}
