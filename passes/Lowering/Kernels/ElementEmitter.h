//===- ElementEmitter.h - Code of one element -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_KERNELS_ELEMENTEMITTER_H
#define PASSES_LOWERING_KERNELS_ELEMENTEMITTER_H

#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

namespace mlir::dist {

/// Computes elements of a kernel's values at the builder's place, from memory
/// or by the ops' `emitElement`. What was made at a point is kept and used
/// again where it is visible, so that a value with several uses is computed
/// once.
class ElementEmitter {
public:
  ElementEmitter(OpBuilder &b, Location loc) : b(b), loc(loc) {}

protected:
  Value getElement(Value value, ValueRange indices);
  /// Says what an element is, where it is no op's `emitElement` (reductions).
  void setElement(Value value, ValueRange indices, Value element);
  /// The rows at `row` of what the kernel makes a row at a time, before all
  /// that reads them.
  void emitRowCode(Block &body, ValueRange row);
  /// In the type in which elements are computed; booleans are bytes in memory.
  Value loadMemory(Value memref, ValueRange indices, Type element);
  void storeMemory(Value memref, ValueRange indices, Value value, Type element);
  Value getConstantIndex(int64_t value);
  /// Other kernels will read `value` from memory.
  void markStored(Value value);
  /// Two values of the kernel may be compared.
  void markCompared(Block &body);

  static constexpr int64_t cacheLine = 64;

  OpBuilder &b;
  Location loc;
  func::FuncOp func;
  /// Of values that are in memory: the kernel's block arguments.
  llvm::DenseMap<Value, Value> memoryOf;

private:
  /// `element` as it is after a store, if `value` is stored or compared.
  Value roundStored(Value value, Value element);
  Value emitReshaped(graph::ReshapeOp op, ValueRange indices);
  bool isVisible(Value value);
  SmallVector<const void *> makeKey(ValueRange indices);

  /// Of values of which the row at hand is in memory, in their compute type.
  llvm::DenseMap<Value, Value> rowMemoryOf;
  std::map<std::pair<void *, SmallVector<const void *>>, Value> known;
  llvm::DenseSet<Value> rounded;
  llvm::DenseMap<int64_t, Value> constants;
};

} // namespace mlir::dist

#endif // PASSES_LOWERING_KERNELS_ELEMENTEMITTER_H
