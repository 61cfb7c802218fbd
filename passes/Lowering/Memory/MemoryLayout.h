//===- MemoryLayout.h - Where a function's values lie -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that share memory (views, reductions in place) form one *storage*.
// Each storage is the binding of an argument, the binding of a result, a block
// of the arena, an address that an `rt.publish` gives, or, where only the
// library knows its size, a slot in the library's own memory.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_MEMORY_MEMORYLAYOUT_H
#define PASSES_LOWERING_MEMORY_MEMORYLAYOUT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Lowering/Memory/MemoryPlan.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist {

struct Storage {
  /// A `Part` becomes what its whole is, once that is known.
  enum Kind {
    Unknown,
    Argument,
    Result,
    Arena,
    Peer,
    Slot,
    Part
  } kind = Unknown;
  /// Of the argument, the result, the block, what rt.publish ops give, or the
  /// slot.
  int64_t number = -1;
  /// Within a block that several share, an argument, or (a part) its whole.
  int64_t delta = 0;
  int64_t bytes = 0;
  int64_t first = -1, last = -1;
  std::string what;
  /// `{kernel, memory}` of a value in the library's layout; null for others.
  DictionaryAttr packed;
  /// The storage that this is a part of: it lives as long.
  int64_t whole = -1;
  /// Whether some storage is a `Part` of this one.
  bool hasParts = false;
};

/// Whether the op's results are parts of its operands where these lie.
bool isView(AllSliceOp op);
/// Where the slice begins in its operand, in bytes; none where it is not one
/// piece of it.
std::optional<int64_t> findPieceOffset(graph::SliceOp op);
/// Whether the many operands lie one behind the other in the result, so that no
/// kernel has to choose among them: each is computed where it belongs, or
/// copied there.
bool liesSideBySide(Operation *op);
/// What the value is, under other shapes.
Value getReshaped(Value value);

/// What is copied when everything else is done.
struct FinalCopy {
  Value from;
  bool toArgument;
  int64_t number;
};

struct MemoryLayout {
  std::vector<Storage> storages;
  llvm::DenseMap<Value, unsigned> storageIndex;
  std::vector<MemoryBlock> blocks;
  /// In time; views have none of their own.
  llvm::DenseMap<Operation *, int64_t> positions;
  /// What each slot of the library's memory holds by turns.
  SmallVector<SmallVector<Attribute>> slots;
  SmallVector<FinalCopy> copies;
  int64_t arenaBytes = 0;

  Storage &storageOf(Value value) { return storages[storageIndex[value]]; }
  /// Where the bytes from `offset` on of a storage lie, once that is known.
  static Storage getPart(const Storage &whole, int64_t offset, int64_t bytes) {
    Storage part;
    part.kind = whole.kind;
    part.number = whole.number;
    part.delta = whole.delta + offset;
    part.bytes = bytes;
    return part;
  }
  /// The storage that this one is a part of, or itself.
  unsigned wholeOf(unsigned index) const {
    while (storages[index].whole >= 0)
      index = storages[index].whole;
    return index;
  }
};

/// Gives every value of the function its memory.
MemoryLayout layOutMemory(func::FuncOp func, const SymbolTable &symbols);

} // namespace mlir::dist

#endif // PASSES_LOWERING_MEMORY_MEMORYLAYOUT_H
