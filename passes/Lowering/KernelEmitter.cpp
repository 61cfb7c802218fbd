//===- KernelEmitter.cpp - Loops of a kernel -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shape of what comes out, for a domain with rows and inner dims:
//
//   clear the accumulators of outer reductions
//   for each row:
//     for each phase:
//       for each inner point: inner reductions of the phase, results that need
//                             only earlier phases, outer reductions
//     results of one element a row
//
// Elements are made by the ops' `emitElement`; what was made at a point is kept
// and used again, so that a value with several uses is computed once.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/KernelEmitter.h"
#include "passes/Lowering/ClusterAnalysis.h"

#include <map>

using namespace mlir;
using namespace mlir::dist;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static Type getMemoryType(Type type, bool bytesForBools) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = getStorageType(tensor.getElementType());
  if (bytesForBools && element.isInteger(1))
    element = IntegerType::get(type.getContext(), 8);
  return MemRefType::get(tensor.getShape(), element);
}

static Value makeIndex(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static bool isUnsignedType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer && (integer.isUnsigned() || integer.getWidth() == 1);
}

/// The neutral element of a reduction, in the compute type.
static Value makeNeutral(OpBuilder &b, Location loc, graph::ReduceKind kind,
                         Type element) {
  Type compute = getComputeType(element);
  if (auto type = dyn_cast<FloatType>(compute)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    llvm::APFloat value = llvm::APFloat::getZero(semantics);
    switch (kind) {
    case graph::ReduceKind::Sum:
      break;
    case graph::ReduceKind::Product:
      value = llvm::APFloat::getOne(semantics);
      break;
    case graph::ReduceKind::Max:
      value = llvm::APFloat::getInf(semantics, /*Negative=*/true);
      break;
    case graph::ReduceKind::Min:
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
  case graph::ReduceKind::Sum:
    break;
  case graph::ReduceKind::Product:
    value = llvm::APInt(width, 1);
    break;
  case graph::ReduceKind::Max:
    value = isUnsigned ? llvm::APInt::getMinValue(width)
                       : llvm::APInt::getSignedMinValue(width);
    break;
  case graph::ReduceKind::Min:
    value = isUnsigned ? llvm::APInt::getMaxValue(width)
                       : llvm::APInt::getSignedMaxValue(width);
    break;
  }
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

static Value combine(OpBuilder &b, Location loc, graph::ReduceKind kind,
                     Type element, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType())) {
    // Only the order of sums is free: expressions keep theirs, since some are
    // written so that an error cancels.
    auto flags = arith::FastMathFlags::reassoc | arith::FastMathFlags::nsz |
                 arith::FastMathFlags::contract;
    switch (kind) {
    case graph::ReduceKind::Sum:
      return arith::AddFOp::create(b, loc, lhs, rhs, flags);
    case graph::ReduceKind::Product:
      return arith::MulFOp::create(b, loc, lhs, rhs, flags);
    case graph::ReduceKind::Max:
      return arith::MaximumFOp::create(b, loc, lhs, rhs, flags);
    case graph::ReduceKind::Min:
      return arith::MinimumFOp::create(b, loc, lhs, rhs, flags);
    }
  }
  bool isUnsigned = isUnsignedType(element);
  switch (kind) {
  case graph::ReduceKind::Sum:
    return arith::AddIOp::create(b, loc, lhs, rhs);
  case graph::ReduceKind::Product:
    return arith::MulIOp::create(b, loc, lhs, rhs);
  case graph::ReduceKind::Max:
    if (isUnsigned)
      return arith::MaxUIOp::create(b, loc, lhs, rhs);
    return arith::MaxSIOp::create(b, loc, lhs, rhs);
  case graph::ReduceKind::Min:
    if (isUnsigned)
      return arith::MinUIOp::create(b, loc, lhs, rhs);
    return arith::MinSIOp::create(b, loc, lhs, rhs);
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// The emitter
//===----------------------------------------------------------------------===//

namespace {

class Emitter {
public:
  Emitter(rt::KernelOp kernel, OpBuilder &b)
      : kernel(kernel), body(kernel.getBody().front()), b(b),
        loc(kernel.getLoc()) {}

  FailureOr<func::FuncOp> run();

private:
  using Body = llvm::function_ref<SmallVector<Value>(ValueRange indices,
                                                     ValueRange carried)>;

  LogicalResult emitAlone(Operation *op);
  LogicalResult emitRows(const ClusterInfo &info);
  SmallVector<Value> emitRow(ValueRange row, ValueRange carried);
  void findLevels();
  SmallVector<Value> makeLoops(ArrayRef<int64_t> sizes, ValueRange inits,
                               Body body);
  SmallVector<Value> makeLoopsFrom(ArrayRef<int64_t> sizes,
                                   SmallVector<Value> &indices,
                                   ValueRange inits, Body body);
  Value loadMemory(Value memref, ValueRange indices, Type element);
  void storeMemory(Value memref, ValueRange indices, Value value,
                   Type element);
  Value getElement(Value value, ValueRange indices);
  Value emitReshaped(graph::ReshapeOp op, ValueRange indices);
  bool isVisible(Value value);
  SmallVector<Value> getRowIndices(Value value, ValueRange row);
  SmallVector<const void *> makeKey(ValueRange indices);
  Value getConstantIndex(int64_t value);
  /// Whether the outer reduction's accumulator is one scalar, carried in a
  /// register; else it is the output's memory.
  bool isCarried(graph::ReduceOp op) {
    return typeOf(op.getResult()).getRank() == 0;
  }
  Type getAccumulatorElement(graph::ReduceOp op) {
    return typeOf(op.getResult()).getElementType();
  }
  SmallVector<Value> getAccumulatorIndices(unsigned output,
                                           ValueRange keptIndices);

  rt::KernelOp kernel;
  Block &body;
  OpBuilder &b;
  Location loc;
  func::FuncOp func;
  int64_t rowDims = 0;
  SmallVector<int64_t> rowShape, innerShape;
  Value chunk;
  llvm::DenseMap<Value, Value> memoryOf; // block arguments
  SmallVector<Value> outputMemory;
  SmallVector<Value> outputs; // yielded values
  llvm::DenseMap<Operation *, MemberKind> kinds;
  llvm::DenseMap<Value, int64_t> levels;
  int64_t maxLevel = 0;
  SmallVector<graph::ReduceOp> innerReductions;
  /// Outer reductions with their output numbers, and those carried.
  SmallVector<std::pair<graph::ReduceOp, unsigned>> outerReductions;
  SmallVector<std::pair<graph::ReduceOp, unsigned>> carriedReductions;

  std::map<std::pair<void *, SmallVector<const void *>>, Value> known;
  llvm::DenseMap<int64_t, Value> constants;
};

} // namespace

Value Emitter::getConstantIndex(int64_t value) {
  // At the function's start, where it is visible from everywhere.
  Value &constant = constants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&func.getBody().front());
    constant = makeIndex(b, loc, value);
  }
  return constant;
}

