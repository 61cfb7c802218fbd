//===- ExplainMemory.cpp - What is live while an entry runs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainMemory.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/ExplainOps.h"
#include "passes/Analysis/KnownValues.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class LiveMemory {
public:
  LiveMemory(func::FuncOp function, PortVariables &variables)
      : block(function.front()), function(function), variables(variables) {}
  void run(MemoryReport &memory);

private:
  void findBuffers(MemoryReport &memory);
  void findScattered();
  bool findUpdates(Value part);
  void simulate();
  void define(Operation &op);
  void release(Operation &op);
  void add(Value value, int64_t sign);
  bool counts(Value value) const;

  Block &block;
  func::FuncOp function;
  PortVariables &variables;

  /// What has no place among what is live: it is in buffers of reductions, or
  /// it is a variable.
  llvm::DenseSet<Value> buffers;
  /// Gradients that ranks reduce to a part each: before, and the parts.
  llvm::SetVector<Value> whole, parts;
  /// The results of the function that come of such parts.
  llvm::DenseSet<unsigned> ofParts;

  /// At a time, and the most of each.
  struct Bytes {
    int64_t all = 0, gathered = 0, whole = 0, activations = 0;
  } live, most;
};
} // namespace

static ValueRange getResults(Operation *op) {
  if (op->getNumResults() == 1 && isa<TokenType>(op->getResult(0).getType()))
    op = *op->getResult(0).user_begin();
  return op->getResults();
}

void LiveMemory::findBuffers(MemoryReport &memory) {
  auto addBuffer = [&](Value value) {
    buffers.insert(value);
    memory.communication += getByteSize(value.getType());
  };
  for (Operation &op : block) {
    if (isa<AllReduceOp, AllReduceStartOp>(op)) {
      llvm::for_each(op.getOperands(), addBuffer);
      // Reduced in place: the result needs nothing of its own.
      buffers.insert_range(getResults(&op));
    }
    // Copies of the host's variables are there for the step only; to the host
    // gradients come as they are reduced.
    if (isa<HostReduceOp>(op) && op.getNumOperands() > 0)
      llvm::for_each(op.getOperands(), addBuffer);
    else if (isa<HostBroadcastOp, HostReduceOp>(op))
      llvm::for_each(op.getResults(), addBuffer);
  }
  for (auto [i, operand] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (function.getResultAttr(i, "graph.variable"))
      buffers.insert(operand);
}

/// Whether a value leads, element by element, to the new value of a trainable
/// variable, or of one that is gathered then.
bool LiveMemory::findUpdates(Value part) {
  bool found = false;
  llvm::SmallSetVector<Value, 16> reached;
  reached.insert(part);
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      unsigned number = use.getOperandNumber();
      if (user == block.getTerminator()) {
        if (auto variable = variables.ofResult(number);
            variable && variable.getTrainable()) {
          ofParts.insert(number);
          found = true;
        }
        continue;
      }
      bool isGather = isa<AllGatherOp, AllGatherStartOp>(user);
      for (auto [j, result] : llvm::enumerate(getResults(user)))
        if (isGather ? j == number && buffers.contains(result)
                     : result.getType() == reached[i].getType())
          reached.insert(result);
    }
  return found;
}

void LiveMemory::findScattered() {
  for (Operation &op : block)
    if (isa<ReduceScatterOp, ReduceScatterStartOp>(op))
      for (auto [operand, part] : llvm::zip(op.getOperands(), getResults(&op)))
        if (findUpdates(part)) {
          whole.insert(operand);
          parts.insert(part);
        }
}

bool LiveMemory::counts(Value value) const {
  if (isa<BlockArgument>(value) || isa<TokenType>(value.getType()) ||
      buffers.contains(value))
    return false;
  Operation *op = value.getDefiningOp();
  return !isKnown(op) && !isa<graph::AfterOp>(op);
}

void LiveMemory::add(Value value, int64_t sign) {
  int64_t bytes = sign * getByteSize(value.getType());
  live.all += bytes;
  // What is gathered has a buffer as long as it is read.
  if (isGathered(value))
    live.gathered += bytes;
  else if (whole.contains(value))
    live.whole += bytes;
  else if (!parts.contains(value))
    live.activations += bytes;
}

void LiveMemory::define(Operation &op) {
  for (Value result : op.getResults())
    if (counts(result))
      add(result, 1);
  most.all = std::max(most.all, live.all);
  most.gathered = std::max(most.gathered, live.gathered);
  most.whole = std::max(most.whole, live.whole);
  most.activations = std::max(most.activations, live.activations);
}

void LiveMemory::release(Operation &op) {
  // What waits is the value itself.
  auto getUsers = [](Value value) {
    SmallVector<Operation *> users(value.getUsers());
    for (Operation *user : value.getUsers())
      if (isa<graph::AfterOp>(user) && user->getOperand(0) == value)
        llvm::append_range(users, user->getUsers());
    return users;
  };
  llvm::SmallDenseSet<Value, 4> seen;
  for (Value operand : op.getOperands()) {
    if (auto after = operand.getDefiningOp<graph::AfterOp>())
      operand = after.getOperand();
    if (!counts(operand) || !seen.insert(operand).second)
      continue;
    bool last = llvm::all_of(getUsers(operand), [&](Operation *user) {
      return user == &op || user->isBeforeInBlock(&op);
    });
    if (last)
      add(operand, -1);
  }
}

void LiveMemory::simulate() {
  for (Operation &op : block) {
    // A part stays where it was reduced.
    bool scatters = isa<ReduceScatterOp>(op);
    if (scatters)
      release(op);
    define(op);
    if (!scatters)
      release(op);
    for (Value result : op.getResults())
      if (result.use_empty() && counts(result))
        add(result, -1);
  }
}

void LiveMemory::run(MemoryReport &memory) {
  findBuffers(memory);
  findScattered();
  simulate();
  // A trainable variable that the entry writes had a gradient of its size.
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto variable = variables.ofResult(i))
      if (variable.getTrainable() && !ofParts.contains(i))
        memory.gradients += getByteSize(function.getResultTypes()[i]);
  // Gradients that no all-reduce gives were live among the activations.
  int64_t counted =
      std::max<int64_t>(0, memory.gradients - memory.communication);
  memory.activations = std::max<int64_t>(0, most.activations - counted);
  memory.peak = memory.parameters + memory.slots + memory.otherState +
                memory.inputs + std::max<int64_t>(0, most.all - counted) +
                std::max(memory.gradients, memory.communication);
  memory.communication += most.gathered;
  // Where not all are there at once, whole ones are in a buffer until they are
  // reduced, and their parts are what stays.
  auto sum = [](const llvm::SetVector<Value> &values) {
    int64_t bytes = 0;
    for (Value value : values)
      bytes += getByteSize(value.getType());
    return bytes;
  };
  if (most.whole < sum(whole)) {
    memory.communication += most.whole;
    memory.gradients += sum(parts);
  } else {
    memory.gradients += sum(whole);
  }
}

void mlir::dist::addLiveMemory(func::FuncOp function, PortVariables &variables,
                               MemoryReport &memory) {
  LiveMemory(function, variables).run(memory);
}
