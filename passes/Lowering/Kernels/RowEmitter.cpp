//===- RowEmitter.cpp - Loops over rows and their elements -*- C++ -*-===//
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
#include "passes/Lowering/Kernels/RowEmitter.h"
#include "passes/Lowering/Kernels/ReductionCode.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;

RowEmitter::RowEmitter(rt::KernelOp kernel, func::FuncOp func,
                       const KernelBuffers &buffers, OpBuilder &b)
    : ElementEmitter(b, kernel.getLoc()), kernel(kernel), buffers(buffers),
      body(kernel.getBody().front()), rowDims(kernel.getRowDims()) {
  this->func = func;
  for (auto [argument, memory] :
       llvm::zip_equal(body.getArguments(), buffers.inputs))
    memoryOf[argument] = memory;
  for (Value value : body.getTerminator()->getOperands()) {
    outputs.push_back(value);
    markStored(value);
  }
  markCompared(body);
  ArrayRef<int64_t> domain = kernel.getDomain();
  rowShape.assign(domain.begin(), domain.begin() + rowDims);
  innerShape.assign(domain.begin() + rowDims, domain.end());
}

SmallVector<Value> RowEmitter::makeFor(Value lo, Value hi, int64_t step,
                                       ValueRange inits, RowBody body) {
  auto loop = scf::ForOp::create(b, loc, lo, hi, getConstantIndex(step), inits);
  OpBuilder::InsertionGuard guard(b);
  // Without carried values the loop comes with its terminator.
  if (inits.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> results =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(b, loc, results);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> RowEmitter::makeLoopsFrom(ArrayRef<int64_t> sizes,
                                             SmallVector<Value> &indices,
                                             ValueRange inits, Body body) {
  if (sizes.empty())
    return body(indices, inits);
  if (sizes.front() == 1) {
    indices.push_back(getConstantIndex(0));
    auto results = makeLoopsFrom(sizes.drop_front(), indices, inits, body);
    indices.pop_back();
    return results;
  }
  return makeFor(getConstantIndex(0), getConstantIndex(sizes.front()), 1, inits,
                 [&](Value position, ValueRange carried) {
                   indices.push_back(position);
                   auto results = makeLoopsFrom(sizes.drop_front(), indices,
                                                carried, body);
                   indices.pop_back();
                   return results;
                 });
}

SmallVector<Value> RowEmitter::makeLoops(ArrayRef<int64_t> sizes,
                                         ValueRange inits, Body body) {
  SmallVector<Value> indices;
  return makeLoopsFrom(sizes, indices, inits, body);
}

/// Level of a value: the first phase in which all that it needs is there.
void RowEmitter::findLevels() {
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
SmallVector<Value> RowEmitter::getRowIndices(Value value, ValueRange row) {
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

void RowEmitter::findReductions() {
  for (Operation &op : body.without_terminator()) {
    auto kind = kinds.find(&op);
    if (kind == kinds.end())
      continue;
    if (kind->second == MemberKind::InnerReduction)
      innerReductions.push_back(cast<graph::ReduceOp>(op));
    if (kind->second != MemberKind::OuterReduction)
      continue;
    // One that is yielded twice is summed twice: rare, and never half written.
    auto reduce = cast<graph::ReduceOp>(op);
    for (auto [i, value] : llvm::enumerate(outputs))
      if (value == reduce.getResult()) {
        if (isCarried(reduce))
          carriedReductions.push_back({reduce, i});
        else
          outerReductions.push_back({reduce, i});
      }
  }
}

RowEmitter::Phase RowEmitter::findPhase(int64_t level) {
  Phase phase;
  for (graph::ReduceOp op : innerReductions)
    if (levels[op.getOperand()] == level)
      phase.inner.push_back(op);
  for (unsigned i = 0; i < carriedReductions.size(); ++i)
    if (graph::ReduceOp op = carriedReductions[i].first;
        isInner(op) && levels[op.getOperand()] == level)
      phase.scalars.push_back(i);
  for (auto [op, output] : outerReductions)
    if (isInner(op) && levels[op.getOperand()] == level)
      phase.columns.push_back({op, output});
  for (auto [i, value] : llvm::enumerate(outputs)) {
    Operation *def = value.getDefiningOp();
    if (levels[value] == level && kinds.lookup(def) == MemberKind::Full &&
        kinds.count(def))
      phase.stores.push_back(i);
  }
  return phase;
}

/// Takes and gives the accumulators of the phase's inner and scalar reductions.
SmallVector<Value> RowEmitter::emitPoint(const Phase &phase, ValueRange point,
                                         ValueRange accumulators) {
  SmallVector<graph::ReduceOp> reductions(phase.inner);
  for (unsigned i : phase.scalars)
    reductions.push_back(carriedReductions[i].first);
  // All values before any store, so that loads can be shared.
  SmallVector<Value> next, columnValues, storeValues;
  for (graph::ReduceOp op : reductions)
    next.push_back(getElement(op.getOperand(), point));
  for (const OuterReduction &column : phase.columns)
    columnValues.push_back(
        getElement(graph::ReduceOp(column.first).getOperand(), point));
  for (unsigned i : phase.stores)
    storeValues.push_back(getElement(outputs[i], point));
  for (auto [op, accumulator, value] :
       llvm::zip_equal(reductions, accumulators, next))
    value =
        combine(b, loc, op.getKind(), typeOf(op.getOperand()).getElementType(),
                accumulator, value);
  for (auto [i, value] : llvm::zip_equal(phase.stores, storeValues))
    storeMemory(buffers.outputs[i], point, value,
                typeOf(outputs[i]).getElementType());
  for (auto [column, value] : llvm::zip_equal(phase.columns, columnValues))
    addToAccumulator(column, point, value);
  return next;
}

void RowEmitter::emitPhase(const Phase &phase, ValueRange row,
                           SmallVector<Value> &carried) {
  SmallVector<Value> inits;
  for (graph::ReduceOp op : phase.inner)
    inits.push_back(makeNeutral(b, loc, op.getKind(),
                                typeOf(op.getOperand()).getElementType()));
  for (unsigned i : phase.scalars)
    inits.push_back(carried[i]);
  SmallVector<Value> results = makeLoops(
      innerShape, inits, [&](ValueRange indices, ValueRange accumulators) {
        SmallVector<Value> point(row);
        llvm::append_range(point, indices);
        return emitPoint(phase, point, accumulators);
      });
  for (auto [op, result] : llvm::zip(phase.inner, results)) {
    graph::ReduceOp reduce = op;
    SmallVector<Value> at = getRowIndices(reduce.getResult(), row);
    setElement(reduce.getResult(), at, result);
  }
  for (auto [i, scalar] : llvm::enumerate(phase.scalars))
    carried[scalar] = results[phase.inner.size() + i];
}

/// What has one element a row.
void RowEmitter::emitRowResults(ValueRange row, SmallVector<Value> &carried) {
  for (auto [i, value] : llvm::enumerate(outputs)) {
    Operation *def = value.getDefiningOp();
    auto kind = kinds.find(def);
    if (kind == kinds.end() || (kind->second != MemberKind::Row &&
                                kind->second != MemberKind::InnerReduction))
      continue;
    SmallVector<Value> at = getRowIndices(value, row);
    storeMemory(buffers.outputs[i], at, getElement(value, at),
                typeOf(value).getElementType());
  }
  for (auto [i, entry] : llvm::enumerate(carriedReductions)) {
    graph::ReduceOp op = entry.first;
    if (isInner(op))
      continue;
    SmallVector<Value> at = getRowIndices(op.getOperand(), row);
    carried[i] =
        combine(b, loc, op.getKind(), typeOf(op.getOperand()).getElementType(),
                carried[i], getElement(op.getOperand(), at));
  }
}

/// One row: the phases, then its results. Takes and gives the carried
/// accumulators.
SmallVector<Value> RowEmitter::emitRow(ValueRange row, ValueRange carriedIn) {
  SmallVector<Value> carried(carriedIn);
  emitRowCode(body, row);
  for (int64_t level = 0; level <= maxLevel; ++level)
    if (Phase phase = findPhase(level); !phase.empty())
      emitPhase(phase, row, carried);
  emitRowResults(row, carried);
  return carried;
}

/// The rows from lo to hi, by their number in the rows' dims.
SmallVector<Value> RowEmitter::emitRowLoop(Value lo, Value hi,
                                           ValueRange carried) {
  return makeFor(lo, hi, 1, carried, [&](Value position, ValueRange carried) {
    SmallVector<Value> row(rowDims);
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
    return emitRow(row, carried);
  });
}

void RowEmitter::emit(const ClusterInfo &info) {
  kinds = info.kinds;
  findLevels();
  findReductions();
  clearAccumulators();
  SmallVector<Value> carried = makeNeutrals();
  if (rowDims == 0)
    carried = emitRow({}, carried);
  else if (int64_t rows = chooseBlock())
    carried = emitBlocks(buffers.lo, buffers.hi, rows, carried);
  else
    carried = emitRowLoop(buffers.lo, buffers.hi, carried);
  b.setInsertionPoint(func.getBody().front().getTerminator());
  for (auto [entry, value] : llvm::zip_equal(carriedReductions, carried)) {
    auto [op, output] = entry;
    storeMemory(buffers.outputs[output], getAccumulatorIndices(output, {}),
                value, getAccumulatorElement(op));
  }
}
