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
// Sums over many rows are made of sums over blocks of rows: rounding then grows
// with the root of a block's rows and that of the blocks, not of all rows
// (Higham 2002, Accuracy and Stability of Numerical Algorithms, 4.3).
//
// Elements are made by the ops' `emitElement`; what was made at a point is kept
// and used again, so that a value with several uses is computed once.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Kernels/KernelEmitter.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Kernels/ElementEmitter.h"
#include "passes/Lowering/Kernels/ReductionCode.h"
#include "passes/Lowering/Winograd/WinogradEmitter.h"

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
  // No loop touches an empty tensor; upstream converts no memref without
  // elements to a pointer.
  SmallVector<int64_t> shape(tensor.getShape());
  llvm::replace(shape, 0, 1);
  return MemRefType::get(shape, element);
}

namespace {

class Emitter : ElementEmitter {
public:
  Emitter(rt::KernelOp kernel, OpBuilder &b)
      : ElementEmitter(b, kernel.getLoc()), kernel(kernel),
        body(kernel.getBody().front()) {}

  FailureOr<func::FuncOp> run();

private:
  using Body = llvm::function_ref<SmallVector<Value>(ValueRange indices,
                                                     ValueRange carried)>;

  using RowBody = llvm::function_ref<SmallVector<Value>(Value position,
                                                        ValueRange carried)>;
  /// Elements of a block's sums.
  static constexpr int64_t mostBlockSums = 4096;

  LogicalResult emitAlone(Operation *op);
  LogicalResult emitRows(const ClusterInfo &info);
  SmallVector<Value> emitRow(ValueRange row, ValueRange carried);
  SmallVector<Value> emitRowLoop(Value lo, Value hi, ValueRange carried);
  SmallVector<Value> emitBlocks(Value lo, Value hi, int64_t block,
                                ValueRange carried);
  int64_t chooseBlock();
  SmallVector<Value> makeFor(Value lo, Value hi, int64_t step, ValueRange inits,
                             RowBody body);
  void clearAccumulators();
  SmallVector<Value> makeNeutrals();
  void findLevels();
  SmallVector<Value> makeLoops(ArrayRef<int64_t> sizes, ValueRange inits,
                               Body body);
  SmallVector<Value> makeLoopsFrom(ArrayRef<int64_t> sizes,
                                   SmallVector<Value> &indices,
                                   ValueRange inits, Body body);
  SmallVector<Value> getRowIndices(Value value, ValueRange row);
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
  /// Where an outer reduction adds: its block's sums, or the output.
  Value loadAccumulator(unsigned output, graph::ReduceOp op, ValueRange kept);
  void storeAccumulator(unsigned output, graph::ReduceOp op, ValueRange kept,
                        Value value);

  rt::KernelOp kernel;
  Block &body;
  int64_t rowDims = 0;
  SmallVector<int64_t> rowShape, innerShape;
  Value chunk;
  SmallVector<Value> outputMemory;
  SmallVector<Value> outputs; // yielded values
  llvm::DenseMap<Operation *, MemberKind> kinds;
  llvm::DenseMap<Value, int64_t> levels;
  int64_t maxLevel = 0;
  SmallVector<graph::ReduceOp> innerReductions;
  /// Outer reductions with their output numbers, and those carried.
  SmallVector<std::pair<graph::ReduceOp, unsigned>> outerReductions;
  SmallVector<std::pair<graph::ReduceOp, unsigned>> carriedReductions;
  /// By output number: the sums of a block of rows, while one is summed.
  llvm::DenseMap<unsigned, Value> blockSums, sumsOfBlock;
};

} // namespace

