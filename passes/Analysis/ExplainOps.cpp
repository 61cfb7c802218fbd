//===- ExplainOps.cpp - An entry's ops, for pages that draw them -*- C++
//-*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainOps.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
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

namespace {
/// Where a value's buffer begins and ends, by numbers of ops.
class Lifetimes {
public:
  explicit Lifetimes(func::FuncOp function) {
    int64_t number = 0;
    for (Operation &op : function.front())
      numbers[&op] = number++;
    for (auto [i, operand] :
         llvm::enumerate(function.front().getTerminator()->getOperands()))
      if (function.getResultAttr(i, "graph.variable"))
        state.insert(operand);
  }
  /// Bytes that come to life at each op less those that die behind it.
  void add(Value value, int64_t OpDetail::*part) {
    Operation *op = value.getDefiningOp();
    if (isa<TokenType>(value.getType()) || state.contains(value))
      return;
    int64_t bytes = getByteSize(value.getType());
    auto &list = changes[part == &OpDetail::communication];
    list[numbers.lookup(op)] += bytes;
    list[getLast(value) + 1] -= bytes;
  }
  int64_t getChange(bool communication, int64_t number) {
    auto found = changes[communication].find(number);
    return found == changes[communication].end() ? 0 : found->second;
  }

private:
  int64_t getLast(Value value) {
    int64_t last = numbers.lookup(value.getDefiningOp());
    for (Operation *user : value.getUsers()) {
      last = std::max(last, numbers.lookup(user));
      // A reduction happens in place: what it gives is the same buffer.
      if (isa<AllReduceOp, AllReduceStartOp>(user))
        for (Operation *reader : user->getUsers()) {
          last = std::max(last, numbers.lookup(reader));
          if (isa<WaitOp>(reader))
            for (Operation *next : reader->getUsers())
              last = std::max(last, numbers.lookup(next));
        }
    }
    return last;
  }

  DenseMap<Operation *, int64_t> numbers;
  DenseSet<Value> state;
  DenseMap<int64_t, int64_t> changes[2];
};
} // namespace

/// What began the transfer that the op waits for, or the op itself.
static Operation *getStart(Operation *op) {
  return isa_and_nonnull<WaitOp>(op) ? op->getOperand(0).getDefiningOp() : op;
}

bool mlir::dist::isGathered(Value value) {
  return isa_and_nonnull<AllGatherOp, AllGatherStartOp>(
      getStart(value.getDefiningOp()));
}

static bool isReduction(Operation *op) {
  return isa<AllReduceOp, AllReduceStartOp>(op);
}

std::vector<OpDetail> mlir::dist::listOps(func::FuncOp function,
                                          const ProgramTimeline &timeline) {
  Lifetimes lifetimes(function);
  for (Operation &op : function.front())
    for (Value result : op.getResults()) {
      // In place.
      if (isReduction(getStart(&op)) || isKnown(&op))
        continue;
      bool sent =
          isGathered(result) || llvm::any_of(result.getUsers(), isReduction);
      lifetimes.add(result,
                    sent ? &OpDetail::communication : &OpDetail::activations);
    }
  std::vector<OpDetail> ops;
  DenseMap<Operation *, size_t> places;
  int64_t activations = 0, communication = 0, transfer = 0, number = 0;
  for (Operation &op : function.front().without_terminator()) {
    activations += lifetimes.getChange(false, number);
    communication += lifetimes.getChange(true, number++);
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
    detail.activations = activations;
    detail.communication = communication;
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
