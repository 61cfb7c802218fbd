//===- ExplainMemory.cpp - What is live while an entry runs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainMemory.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/KnownValues.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What a value's memory is for.
enum class Use {
  None, // it has none of its own
  Activation,
  Gradient,
  Bucket, // a gradient in a buffer of a reduction
  Whole,  // a gradient of which each rank keeps a part
  Part,   // that part
  Buffer  // of another collective
};

/// Of the ops that only move or compute elements one by one: the values that
/// they start from (two say as much as more), and whether a variable is among
/// them.
struct Origin {
  SmallVector<Value, 2> roots;
  bool ofState = false;
  void add(const Origin &other) {
    ofState |= other.ofState;
    for (Value root : other.roots)
      if (roots.size() < 2 && !llvm::is_contained(roots, root))
        roots.push_back(root);
  }
};

class LiveMemory {
public:
  LiveMemory(func::FuncOp function, PortVariables &variables)
      : block(function.front()), function(function), variables(variables) {
    for (Operation &op : block)
      numbers[&op] = numbers.size();
  }
  std::vector<LiveBytes> run(MemoryReport &memory);

private:
  void findOrigins();
  void findUpdates();
  bool isUpdate(Operation *op) const {
    return updates.contains(op) && !shards.contains(op);
  }
  void markGradient(Value value);
  void findUses();
  int64_t findBegin(Value value) const;
  int64_t findEnd(Value value);
  bool counts(Value value) const;

  Block &block;
  func::FuncOp function;
  PortVariables &variables;
  DenseMap<Operation *, int64_t> numbers;
  DenseMap<Value, Origin> origins;
  /// Sums of several values, such as of the gradients of microbatches.
  DenseSet<Operation *> sums;
  /// Ops whose elements go nowhere but into new values of variables, which one
  /// kernel a variable computes in place; true: of trainable ones, or of what
  /// is kept for them. Or into one number, for which a kernel reads what they
  /// are made of.
  DenseMap<Operation *, bool> updates;
  /// The last of them, where what they give is a part that has to be gathered.
  DenseSet<Operation *> shards;
  llvm::MapVector<Value, Use> uses;
  DenseMap<Value, int64_t> ends;
};
} // namespace

static bool isAllReduce(Operation *op) {
  return op && isOfKind(op, CollectiveKind::AllReduce);
}
static bool isReduceScatter(Operation *op) {
  return op && isOfKind(op, CollectiveKind::ReduceScatter);
}
static bool isAllGather(Operation *op) {
  return op && isOfKind(op, CollectiveKind::AllGather);
}

/// Whether a kernel that computes elements takes the op into itself.
static bool isElementwise(Operation *op) {
  std::optional<Movement> movement = findMovement(op);
  return op->hasTrait<OpTrait::Elementwise>() || movement == Movement::Repeat ||
         movement == Movement::View || movement == Movement::Slice ||
         isa<AllSliceOp>(op);
}

//===----------------------------------------------------------------------===//
// Which values are what
//===----------------------------------------------------------------------===//

void LiveMemory::findOrigins() {
  for (BlockArgument argument : block.getArguments())
    if (variables.ofArgument(argument.getArgNumber()))
      origins[argument].ofState = true;
  for (Operation &op : block) {
    Origin origin;
    if (isElementwise(&op)) {
      for (Value operand : op.getOperands())
        if (!hasOneElement(operand.getType()))
          origin.add(origins.lookup(operand));
      if (origin.ofState || origin.roots.size() < 2) {
        for (Value result : op.getResults())
          origins[result] = origin;
        continue;
      }
      sums.insert(&op);
    }
    if (!isKnown(&op))
      for (Value result : op.getResults())
        origins[result].roots = {result};
  }
}

