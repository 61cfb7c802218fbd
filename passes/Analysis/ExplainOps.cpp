//===- ExplainOps.cpp - An entry's ops, for pages that draw them ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainOps.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/ExplainMemory.h"
#include "passes/Analysis/KnownValues.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

/// `data, -, model`: a word a dim; then what it is a sum over.
static std::string describeSharding(ShardingAttr sharding) {
  if (!sharding)
    return "";
  std::string text;
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim)
    text += (dim ? ", " : "") + (sharding.getAxes(dim).empty()
                                     ? std::string("-")
                                     : formatAxes(sharding.getAxes(dim)));
  if (!sharding.getUnreduced().empty())
    text += (text.empty() ? "sum over " : "; sum over ") +
            formatAxes(sharding.getUnreduced());
  return text;
}

std::vector<OpDetail> mlir::dist::listOps(func::FuncOp function,
                                          const ProgramTimeline &timeline) {
  PortVariables variables(function);
  MemoryReport memory;
  std::vector<LiveBytes> live = addLiveMemory(function, variables, memory);
  std::vector<OpDetail> ops;
  DenseMap<Operation *, size_t> places;
  int64_t transfer = 0, number = 0;
  for (Operation &op : function.front().without_terminator()) {
    const LiveBytes &bytes = live[number++];
    // As the rows of the table are numbered.
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    bool isRow = collective && !collective.isLocal() && !isa<RecvOp>(op);
    int64_t row = isRow ? transfer++ : -1;
    if (isKnown(&op))
      continue;
    OpDetail detail;
    detail.name = getOriginName(&op);
    detail.kind = op.getName().stripDialect().str();
    Type type = op.getNumResults()    ? op.getResult(0).getType()
                : op.getNumOperands() ? op.getOperand(0).getType()
                                      : Type();
    if (auto tensor = dyn_cast_or_null<RankedTensorType>(type)) {
      llvm::raw_string_ostream os(detail.type);
      llvm::interleave(tensor.getShape(), os, "x");
      os << (tensor.getRank() ? "x" : "") << tensor.getElementType();
    }
    if (op.getNumResults())
      detail.sharding = describeSharding(findSharding(op.getResult(0)));
    detail.transfer = row;
    detail.activations = bytes.activations;
    detail.others = bytes.others;
    if (auto copy = op.getAttrOfType<IntegerAttr>(kMicrobatchAttr))
      detail.microbatch = copy.getInt();
    places[&op] = ops.size();
    ops.push_back(std::move(detail));
  }
  for (const Activity &activity : timeline.activities)
    if (auto found = places.find(activity.op); found != places.end()) {
      OpDetail &op = ops[found->second];
      // A transfer that runs beside the program says nothing of when it is.
      if (activity.kind != Activity::Kind::Transfer)
        op.when = activity.end / timeline.end;
    }
  // What takes no time is where what comes before it has ended.
  for (size_t i = 1; i < ops.size(); ++i)
    ops[i].when = std::max(ops[i].when, ops[i - 1].when);
  return ops;
}
