//===- RowSelector.h - Code that selects the k largest of a row -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are compared by keys: integers in the order of the elements, equal
// where those are. The k-th largest key of a row is found by halving the range
// of keys, with a pass over keys for each step; what is above it is taken, and
// of what equals it the first.
//
// Where few of a row are wanted, the row is read by vectors, and the passes are
// over the few that may be among them: an element that is no larger than the
// k-th largest of the maxima of more than k groups is none of the k largest.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_ROWSELECTOR_H
#define DIALECTS_GRAPH_IR_ROWSELECTOR_H

#include "dialects/Graph/IR/GraphSupport.h"

namespace mlir::dist::graph {

/// Checks that the last dim of `type` has the `k` elements to select from each
/// row.
LogicalResult verifyTopK(StringRef name, std::optional<Location> loc,
                         RankedTensorType type, uint64_t k);

/// How elements are ordered.
struct RowOrder {
  bool largest = true;
  bool magnitude = false;
};

/// Emits the code for one row after the other.
class RowSelector {
public:
  /// Rows of `size` elements, of which k are taken. Memory for their keys is
  /// allocated at the builder's place, outside all loops over rows.
  RowSelector(OpBuilder &builder, Location loc, Type elementType, int64_t size,
              int64_t k, RowOrder order);
  virtual ~RowSelector() = default;

  /// Selects from one row, whose coordinates are `outer`.
  void emit(ValueRange outer);

protected:
  /// Element `i` of the row, or the `lanes` elements from there on as a vector,
  /// in the compute type. Each element is read `first` once, before all else.
  virtual Value read(Value i, int64_t lanes, bool first) = 0;
  /// Gives element `i` as number `at` of those taken, in their order in the
  /// row.
  virtual void take(Value i, Value at) = 0;

  /// A scalar's key, or a vector's keys.
  Value getKey(Value element);
  /// A serial loop from 0 to `end`.
  SmallVector<Value>
  loop(Value end, ValueRange state,
       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  SmallVector<Value> at(Value i) const {
    SmallVector<Value> coordinates(row);
    coordinates.push_back(i);
    return coordinates;
  }

  OpBuilder &builder;
  Location loc;
  Type elementType;
  int64_t size, k;
  ScalarBuilder elements, keys;

private:
  /// Bounds of the k-th largest key, and how many keys reach `low`.
  struct Range {
    Value low, high, count;
  };
  using CountKeys = llvm::function_ref<Value(Value least)>;

  void planMemory();
  Value allocate(int64_t count, Type type);
  Value integer(const APInt &value);
  Value getMiddle(Value low, Value high);

  // RowSelector.cpp: key by key.
  Value loadKey(Value i);
  Value isAtLeast(Value key, Value least);
  std::pair<Value, Value> emitKeys();
  Value countAtLeast(Value least);
  Value emitSearch(Value low, Value high);
  void emitSelection(Value threshold);

  // PackedRows.cpp: by vectors.
  void emitPacked();
  Value splat(Value scalar);
  Value loadKeys(Value memory, Value first);
  Value countLanes(Value mask);
  void emitWhereAny(Value count, llvm::function_ref<void()> code);
  void storeSet(Value mask, Value what, Value memory, Value at);
  Value countPacked(arith::CmpIPredicate predicate, Value bound, Value vectors);
  Range emitMaxima(SmallVectorImpl<Value> &maxima);
  Range narrow(Range range, int64_t slack, CountKeys count);
  Value pack(Value least);
  void emitTaken(Range range, Value vectors);
  void emitTies(Value threshold, Value vectors);

  RowOrder order;
  ScalarBuilder counts;
  /// Keys of a row, behind whose end are the least ones; null: not kept.
  Value kept;
  int64_t numKeys;
  /// Keys that may be among the k and their indices in the row, in its order,
  /// and the indices of those that are; null: rows are searched key by key.
  Value packedKeys, packedIndices, takenIndices;
  int64_t lanes, numMaxima = 0; // vectors of maxima
  SmallVector<Value> row;
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_ROWSELECTOR_H
