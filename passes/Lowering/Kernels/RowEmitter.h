//===- RowEmitter.h - Loops over rows and their elements -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_KERNELS_ROWEMITTER_H
#define PASSES_LOWERING_KERNELS_ROWEMITTER_H

#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Kernels/ElementEmitter.h"
#include "passes/Lowering/Kernels/KernelEmitter.h"

namespace mlir::dist {

inline RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The loops of a kernel whose ops are computed element by element.
class RowEmitter : ElementEmitter {
public:
  /// In `func`, which has its terminator only.
  RowEmitter(rt::KernelOp kernel, func::FuncOp func,
             const KernelBuffers &buffers, OpBuilder &b);

  void emit(const ClusterInfo &info);

private:
  using Body = llvm::function_ref<SmallVector<Value>(ValueRange indices,
                                                     ValueRange carried)>;
  using RowBody = llvm::function_ref<SmallVector<Value>(Value position,
                                                        ValueRange carried)>;
  /// An outer reduction, and which of the kernel's outputs it is.
  using OuterReduction = std::pair<graph::ReduceOp, unsigned>;
  /// What the loop over a row's inner points makes in one go.
  struct Phase {
    SmallVector<graph::ReduceOp> inner;
    SmallVector<unsigned> scalars; // of carriedReductions
    SmallVector<OuterReduction> columns;
    SmallVector<unsigned> stores; // outputs

    bool empty() const {
      return inner.empty() && scalars.empty() && columns.empty() &&
             stores.empty();
    }
  };

  // Rows and their phases (RowEmitter.cpp).
  void findLevels();
  void findReductions();
  /// Whether the op reduces elements of the domain, not one of each row.
  bool isInner(graph::ReduceOp op) {
    return typeOf(op.getOperand()).getShape() ==
           ArrayRef<int64_t>(kernel.getDomain());
  }
  Phase findPhase(int64_t level);
  void emitPhase(const Phase &phase, ValueRange row,
                 SmallVector<Value> &carried);
  SmallVector<Value> emitPoint(const Phase &phase, ValueRange point,
                               ValueRange accumulators);
  void emitRowResults(ValueRange row, SmallVector<Value> &carried);
  SmallVector<Value> emitRow(ValueRange row, ValueRange carried);
  SmallVector<Value> emitRowLoop(Value lo, Value hi, ValueRange carried);
  SmallVector<Value> getRowIndices(Value value, ValueRange row);
  SmallVector<Value> makeFor(Value lo, Value hi, int64_t step, ValueRange inits,
                             RowBody body);
  SmallVector<Value> makeLoops(ArrayRef<int64_t> sizes, ValueRange inits,
                               Body body);
  SmallVector<Value> makeLoopsFrom(ArrayRef<int64_t> sizes,
                                   SmallVector<Value> &indices,
                                   ValueRange inits, Body body);

  // What is reduced over rows (RowReductions.cpp).
  /// Elements of a block's sums.
  static constexpr int64_t mostBlockSums = 4096;
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
  void addToAccumulator(OuterReduction reduction, ValueRange point,
                        Value value);
  void clearAccumulators();
  SmallVector<Value> makeNeutrals();
  int64_t chooseBlock();
  SmallVector<Value> emitBlocks(Value lo, Value hi, int64_t block,
                                ValueRange carried);
  void addBlockSums();

  rt::KernelOp kernel;
  const KernelBuffers &buffers;
  Block &body;
  int64_t rowDims = 0;
  SmallVector<int64_t> rowShape, innerShape;
  SmallVector<Value> outputs; // yielded values
  llvm::DenseMap<Operation *, MemberKind> kinds;
  llvm::DenseMap<Value, int64_t> levels;
  int64_t maxLevel = 0;
  SmallVector<graph::ReduceOp> innerReductions;
  /// Outer reductions, and those carried.
  SmallVector<OuterReduction> outerReductions, carriedReductions;
  /// By output number: the sums of a block of rows, while one is summed.
  llvm::DenseMap<unsigned, Value> blockSums, sumsOfBlock;
};

} // namespace mlir::dist

#endif // PASSES_LOWERING_KERNELS_ROWEMITTER_H
