//===- MicrobatchCopies.h - An op's copies, one a microbatch --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of one entry, in which an op stands for its copies, and the
// copies that have been made so far.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_MICROBATCHCOPIES_H
#define PASSES_PARTITION_MICROBATCHCOPIES_H

#include "dialects/Dist/IR/CopyPlace.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// An op that stands for its copies.
struct Rolled {
  Operation *op = nullptr;
  /// The function that it is of, by number.
  unsigned program = 0;
  /// Copies of its results: one, or one a microbatch.
  int64_t copies = 1;
  /// What there is to do for it: a copy each; of a sum over the microbatches,
  /// to add each of them.
  int64_t steps = 1;
  /// Its first copy's place among values.
  size_t firstValue = 0;
  /// What copies have as attributes; the number of the copy is the one at
  /// `copyAttribute`.
  SmallVector<NamedAttribute, 4> attributes;
  int64_t copyAttribute = -1;

  /// Whether it adds up what the microbatches have.
  bool isSum() const;
};

class MicrobatchCopies {
public:
  /// `count`: of microbatches; `shown`: of how many there will be copies, the
  /// first ones and the last.
  MicrobatchCopies(MutableArrayRef<func::FuncOp> functions, int64_t count,
                   int64_t shown);

  /// The microbatch that a copy is of.
  int64_t getMicrobatch(int64_t copy) const {
    return copy + 1 == shown ? count - 1 : copy;
  }
  /// What is made for function `program` from now on is of the place.
  void setPlace(unsigned program, CopyPlace place) { places[program] = place; }

  /// Notes an op of function `program`, behind those that it reads.
  unsigned add(Operation *op, unsigned program);
  const Rolled &operator[](unsigned number) const { return all[number]; }
  unsigned size() const { return all.size(); }
  /// The op's number; none if it is not one of those added.
  std::optional<unsigned> find(Operation *op) const;

  /// Does one step: makes a copy, at the end of its function.
  void emit(unsigned number, int64_t step);
  /// Has functions give back copies; only these are left in them.
  void finish();

private:
  /// Marks what is made with its place.
  struct Marker : OpBuilder::Listener {
    std::optional<CopyPlace> place;
    void notifyOperationInserted(Operation *op,
                                 OpBuilder::InsertPoint) override;
  };

  Value get(Value value, int64_t copy);
  Operation *clone(const Rolled &rolled, int64_t copy);
  Value emitOverMicrobatches(const Rolled &rolled, int64_t step, bool &isNew);
  Value cut(Operation *op, Value value, int64_t dim, int64_t part, Type type);
  Value combine(Operation *op, Value a, Value b);
  Value join(Operation *op, ArrayRef<Value> parts, int64_t dim);
  void describe(const Rolled &rolled, Value made, int64_t step);

  MutableArrayRef<func::FuncOp> functions;
  int64_t count, shown;
  Marker marker;
  /// By function.
  std::vector<std::optional<CopyPlace>> places;
  OpBuilder builder;
  std::vector<Rolled> all;
  DenseMap<Operation *, unsigned> numbers;
  std::vector<Value> values;
  SmallVector<Attribute> copyNumbers;
};

} // namespace mlir::dist

#endif // PASSES_PARTITION_MICROBATCHCOPIES_H