SmallVector<const void *> Emitter::makeKey(ValueRange indices) {
  SmallVector<const void *> key;
  for (Value index : indices) {
    // Equal constants are one index, whoever made them.
    if (auto constant = index.getDefiningOp<arith::ConstantIndexOp>())
      index = getConstantIndex(constant.value());
    key.push_back(index.getAsOpaquePointer());
  }
  return key;
}

/// Whether code at the builder's place may use a value made earlier.
bool Emitter::isVisible(Value value) {
  Block *home = value.getParentBlock();
  for (Block *block = b.getInsertionBlock(); block;) {
    if (block == home)
      return true;
    Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

Value Emitter::loadMemory(Value memref, ValueRange indices, Type element) {
  Value value = memref::LoadOp::create(b, loc, memref, indices);
  if (element.isInteger(1) && value.getType().isInteger(8)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 zero);
  }
  return emitToCompute(b, loc, value, element);
}

void Emitter::storeMemory(Value memref, ValueRange indices, Value value,
                          Type element) {
  Type memory = cast<MemRefType>(memref.getType()).getElementType();
  if (element.isInteger(1) && memory.isInteger(8))
    value = arith::ExtUIOp::create(b, loc, memory, value);
  else if (memory != value.getType())
    value = emitToStorage(b, loc, value, element);
  memref::StoreOp::create(b, loc, value, memref, indices);
}

/// Dims of both shapes are paired in groups of equal products, so that only
/// dims that are really split or joined cost arithmetic.
Value Emitter::emitReshaped(graph::ReshapeOp op, ValueRange indices) {
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
      position = arith::MulIOp::create(b, loc, position,
                                       getConstantIndex(to[d]));
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

Value Emitter::getElement(Value value, ValueRange indices) {
  auto key = std::make_pair(value.getAsOpaquePointer(), makeKey(indices));
  auto it = known.find(key);
  if (it != known.end() && isVisible(it->second))
    return it->second;
  Value result;
  auto memory = memoryOf.find(value);
  if (memory != memoryOf.end()) {
    result =
        loadMemory(memory->second, indices, typeOf(value).getElementType());
  } else if (auto reshape = value.getDefiningOp<graph::ReshapeOp>();
             reshape && typeOf(value).getNumElements() > 0) {
    result = emitReshaped(reshape, indices);
  } else {
    auto op = value.getDefiningOp<ElementalOpInterface>();
    unsigned number = cast<OpResult>(value).getResultNumber();
    auto load = [&](unsigned operand, ValueRange at) {
      return getElement(op->getOperand(operand), at);
    };
    result = op.emitElement(b, loc, number, indices, load);
  }
  known[key] = result;
  return result;
}

SmallVector<Value> Emitter::makeLoopsFrom(ArrayRef<int64_t> sizes,
                                          SmallVector<Value> &indices,
                                          ValueRange inits, Body body) {
  if (sizes.empty())
    return body(indices, inits);
  if (sizes.front() == 1) {
    indices.push_back(getConstantIndex(0));
    auto results =
        makeLoopsFrom(sizes.drop_front(), indices, inits, body);
    indices.pop_back();
    return results;
  }
  auto loop = scf::ForOp::create(b, loc, getConstantIndex(0),
                                 getConstantIndex(sizes.front()),
                                 getConstantIndex(1), inits);
  OpBuilder::InsertionGuard guard(b);
  // Without carried values the loop comes with its terminator.
  if (inits.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  indices.push_back(loop.getInductionVar());
  SmallVector<Value> results = makeLoopsFrom(
      sizes.drop_front(), indices, loop.getRegionIterArgs(), body);
  indices.pop_back();
  if (!inits.empty())
    scf::YieldOp::create(b, loc, results);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> Emitter::makeLoops(ArrayRef<int64_t> sizes,
                                      ValueRange inits, Body body) {
  SmallVector<Value> indices;
  return makeLoopsFrom(sizes, indices, inits, body);
}

/// Level of a value: the first phase in which all that it needs is there.
void Emitter::findLevels() {
  for (Value argument : body.getArguments())
    levels[argument] = 0;
  for (Operation &op : body.without_terminator()) {
    int64_t level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand));
    auto kind = kinds.find(&op);
    if (kind != kinds.end() && kind->second == MemberKind::InnerReduction)
      ++level;
    maxLevel = std::max(maxLevel, level);
    for (Value result : op.getResults())
      levels[result] = level;
  }
}

/// Indices of a value of one element a row: its dims are the rows' dims, with
/// dims of size 1 put in or left out.
SmallVector<Value> Emitter::getRowIndices(Value value, ValueRange row) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  SmallVector<Value> indices;
  size_t next = 0;
  for (int64_t size : shape) {
    if (size == 1) {
      indices.push_back(getConstantIndex(0));
      continue;
    }
    while (next < rowShape.size() && rowShape[next] == 1)
      ++next;
    indices.push_back(row[next++]);
  }
  return indices;
}

SmallVector<Value> Emitter::getAccumulatorIndices(unsigned output,
                                                  ValueRange keptIndices) {
  SmallVector<Value> indices;
  auto memory = cast<MemRefType>(outputMemory[output].getType());
  if (memory.getRank() == static_cast<int64_t>(keptIndices.size()) + 1)
    indices.push_back(chunk);
  llvm::append_range(indices, keptIndices);
  return indices;
}

/// One row: the phases, then what has one element a row. Takes and gives the
/// carried accumulators.
SmallVector<Value> Emitter::emitRow(ValueRange row, ValueRange carriedIn) {
  SmallVector<Value> carried(carriedIn);
  auto isInner = [&](graph::ReduceOp op) {
    return typeOf(op.getOperand()).getShape() ==
           ArrayRef<int64_t>(kernel.getDomain());
  };
  for (int64_t level = 0; level <= maxLevel; ++level) {
    SmallVector<graph::ReduceOp> inner;
    for (graph::ReduceOp op : innerReductions)
      if (levels[op.getOperand()] == level)
        inner.push_back(op);
    SmallVector<unsigned> scalars; // of carriedReductions
    for (unsigned i = 0; i < carriedReductions.size(); ++i)
      if (graph::ReduceOp op = carriedReductions[i].first;
          isInner(op) && levels[op.getOperand()] == level)
        scalars.push_back(i);
    SmallVector<std::pair<graph::ReduceOp, unsigned>> columns;
    for (auto [op, output] : outerReductions)
      if (isInner(op) && levels[op.getOperand()] == level)
        columns.push_back({op, output});
    SmallVector<unsigned> stores;
    for (auto [i, value] : llvm::enumerate(outputs)) {
      Operation *def = value.getDefiningOp();
      if (levels[value] == level &&
          kinds.lookup(def) == MemberKind::Full && kinds.count(def))
        stores.push_back(i);
    }
    if (inner.empty() && scalars.empty() && columns.empty() && stores.empty())
      continue;
    SmallVector<Value> inits;
    for (graph::ReduceOp op : inner)
      inits.push_back(makeNeutral(b, loc, op.getKind(),
                                  typeOf(op.getOperand()).getElementType()));
    for (unsigned i : scalars)
      inits.push_back(carried[i]);
    SmallVector<Value> results = makeLoops(
        innerShape, inits, [&](ValueRange indices, ValueRange accumulators) {
          SmallVector<Value> point(row);
          llvm::append_range(point, indices);
          // All values before any store, so that loads can be shared.
          SmallVector<Value> next, columnValues, storeValues;
          for (auto [op, accumulator] : llvm::zip(inner, accumulators))
            next.push_back(getElement(op.getOperand(), point));
          for (unsigned i : scalars)
            next.push_back(
                getElement(carriedReductions[i].first.getOperand(), point));
          for (auto &[op, output] : columns)
            columnValues.push_back(getElement(op.getOperand(), point));
          for (unsigned i : stores)
            storeValues.push_back(getElement(outputs[i], point));
          for (auto [i, accumulator] : llvm::enumerate(accumulators)) {
            graph::ReduceOp op =
                i < inner.size()
                    ? inner[i]
                    : carriedReductions[scalars[i - inner.size()]].first;
            next[i] =
                combine(b, loc, op.getKind(),
                        typeOf(op.getOperand()).getElementType(), accumulator,
                        next[i]);
          }
          for (auto [i, value] : llvm::zip_equal(stores, storeValues))
            storeMemory(outputMemory[i], point, value,
                        typeOf(outputs[i]).getElementType());
          for (auto [column, value] : llvm::zip_equal(columns, columnValues)) {
            auto [op, output] = column;
            SmallVector<Value> kept;
            for (auto [dim, index] : llvm::enumerate(point))
              if (!llvm::is_contained(op.getDims(),
                                      static_cast<int64_t>(dim)))
                kept.push_back(index);
            SmallVector<Value> at = getAccumulatorIndices(output, kept);
            Type element = getAccumulatorElement(op);
            Value memory = outputMemory[output];
            Value old = memref::LoadOp::create(b, loc, memory, at);
            bool bools = element.isInteger(1);
            if (bools)
              old = loadMemory(memory, at, element);
            Value sum = combine(b, loc, op.getKind(), element, old, value);
            storeMemory(memory, at, sum, element);
          }
          return next;
        });
    for (auto [op, result] : llvm::zip(inner, results)) {
      SmallVector<Value> at = getRowIndices(op.getResult(), row);
      known[{op.getResult().getAsOpaquePointer(), makeKey(at)}] = result;
    }
    for (auto [i, scalar] : llvm::enumerate(scalars))
      carried[scalar] = results[inner.size() + i];
  }
  for (auto [i, value] : llvm::enumerate(outputs)) {
    Operation *def = value.getDefiningOp();
    auto kind = kinds.find(def);
    if (kind == kinds.end() || (kind->second != MemberKind::Row &&
                                kind->second != MemberKind::InnerReduction))
      continue;
    SmallVector<Value> at = getRowIndices(value, row);
    storeMemory(outputMemory[i], at, getElement(value, at),
                typeOf(value).getElementType());
  }
  for (auto [i, entry] : llvm::enumerate(carriedReductions)) {
    graph::ReduceOp op = entry.first;
    if (isInner(op))
      continue;
    SmallVector<Value> at = getRowIndices(op.getOperand(), row);
    carried[i] = combine(b, loc, op.getKind(),
                         typeOf(op.getOperand()).getElementType(), carried[i],
                         getElement(op.getOperand(), at));
  }
  return carried;
}

LogicalResult Emitter::emitRows(const ClusterInfo &info) {
  kinds = info.kinds;
  rowDims = kernel.getRowDims();
  ArrayRef<int64_t> domain = kernel.getDomain();
  rowShape.assign(domain.begin(), domain.begin() + rowDims);
  innerShape.assign(domain.begin() + rowDims, domain.end());
  findLevels();
  for (Operation &op : body.without_terminator()) {
    auto kind = kinds.find(&op);
    if (kind == kinds.end())
      continue;
    if (kind->second == MemberKind::InnerReduction)
      innerReductions.push_back(cast<graph::ReduceOp>(op));
    if (kind->second != MemberKind::OuterReduction)
      continue;
    auto reduce = cast<graph::ReduceOp>(op);
    for (auto [i, value] : llvm::enumerate(outputs))
      if (value == reduce.getResult()) {
        if (isCarried(reduce))
          carriedReductions.push_back({reduce, i});
        else
          outerReductions.push_back({reduce, i});
        break; // yielded once
      }
  }
  for (auto &entry : outerReductions) {
    graph::ReduceOp op = entry.first;
    unsigned output = entry.second;
    Type element = getAccumulatorElement(op);
    graph::ReduceKind kind = op.getKind();
    makeLoops(typeOf(op.getResult()).getShape(), {},
              [&](ValueRange indices, ValueRange) {
                Value neutral = makeNeutral(b, loc, kind, element);
                storeMemory(outputMemory[output],
                            getAccumulatorIndices(output, indices), neutral,
                            element);
                return SmallVector<Value>();
              });
  }
  SmallVector<Value> carried;
  for (auto &[op, output] : carriedReductions)
    carried.push_back(makeNeutral(b, loc, op.getKind(),
                                  typeOf(op.getOperand()).getElementType()));
  unsigned numArguments = func.getNumArguments();
  if (rowDims == 0) {
    carried = emitRow({}, carried);
  } else {
    Value lo = func.getArgument(numArguments - 3);
    Value hi = func.getArgument(numArguments - 2);
    auto loop =
        scf::ForOp::create(b, loc, lo, hi, getConstantIndex(1), carried);
    OpBuilder::InsertionGuard guard(b);
    if (carried.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> row(rowDims);
    Value position = loop.getInductionVar();
    int64_t outermost = 0;
    while (outermost < rowDims && rowShape[outermost] == 1)
      ++outermost;
    for (int64_t d = rowDims; d-- > 0;) {
      if (rowShape[d] == 1) {
        row[d] = getConstantIndex(0);
        continue;
      }
      if (d == outermost) {
        row[d] = position;
        continue;
      }
      Value size = getConstantIndex(rowShape[d]);
      row[d] = arith::RemUIOp::create(b, loc, position, size);
      position = arith::DivUIOp::create(b, loc, position, size);
    }
    SmallVector<Value> results =
        emitRow(row, SmallVector<Value>(loop.getRegionIterArgs()));
    if (!carried.empty())
      scf::YieldOp::create(b, loc, results);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  b.setInsertionPoint(func.getBody().front().getTerminator());
  for (auto [entry, value] : llvm::zip_equal(carriedReductions, carried)) {
    auto [op, output] = entry;
    storeMemory(outputMemory[output], getAccumulatorIndices(output, {}), value,
                getAccumulatorElement(op));
  }
  return success();
}

LogicalResult Emitter::emitAlone(Operation *op) {
  SmallVector<Value> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(memoryOf.lookup(operand));
  for (Value result : op->getResults()) {
    auto it = llvm::find(outputs, result);
    if (it != outputs.end()) {
      results.push_back(outputMemory[it - outputs.begin()]);
      continue;
    }
    // Nobody reads it, but the loops write it.
    results.push_back(memref::AllocOp::create(
        b, loc, cast<MemRefType>(getMemoryType(result.getType(), false))));
  }
  auto iface = dyn_cast<ElementalOpInterface>(op);
  if (!iface || failed(iface.emitLoops(b, loc, operands, results)))
    return op->emitOpError("no kernel can be generated for it; rewrite the "
                           "model without this op");
  for (Value result : results)
    if (result.getDefiningOp<memref::AllocOp>())
      memref::DeallocOp::create(b, loc, result);
  return success();
}

FailureOr<func::FuncOp> Emitter::run() {
  Operation *first = body.empty() ? nullptr : &body.front();
  auto iface = dyn_cast_or_null<ElementalOpInterface>(first);
  bool alone = iface && !iface.isElemental();
  SmallVector<Type> types;
  for (Type type : body.getArgumentTypes())
    types.push_back(getMemoryType(type, !alone));
  for (Type type : kernel.getOutputs().getAsValueRange<TypeAttr>())
    types.push_back(getMemoryType(type, !alone));
  types.append(3, b.getIndexType());
  func = func::FuncOp::create(b, loc, kernel.getSymName(),
                              b.getFunctionType(types, {}));
  func.setPrivate();
  // Distinct buffers, but for an update in place: its element is read before
  // it is written, since what is written depends on it.
  for (unsigned i = 0; i + 3 < types.size(); ++i)
    func.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, loc);
  b.setInsertionPoint(entry->getTerminator());
  unsigned numInputs = body.getNumArguments();
  for (unsigned i = 0; i < numInputs; ++i)
    memoryOf[body.getArgument(i)] = func.getArgument(i);
  chunk = entry->getArguments().back();
  for (Value value : body.getTerminator()->getOperands()) {
    outputMemory.push_back(func.getArgument(numInputs + outputs.size()));
    outputs.push_back(value);
  }
  if (alone) {
    if (failed(emitAlone(first)))
      return failure();
    return func;
  }
  std::optional<ClusterInfo> info = analyzeBody(body);
  if (!info)
    return kernel.emitOpError("its ops make no single kernel");
  if (failed(emitRows(*info)))
    return failure();
  return func;
}

FailureOr<func::FuncOp> mlir::dist::emitKernel(rt::KernelOp kernel,
                                               OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  return Emitter(kernel, builder).run();
}
