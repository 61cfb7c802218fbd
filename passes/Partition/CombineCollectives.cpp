//===- CombineCollectives.cpp - All-reduces in buckets -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/Compression.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct CombineCollectivesPass
    : mlir::dist::impl::CombineCollectivesPassBase<CombineCollectivesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  SmallVector<int64_t> getLimits(ArrayRef<Operation *> ops);
  void gatherAhead(ArrayRef<Operation *> gathers);
};
} // namespace

/// Smaller transfers take less time than the calls that start them.
static constexpr int64_t kLeastPart = 256 * 1024;

/// Whether `to` uses, directly or not, a result of `from`.
static bool reaches(Operation *from, Operation *to) {
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Operation *> work{from};
  while (!work.empty()) {
    for (Operation *user : work.pop_back_val()->getUsers()) {
      if (user == to)
        return true;
      // What stands behind `to` leads to nothing before it.
      if (user->isBeforeInBlock(to) && seen.insert(user).second)
        work.push_back(user);
    }
  }
  return false;
}

static int64_t getBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += getByteSize(type);
  return bytes;
}

static int64_t getBytes(Operation *op) {
  return getBytes(op->getOperandTypes());
}

static bool isScalar(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), hasOneElement);
}

/// Whether one transfer can do both: they differ in nothing but their tensors
/// and in which dims of them are meant. Microbatches stay apart: the first
/// would wait for the last.
static bool isCompatible(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      getElementTypeOrSelf(a->getOperand(0)) !=
          getElementTypeOrSelf(b->getOperand(0)))
    return false;
  return llvm::all_of(
      llvm::ArrayRef<StringRef>{"mesh", "axes", "reduction", kMicrobatchAttr},
      [&](StringRef name) { return a->getAttr(name) == b->getAttr(name); });
}

/// Whether an op's results are only given back: variables in shards that have
/// been updated. What is gathered to compute with is not kept until the last
/// one is there.
static bool isForResults(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user);
  });
}

/// The variable's argument that an op gathers, as it is or in another type.
static Value findVariable(Operation *op) {
  Value value = op->getOperand(0);
  if (auto convert = value.getDefiningOp<graph::ConvertOp>())
    value = convert.getOperand();
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && cast<func::FuncOp>(op->getParentOp())
                         .getArgAttr(argument.getArgNumber(), kVariableAttr)
             ? value
             : Value();
}

/// Whether an op gathers a variable to compute with.
static bool isForUse(Operation *op) {
  return isa<AllGatherOp>(op) && op->getNumOperands() == 1 &&
         !isForResults(op) && findVariable(op);
}

/// Whether something that a bucket of both would hold back is sent between
/// them. Another stage may wait for it with what this stage receives before
/// `b`: the order of sends and receives is the schedule's.
static bool delaysSend(Operation *a, Operation *b) {
  Operation *earlier = a->isBeforeInBlock(b) ? a : b;
  Operation *later = earlier == a ? b : a;
  llvm::SmallPtrSet<Operation *, 16> heldBack{earlier};
  for (Operation *op = earlier->getNextNode(); op != later;
       op = op->getNextNode()) {
    if (llvm::none_of(op->getOperands(), [&](Value operand) {
          return heldBack.contains(operand.getDefiningOp());
        }))
      continue;
    if (isa<SendOp>(op))
      return true;
    heldBack.insert(op);
  }
  return false;
}

/// Moves what uses `bucket` but stands before it right behind it.
static void moveUsersBehind(Operation *bucket, Operation *from) {
  llvm::SmallPtrSet<Operation *, 16> moved;
  Operation *last = bucket;
  for (Operation *op = from; op != bucket;) {
    Operation *next = op->getNextNode();
    bool uses = llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *definition = operand.getDefiningOp();
      return definition && (definition == bucket || moved.contains(definition));
    });
    if (uses) {
      op->moveAfter(last);
      moved.insert(op);
      last = op;
    }
    op = next;
  }
}

/// One op for both, at the builder's place.
static Operation *replaceBoth(OpBuilder &builder, Operation *first,
                              Operation *second) {
  OperationState state(builder.getFusedLoc({first->getLoc(), second->getLoc()}),
                       first->getName());
  state.addOperands(first->getOperands());
  state.addOperands(second->getOperands());
  state.addTypes(first->getResultTypes());
  state.addTypes(second->getResultTypes());
  NamedAttrList attributes(first->getAttrs());
  if (auto dims = first->getAttrOfType<DenseI64ArrayAttr>("dims")) {
    SmallVector<int64_t> all(dims.asArrayRef());
    llvm::append_range(
        all, second->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef());
    attributes.set("dims", builder.getDenseI64ArrayAttr(all));
  }
  attributes.erase(DistDialect::kOrigin);
  attributes.erase(DistDialect::kShardings);
  SmallVector<Attribute> shardings;
  for (Operation *part : {first, second})
    if (auto list = part->getAttrOfType<ArrayAttr>(DistDialect::kShardings))
      llvm::append_range(shardings, list);
  if (shardings.size() == state.types.size())
    attributes.set(DistDialect::kShardings, builder.getArrayAttr(shardings));
  state.addAttributes(attributes);
  Operation *op = builder.create(state);
  addExplanation(op, second);
  unsigned next = 0;
  for (Operation *part : {first, second}) {
    for (Value result : part->getResults())
      result.replaceAllUsesWith(op->getResult(next++));
    part->erase();
  }
  return op;
}