void LiveMemory::findUpdates() {
  for (Operation &op : llvm::reverse(block)) {
    if (!isElementwise(&op) || sums.contains(&op) || isKnown(&op))
      continue;
    bool only = true, ofTrained = false, isShard = false;
    auto follow = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (user == block.getTerminator()) {
        auto variable = variables.ofResult(use.getOperandNumber());
        only &= bool(variable);
        ofTrained |=
            variable && (variable.getTrainable() || variable.getSlotOf());
      } else if (auto found = updates.find(user); found != updates.end()) {
        ofTrained |= found->second;
      } else if (!isa<graph::ReduceOp>(user) ||
                 !hasOneElement(user->getResult(0).getType())) {
        only = false;
      }
    };
    for (OpOperand &use : op.getUses())
      if (isAllGather(use.getOwner())) {
        isShard = true;
        for (OpOperand &next :
             getCollectiveResults(use.getOwner())[use.getOperandNumber()]
                 .getUses())
          follow(next);
      } else {
        follow(use);
      }
    if (only && !op.use_empty()) {
      updates[&op] = ofTrained;
      if (isShard)
        shards.insert(&op);
    }
  }
}

void LiveMemory::markGradient(Value value) {
  Operation *definition = value.getDefiningOp();
  if (!definition || !counts(value) || hasOneElement(value.getType()))
    return;
  auto [it, isNew] = uses.insert({value, Use::Gradient});
  if (!isNew && (it->second == Use::Whole || it->second == Use::Part))
    return;
  Operation *start = getStart(definition);
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (isReduceScatter(start)) {
    uses[value] = Use::Part;
    Value operand = start->getOperand(number);
    markGradient(operand);
    uses[operand] = Use::Whole;
  } else if (isAllReduce(start)) {
    Value operand = start->getOperand(number);
    if (!counts(operand)) {
      uses[value] = Use::Bucket;
      return;
    }
    markGradient(operand);
    Use &use = uses[operand];
    if (use != Use::Part)
      use = Use::Bucket;
    uses[value] = Use::None;
  } else if (isAllGather(start)) {
    uses[value] = Use::Bucket;
    markGradient(start->getOperand(number));
  } else if (isNew && sums.contains(definition)) {
    for (Value operand : definition->getOperands())
      markGradient(operand);
  }
}

/// Whether the value has memory at all.
bool LiveMemory::counts(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && !isa<TokenType>(value.getType()) && !isKnown(op) &&
         !isa<graph::AfterOp>(op) && !isUpdate(op);
}

