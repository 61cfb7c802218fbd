//===- GraphOrder.cpp - The after op -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Graph/IR/GraphSupport.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphOrderOps.cpp.inc"

LogicalResult AfterOp::differentiate(OpBuilder &builder,
                                     ValueRange resultCotangents,
                                     ArrayRef<bool> wanted,
                                     SmallVectorImpl<Value> &cotangents) {
  cotangents.push_back(wanted[0] ? resultCotangents[0] : Value());
  cotangents.push_back({});
  return success();
}

/// The anchor is only waited for. With factors of its own it could take an axis
/// that the operand is split over.
ShardingRule AfterOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d)
    rule.factor(getType().getDimSize(d), {{0, d}}, {{0, d}});
  return rule.linear({0}).unread(1).build();
}

LogicalResult AfterOp::evaluate(ArrayRef<HostTensor> operands,
                                SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands[0]);
  return success();
}
