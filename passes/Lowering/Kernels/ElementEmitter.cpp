//===- ElementEmitter.cpp - Code of one element -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Kernels/ElementEmitter.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value ElementEmitter::getConstantIndex(int64_t value) {
  // At the function's start, where it is visible from everywhere.
  Value &constant = constants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&func.getBody().front());
    constant = arith::ConstantIndexOp::create(b, loc, value);
  }
  return constant;
}

SmallVector<const void *> ElementEmitter::makeKey(ValueRange indices) {
  SmallVector<const void *> key;
  for (Value index : indices) {
    // Equal constants are one index, though several ops may have made them.
    if (auto constant = index.getDefiningOp<arith::ConstantIndexOp>())
      index = getConstantIndex(constant.value());
    key.push_back(index.getAsOpaquePointer());
  }
  return key;
}

/// Whether code at the builder's place may use a value made earlier.
bool ElementEmitter::isVisible(Value value) {
  Block *home = value.getParentBlock();
  for (Block *block = b.getInsertionBlock(); block;) {
    if (block == home)
      return true;
    Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

Value ElementEmitter::loadMemory(Value memref, ValueRange indices,
                                 Type element) {
  Value value = memref::LoadOp::create(b, loc, memref, indices);
  if (element.isInteger(1) && value.getType().isInteger(8)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  return emitToCompute(b, loc, value, element);
}

void ElementEmitter::storeMemory(Value memref, ValueRange indices, Value value,
                                 Type element) {
  Type memory = cast<MemRefType>(memref.getType()).getElementType();
  if (element.isInteger(1) && memory.isInteger(8))
    value = arith::ExtUIOp::create(b, loc, memory, value);
  else if (memory != value.getType())
    value = emitToStorage(b, loc, value, element);
  memref::StoreOp::create(b, loc, value, memref, indices);
}

void ElementEmitter::markStored(Value value) {
  rounded.insert(value);
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>()) {
    value = reshape.getOperand();
    rounded.insert(value);
  }
}

/// An element equals the maximum that it is: of both, one may be stored. To a
/// constant nothing is equal but by chance.
void ElementEmitter::markCompared(Block &body) {
  for (auto compare : body.getOps<graph::CompareOp>()) {
    if (llvm::any_of(compare->getOperands(), [](Value operand) {
          return operand.getDefiningOp<graph::ConstantOp>();
        }))
      continue;
    for (Value value : compare->getOperands()) {
      rounded.insert(value);
      Operation *def = value.getDefiningOp();
      while (def && def->getNumOperands() == 1 &&
             (isFloating(def) || isa<graph::ConvertOp>(def))) {
        rounded.insert(def->getOperand(0));
        def = def->getOperand(0).getDefiningOp();
      }
    }
  }
}

/// f16 and bf16 are computed in f32 and rounded where they are stored. What
/// this kernel makes of such a value must be what others make of it: a label's
/// score, widened here and selected there, is compared with itself.
Value ElementEmitter::roundStored(Value value, Value element) {
  Type type = typeOf(value).getElementType();
  if (!isa<FloatType>(type) || element.getType() == type ||
      !rounded.contains(value))
    return element;
  return emitToCompute(b, loc, emitToStorage(b, loc, element, type), type);
}

/// Dims of both shapes are paired in groups of equal products, so that only
/// dims that are really split or joined cost arithmetic.
Value ElementEmitter::emitReshaped(graph::ReshapeOp op, ValueRange indices) {
  ArrayRef<int64_t> to = typeOf(op.getResult()).getShape();
  ArrayRef<int64_t> from = typeOf(op.getOperand()).getShape();
  SmallVector<Value> source;
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    if (j < from.size() && from[j] == 1) {
      source.push_back(getConstantIndex(0));
      ++j;
      continue;
    }
    if (i < to.size() && to[i] == 1) {
      ++i;
      continue;
    }
    if (to[i] == from[j]) {
      source.push_back(indices[i]);
      ++i, ++j;
      continue;
    }
    // A group: join the indices of `to`, then split them for `from`.
    size_t iEnd = i + 1, jEnd = j + 1;
    int64_t toSize = to[i], fromSize = from[j];
    while (toSize != fromSize) {
      if (toSize < fromSize)
        toSize *= to[iEnd++];
      else
        fromSize *= from[jEnd++];
    }
    Value position = indices[i];
    for (size_t d = i + 1; d < iEnd; ++d) {
      position =
          arith::MulIOp::create(b, loc, position, getConstantIndex(to[d]));
      position = arith::AddIOp::create(b, loc, position, indices[d]);
    }
    SmallVector<Value> group(jEnd - j);
    for (size_t d = jEnd; d-- > j;) {
      if (d == j) {
        group[0] = position;
        break;
      }
      Value size = getConstantIndex(from[d]);
      group[d - j] = arith::RemUIOp::create(b, loc, position, size);
      position = arith::DivUIOp::create(b, loc, position, size);
    }
    llvm::append_range(source, group);
    i = iEnd, j = jEnd;
  }
  return getElement(op.getOperand(), source);
}

void ElementEmitter::emitRowCode(Block &body, ValueRange row) {
  for (auto op : body.getOps<RowCodeOpInterface>()) {
    Value result = op->getResult(0);
    Value &memory = rowMemoryOf[result];
    if (!memory) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&func.getBody().front());
      auto type =
          MemRefType::get(typeOf(result).getShape().take_back(1),
                          getComputeType(typeOf(result).getElementType()));
      memory = memref::AllocaOp::create(b, loc, type,
                                        b.getI64IntegerAttr(cacheLine));
    }
    auto load = [&](unsigned operand, ValueRange at) {
      return getElement(op->getOperand(operand), at);
    };
    op.emitRow(b, loc, row, load, memory);
  }
}

Value ElementEmitter::getElement(Value value, ValueRange indices) {
  auto key = std::make_pair(value.getAsOpaquePointer(), makeKey(indices));
  auto it = known.find(key);
  if (it != known.end() && isVisible(it->second))
    return it->second;
  Value result;
  auto memory = memoryOf.find(value);
  if (memory != memoryOf.end()) {
    result =
        loadMemory(memory->second, indices, typeOf(value).getElementType());
  } else if (Value row = rowMemoryOf.lookup(value)) {
    result = roundStored(
        value, memref::LoadOp::create(b, loc, row, indices.take_back(1)));
  } else if (auto reshape = value.getDefiningOp<graph::ReshapeOp>();
             reshape && typeOf(value).getNumElements() > 0) {
    result = emitReshaped(reshape, indices);
  } else {
    auto op = value.getDefiningOp<ElementalOpInterface>();
    unsigned number = cast<OpResult>(value).getResultNumber();
    auto load = [&](unsigned operand, ValueRange at) {
      return getElement(op->getOperand(operand), at);
    };
    result = roundStored(value, op.emitElement(b, loc, number, indices, load));
  }
  known[key] = result;
  return result;
}

void ElementEmitter::setElement(Value value, ValueRange indices,
                                Value element) {
  known[{value.getAsOpaquePointer(), makeKey(indices)}] =
      roundStored(value, element);
}