SmallVector<Value> Emitter::makeLoopsFrom(ArrayRef<int64_t> sizes,
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

SmallVector<Value> Emitter::makeLoops(ArrayRef<int64_t> sizes, ValueRange inits,
                                      Body body) {
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

Value Emitter::loadAccumulator(unsigned output, graph::ReduceOp op,
                               ValueRange kept) {
  if (Value sums = blockSums.lookup(output))
    return memref::LoadOp::create(b, loc, sums, kept);
  Value memory = outputMemory[output];
  SmallVector<Value> at = getAccumulatorIndices(output, kept);
  Type element = getAccumulatorElement(op);
  if (element.isInteger(1))
    return loadMemory(memory, at, element);
  return memref::LoadOp::create(b, loc, memory, at);
}

void Emitter::storeAccumulator(unsigned output, graph::ReduceOp op,
                               ValueRange kept, Value value) {
  if (Value sums = blockSums.lookup(output)) {
    memref::StoreOp::create(b, loc, value, sums, kept);
    return;
  }
  storeMemory(outputMemory[output], getAccumulatorIndices(output, kept), value,
              getAccumulatorElement(op));
}

/// One row: the phases, then what has one element a row. Takes and gives the
/// carried accumulators.
SmallVector<Value> Emitter::emitRow(ValueRange row, ValueRange carriedIn) {
  SmallVector<Value> carried(carriedIn);
  emitRowCode(body, row);
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
      if (levels[value] == level && kinds.lookup(def) == MemberKind::Full &&
          kinds.count(def))
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
            next[i] = combine(b, loc, op.getKind(),
                              typeOf(op.getOperand()).getElementType(),
                              accumulator, next[i]);
          }
          for (auto [i, value] : llvm::zip_equal(stores, storeValues))
            storeMemory(outputMemory[i], point, value,
                        typeOf(outputs[i]).getElementType());
          for (auto [column, value] : llvm::zip_equal(columns, columnValues)) {
            auto [op, output] = column;
            SmallVector<Value> kept;
            for (auto [dim, index] : llvm::enumerate(point))
              if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
                kept.push_back(index);
            Value sum = combine(b, loc, op.getKind(), getAccumulatorElement(op),
                                loadAccumulator(output, op, kept), value);
            storeAccumulator(output, op, kept, sum);
          }
          return next;
        });
    for (auto [op, result] : llvm::zip(inner, results)) {
      SmallVector<Value> at = getRowIndices(op.getResult(), row);
      setElement(op.getResult(), at, result);
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
    carried[i] =
        combine(b, loc, op.getKind(), typeOf(op.getOperand()).getElementType(),
                carried[i], getElement(op.getOperand(), at));
  }
  return carried;
}

void Emitter::clearAccumulators() {
  for (auto &[op, output] : outerReductions) {
    Value neutral =
        makeNeutral(b, loc, op.getKind(), getAccumulatorElement(op));
    makeLoops(
        typeOf(op.getResult()).getShape(), {},
        [&, op = op, output = output](ValueRange indices, ValueRange) mutable {
          storeAccumulator(output, op, indices, neutral);
          return SmallVector<Value>();
        });
  }
}

/// Of the carried reductions.
SmallVector<Value> Emitter::makeNeutrals() {
  SmallVector<Value> neutrals;
  for (auto [op, output] : carriedReductions)
    neutrals.push_back(makeNeutral(b, loc, op.getKind(),
                                   typeOf(op.getOperand()).getElementType()));
  return neutrals;
}

