//===- FactorConflicts.cpp - Which split a factor gets -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/FactorConflicts.h"

using namespace mlir;
using namespace mlir::dist;

static AxisList findCommon(ArrayRef<FactorSplit> splits) {
  AxisList common = splits.front().axes;
  for (const FactorSplit &split : splits)
    while (!isPrefix(common, split.axes))
      common.pop_back();
  return common;
}

AxisList mlir::dist::chooseSplit(ArrayRef<FactorSplit> splits,
                                 OnConflict onConflict) {
  if (splits.empty())
    return {};
  // Of equals, the first: operands come before results.
  const FactorSplit *longest = &splits.front(), *largest = &splits.front();
  for (const FactorSplit &split : splits) {
    if (split.axes.size() > longest->axes.size())
      longest = &split;
    if (split.bytes > largest->bytes)
      largest = &split;
  }
  bool agree = llvm::all_of(splits, [&](const FactorSplit &split) {
    return isPrefix(split.axes, longest->axes);
  });
  if (agree)
    return longest->axes;
  switch (onConflict) {
  case OnConflict::KeepCommon:
    return findCommon(splits);
  case OnConflict::TakeLargest:
    return largest->axes;
  }
  llvm_unreachable("all policies are handled");
}
