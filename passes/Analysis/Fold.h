//===- Fold.h - Lists of what repeats, made short -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of many layers says the same things for each, under names that differ
// in a number. Tables and pages say them once, with the range of the number.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_FOLD_H
#define PASSES_ANALYSIS_FOLD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// What repeats fewer times than this is written out.
inline constexpr size_t kLeastRepeats = 3;

/// The text with `#` for each number: `layer12.up` gives `layer#.up`.
std::string getNamePattern(llvm::StringRef text);

/// One text for texts of one pattern: `layer{0-95}.up`; a number that all have
/// stays, numbers with gaps are listed (`{0,2,7}`) as far as that is short.
std::string foldNames(llvm::ArrayRef<llvm::StringRef> texts);

/// The parts of a list that `separator` joins, each pattern once; at most
/// `most` of them, and how many more there are. 0: all.
std::string foldList(llvm::StringRef text, llvm::StringRef separator,
                     size_t most = 0);

/// `period` items from `begin` on that come `times` times one after another.
struct FoldedRun {
  size_t begin, period, times;
  size_t end() const { return begin + period * times; }
};

/// Cuts the items, told apart by `keys`, into runs: greedily the longest one
/// from where the last one ended. What does not repeat is a run of one period.
std::vector<FoldedRun> foldRuns(llvm::ArrayRef<unsigned> keys,
                                size_t maxPeriod = 512);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_FOLD_H