SmallVector<Value> Emitter::makeFor(Value lo, Value hi, int64_t step,
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

/// The rows from lo to hi, by their number in the rows' dims.
SmallVector<Value> Emitter::emitRowLoop(Value lo, Value hi,
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

/// Rows of a block where a chunk sums up so many terms that blocks gain: as
/// many terms as there are blocks, or one row; 0: no blocks.
int64_t Emitter::chooseBlock() {
  int64_t points = ShapedType::getNumElements(kernel.getDomain());
  if (points == 0)
    return 0;
  int64_t terms = 0, sums = 0;
  auto add = [&](graph::ReduceOp op) {
    auto type = typeOf(op.getResult());
    sums += type.getNumElements();
    if (op.getKind() == Reduction::Sum && isa<FloatType>(type.getElementType()))
      terms = std::max(terms, points / type.getNumElements());
  };
  for (auto &entry : outerReductions)
    add(entry.first);
  for (auto &entry : carriedReductions)
    add(entry.first);
  int64_t rows = ShapedType::getNumElements(rowShape);
  // The sums of a block stay in the nearest cache.
  if (terms / kernel.getChunks() < kLongSumTerms || sums > mostBlockSums)
    return 0;
  int64_t termsOfBlock = int64_t(1)
                         << llvm::Log2_64(terms / kernel.getChunks()) / 2;
  return std::max<int64_t>(1, termsOfBlock * rows / terms);
}

SmallVector<Value> Emitter::emitBlocks(Value lo, Value hi, int64_t rows,
                                       ValueRange carried) {
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&func.getBody().front());
    for (auto [op, output] : outerReductions) {
      auto type = MemRefType::get(typeOf(op.getResult()).getShape(),
                                  getComputeType(getAccumulatorElement(op)));
      sumsOfBlock[output] = memref::AllocaOp::create(
          b, loc, type, b.getI64IntegerAttr(cacheLine));
    }
  }
  return makeFor(lo, hi, rows, carried, [&](Value begin, ValueRange carried) {
    Value end = arith::MinUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, begin, getConstantIndex(rows)),
        hi);
    blockSums = sumsOfBlock;
    clearAccumulators();
    SmallVector<Value> sums = emitRowLoop(begin, end, makeNeutrals());
    blockSums.clear();
    for (auto [op, output] : outerReductions)
      makeLoops(typeOf(op.getResult()).getShape(), {},
                [&, op = op, output = output](ValueRange indices,
                                              ValueRange) mutable {
                  Value sum =
                      combine(b, loc, op.getKind(), getAccumulatorElement(op),
                              loadAccumulator(output, op, indices),
                              memref::LoadOp::create(
                                  b, loc, sumsOfBlock[output], indices));
                  storeAccumulator(output, op, indices, sum);
                  return SmallVector<Value>();
                });
    for (auto [i, entry] : llvm::enumerate(carriedReductions)) {
      graph::ReduceOp op = entry.first;
      sums[i] = combine(b, loc, op.getKind(),
                        typeOf(op.getOperand()).getElementType(), carried[i],
                        sums[i]);
    }
    return sums;
  });
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
  clearAccumulators();
  SmallVector<Value> carried = makeNeutrals();
  unsigned numArguments = func.getNumArguments();
  Value lo = func.getArgument(numArguments - 3);
  Value hi = func.getArgument(numArguments - 2);
  if (rowDims == 0)
    carried = emitRow({}, carried);
  else if (int64_t rows = chooseBlock())
    carried = emitBlocks(lo, hi, rows, carried);
  else
    carried = emitRowLoop(lo, hi, carried);
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
    // It is not read, but the loops write it.
    results.push_back(memref::AllocOp::create(
        b, loc, cast<MemRefType>(getMemoryType(result.getType(), false))));
  }
  auto iface = dyn_cast<LoopedOpInterface>(op);
  unsigned numArguments = func.getNumArguments();
  if (!iface || failed(iface.emitLoops(b, loc, operands, results,
                                       func.getArgument(numArguments - 3),
                                       func.getArgument(numArguments - 2))))
    return op->emitOpError("no kernel can be generated for it; rewrite the "
                           "model without this op");
  for (Value result : results)
    if (result.getDefiningOp<memref::AllocOp>())
      memref::DeallocOp::create(b, loc, result);
  return success();
}

FailureOr<func::FuncOp> Emitter::run() {
  Operation *first = body.empty() ? nullptr : &body.front();
  bool alone = isa_and_nonnull<LoopedOpInterface>(first);
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
    markStored(value);
  }
  markCompared(body);
  if (isWinograd(first)) {
    unsigned numBuffers = func.getNumArguments() - 3;
    KernelBuffers buffers;
    for (Value operand : first->getOperands())
      buffers.inputs.push_back(memoryOf.lookup(operand));
    buffers.outputs = outputMemory;
    buffers.lo = func.getArgument(numBuffers);
    buffers.hi = func.getArgument(numBuffers + 1);
    buffers.chunk = chunk;
    emitWinograd(first, buffers, b);
    return func;
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