/// One op for both, where the later of them stands.
static Operation *merge(Operation *first, Operation *second) {
  bool inOrder = first->isBeforeInBlock(second);
  Operation *earlier = inOrder ? first : second;
  Operation *later = inOrder ? second : first;
  Operation *from = earlier->getNextNode();
  OpBuilder builder(first->getContext());
  builder.setInsertionPointAfter(later);
  bool areNeighbors = from == later;
  Operation *op = replaceBoth(builder, first, second);
  if (!areNeighbors)
    moveUsersBehind(op, from);
  return op;
}

/// By op: with how many bytes its bucket is full; 0: never.
SmallVector<int64_t>
CombineCollectivesPass::getLimits(ArrayRef<Operation *> ops) {
  if (bytesPerPack > 0 || parts <= 1)
    return SmallVector<int64_t>(ops.size(), bytesPerPack);
  // What could be one bucket, and its bytes.
  SmallVector<std::pair<Operation *, int64_t>> wholes;
  SmallVector<size_t> numbers;
  for (Operation *op : ops) {
    auto *whole = llvm::find_if(
        wholes, [&](auto &whole) { return isCompatible(whole.first, op); });
    if (whole == wholes.end())
      whole = &wholes.emplace_back(op, 0);
    whole->second += getBytes(op);
    numbers.push_back(whole - wholes.begin());
  }
  SmallVector<int64_t> limits;
  for (size_t number : numbers)
    limits.push_back(
        std::max<int64_t>(kLeastPart, wholes[number].second / parts));
  return limits;
}

/// Variables that are gathered one after the other are gathered with the first
/// of them, which is there at once: they are arguments. Only the newest bucket
/// is open, so no more is held before it is needed than one bucket took ahead.
void CombineCollectivesPass::gatherAhead(ArrayRef<Operation *> gathers) {
  struct Bucket {
    Operation *op;
    int64_t ahead; // bytes gathered before they are needed
    bool again;
  };
  int64_t limit = bytesPerPack > 0 ? bytesPerPack : kLeastPart;
  SmallVector<Bucket> newest; // one of each kind
  llvm::SmallDenseSet<Value> gathered;
  for (Operation *op : gathers) {
    // What the backward pass gathers again was not to be kept for it; nor is
    // it to be there before the forward pass is over.
    bool again = !gathered.insert(findVariable(op)).second;
    // Of what is gathered, not sent: that is what is held. It is the same at
    // all ranks, too, which must agree on buckets.
    int64_t bytes = getBytes(op->getResultTypes());
    auto *bucket = llvm::find_if(
        newest, [&](Bucket &bucket) { return isCompatible(bucket.op, op); });
    if (bucket == newest.end()) {
      newest.push_back({op, 0, again});
    } else if (bucket->again != again || bucket->ahead + bytes > limit ||
               llvm::is_contained(bucket->op->getOperands(),
                                  op->getOperand(0))) {
      *bucket = {op, 0, again};
    } else {
      Operation *narrowed = op->getOperand(0).getDefiningOp();
      if (narrowed && bucket->op->isBeforeInBlock(narrowed))
        narrowed->moveBefore(bucket->op);
      OpBuilder builder(bucket->op);
      bucket->op = replaceBoth(builder, bucket->op, op);
      bucket->ahead += bytes;
    }
  }
}

void CombineCollectivesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  SmallVector<Operation *> large, scalars, gathers;
  for (Operation &op : function.front())
    if (isOverMicrobatches(&op))
      continue;
    else if (isForUse(&op))
      gathers.push_back(&op);
    else if (isa<AllReduceOp, ReduceScatterOp>(op) ||
             (isa<AllGatherOp>(op) &&
              (op.hasAttr(kOfGradients) || isForResults(&op))))
      (isScalar(&op) ? scalars : large).push_back(&op);

  SmallVector<Operation *> buckets;
  auto place = [&](Operation *op, int64_t limit, bool ignoreLimit) {
    // The newest bucket first: a full or unreachable one closes for good only
    // for the gradients that come after it, not for scalars.
    for (Operation *&bucket : llvm::reverse(buckets)) {
      if (!isCompatible(bucket, op))
        continue;
      bool full = limit > 0 && getBytes(bucket) > limit;
      if ((!full || ignoreLimit) && !reaches(bucket, op) &&
          !reaches(op, bucket) && !delaysSend(bucket, op)) {
        bucket = merge(bucket, op);
        return;
      }
      if (!ignoreLimit)
        break;
    }
    buckets.push_back(op);
  };
  // Before any is merged.
  SmallVector<int64_t> limits = getLimits(large);
  for (auto [op, limit] : llvm::zip_equal(large, limits))
    place(op, limit, /*ignoreLimit=*/false);
  for (Operation *op : scalars)
    place(op, /*limit=*/0, /*ignoreLimit=*/true);
  gatherAhead(gathers);

  int64_t id = 0;
  function.walk([&](CollectiveOpInterface collective) {
    if (!collective.isLocal())
      collective.setCollectiveId(id++);
  });
}