void LiveMemory::findUses() {
  // A gradient is what an update of what is trained reads.
  for (auto [op, ofTrained] : updates)
    if (ofTrained)
      for (Value operand : op->getOperands())
        if (Operation *definition = operand.getDefiningOp()) {
          if (isa<graph::AfterOp>(definition))
            operand = definition->getOperand(0);
          markGradient(operand);
        }
  for (Operation &op : block) {
    for (Value result : op.getResults()) {
      if (!counts(result)) {
        uses[result] = Use::None;
        continue;
      }
      bool isBuffer = isAllGather(getStart(&op)) || shards.contains(&op) ||
                      (isa<HostBroadcastOp>(op) && op.getNumOperands() == 0);
      uses.insert({result, isBuffer ? Use::Buffer : Use::Activation});
    }
    // Reduced in place, but for what is not the step's own.
    if (isAllReduce(&op))
      for (auto [operand, result] :
           llvm::zip(op.getOperands(), getCollectiveResults(&op))) {
        bool inPlace = counts(operand);
        if (inPlace)
          uses[result] = Use::None;
        auto [it, isNew] =
            uses.insert({inPlace ? operand : result, Use::Buffer});
        if (!isNew && it->second == Use::Activation)
          it->second = Use::Buffer;
      }
    // To the host gradients come as they are reduced.
    if (isa<HostReduceOp>(op)) {
      for (Value operand : op.getOperands())
        uses[operand] =
            hasOneElement(operand.getType()) ? Use::Buffer : Use::Bucket;
      for (Value result : op.getResults())
        uses[result] =
            hasOneElement(result.getType()) ? Use::Buffer : Use::Bucket;
    }
  }
  // New values of variables are written into these.
  for (auto [i, operand] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (variables.ofResult(i))
      uses[operand] = Use::None;
  for (BlockArgument argument : block.getArguments())
    uses[argument] = Use::None;
}

//===----------------------------------------------------------------------===//
// From when to when
//===----------------------------------------------------------------------===//

/// In half ops, as findEnd.
int64_t LiveMemory::findBegin(Value value) const {
  Operation *op = getStart(value.getDefiningOp());
  int64_t begin = numbers.lookup(op);
  // A bucket is there as a whole from its first value on.
  for (Operation *user : value.getUsers())
    if (isAllReduce(user))
      for (Value other : user->getOperands())
        if (Operation *definition = other.getDefiningOp())
          begin = std::min(begin, numbers.lookup(getStart(definition)));
  return 2 * begin;
}

int64_t LiveMemory::findEnd(Value value) {
  if (auto found = ends.find(value); found != ends.end())
    return found->second;
  int64_t end = 0;
  if (Operation *definition = value.getDefiningOp())
    end = 2 * numbers.lookup(definition) + 1;
  auto extend = [&](int64_t to) { end = std::max(end, to); };
  for (Operation *user : value.getUsers()) {
    int64_t number = 2 * numbers.lookup(user);
    if (isStart(user))
      extend(2 * numbers.lookup(*user->getResult(0).user_begin()) + 1);
    // Read by now, and a part stays where it was reduced.
    else if (isa<ReduceScatterOp>(user))
      extend(number - 1);
    else
      extend(number + 1);
    // Elements of it are still to be read in what they are then.
    if (isAllReduce(user) || isUpdate(user) ||
        (isa<graph::AfterOp>(user) && user->getOperand(0) == value))
      for (Value result : getCollectiveResults(user))
        if (!isUpdate(user) ||
            llvm::any_of(result.getUsers(), [&](Operation *next) {
              return next != block.getTerminator();
            }))
          extend(findEnd(result));
  }
  return ends[value] = end;
}

std::vector<LiveBytes> LiveMemory::run(MemoryReport &memory) {
  findOrigins();
  findUpdates();
  findUses();
  // At each half op, what comes and what goes, by use.
  struct Bytes {
    int64_t of[size_t(Use::Buffer) + 1] = {};
    int64_t operator[](Use use) const { return of[size_t(use)]; }
  };
  std::vector<Bytes> changes(2 * numbers.size() + 2);
  int64_t wholes = 0;
  for (auto [value, use] : uses) {
    if (use == Use::None)
      continue;
    int64_t bytes = getByteSize(value.getType());
    changes[findBegin(value)].of[size_t(use)] += bytes;
    changes[findEnd(value) + 1].of[size_t(use)] -= bytes;
    wholes += use == Use::Whole ? bytes : 0;
  }
  Bytes live;
  std::vector<LiveBytes> ops;
  int64_t gradients = 0, kept = 0, buffers = 0, whole = 0, all = 0;
  for (size_t i = 0; i < 2 * numbers.size(); ++i) {
    for (size_t use = 0; use < std::size(live.of); ++use)
      live.of[use] += changes[i].of[use];
    if (i % 2)
      continue;
    int64_t own = live[Use::Gradient] + live[Use::Bucket] + live[Use::Part];
    int64_t others = own + live[Use::Whole] + live[Use::Buffer];
    ops.push_back({live[Use::Activation], others});
    memory.activations = std::max(memory.activations, live[Use::Activation]);
    kept = std::max(kept, own);
    gradients = std::max(gradients, own + live[Use::Whole]);
    buffers = std::max(buffers, live[Use::Buffer] + live[Use::Bucket]);
    whole = std::max(whole, live[Use::Whole]);
    all = std::max(all, live[Use::Activation] + others);
  }
  // Where not all are there at once, whole ones are in a buffer until they are
  // reduced, and their parts are what stays.
  bool inBuckets = whole < wholes;
  memory.gradients = inBuckets ? kept : gradients;
  memory.communication = buffers + (inBuckets ? whole : 0);
  memory.peak = memory.parameters + memory.slots + memory.otherState +
                memory.inputs + all;
  return ops;
}

std::vector<LiveBytes> mlir::dist::addLiveMemory(func::FuncOp function,
                                                 PortVariables &variables,
                                                 MemoryReport &memory) {
  return LiveMemory(function, variables).run(memory);
}
