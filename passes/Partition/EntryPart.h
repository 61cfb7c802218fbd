//===- EntryPart.h - A program's part of an entry -*- C++ -*- -===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where ranks run programs that differ, an entry becomes one function a
// program. Each knows the entry (`dist.entry`) and which of its arguments and
// results it has (`dist.entry_index`), so that callers see one entry.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_ENTRYPART_H
#define PASSES_PARTITION_ENTRYPART_H

#include "dialects/Dist/IR/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::dist {

struct EntryPart {
  func::FuncOp function;
  /// From the entry's values to the part's.
  IRMapping values;
};

/// Adds, before the entry, a function with those of its arguments that `keeps`
/// says, and all its attributes.
EntryPart createEntryPart(func::FuncOp entry, const Twine &name,
                          function_ref<bool(BlockArgument)> keeps);

/// Ends it with `values`, which are the entry's results `numbers`; its
/// collectives get their numbers.
void finishEntryPart(EntryPart &part, func::FuncOp entry,
                     ArrayRef<unsigned> numbers, ValueRange values);

} // namespace mlir::dist

#endif // PASSES_PARTITION_ENTRYPART_H
