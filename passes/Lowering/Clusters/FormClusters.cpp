//===- FormClusters.cpp - Groups elemental ops into kernels -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op starts as a node of its own; nodes that ClusterAnalysis accepts as
// one kernel merge when no path through a third node would make a cycle.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/CopyPlace.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Clusters/ClusterFormer.h"
#include "passes/Lowering/Memory/MemoryLayout.h"
#include "passes/Lowering/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_FORMCLUSTERSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

/// Whether a generated kernel computes it.
static bool isGenerated(Operation *op) {
  return isElemental(op) && !liesSideBySide(op);
}

/// The values behind `value` that a kernel really reads.
void ClusterFormer::collectBases(Value value,
                                 llvm::SmallSetVector<Value, 8> &bases) {
  Operation *def = value.getDefiningOp();
  if (!def || !isFloating(def)) {
    bases.insert(value);
    return;
  }
  for (Value operand : def->getOperands())
    collectBases(operand, bases);
}

void ClusterFormer::buildNodes() {
  int64_t next = 0, transfers = 0;
  Operation *transfer = nullptr;
  for (Operation &op : func.getBody().front().without_terminator()) {
    position[&op] = next++;
    epoch[&op] = transfers;
    int64_t &own = rank[&op];
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp())
        own = std::max(own, rank.at(def) + 1);
    if (auto collective = dyn_cast<CollectiveOpInterface>(op);
        collective && collective.crossesPrograms()) {
      previousTransfer[&op] = transfer;
      if (transfer)
        own = std::max(own, rank.at(transfer) + 1);
      if (transfer)
        nextTransfer[transfer] = &op;
      transfer = &op;
      ++transfers;
    }
    bool elemental = isGenerated(&op);
    if (isFloating(&op)) {
      // A reshape is only another view of a buffer; the others are written to
      // memory where something reads memory.
      if (isa<graph::ReshapeOp>(op))
        continue;
      bool materialize = llvm::any_of(op.getUsers(), [](Operation *user) {
        return !isGenerated(user) ||
               (isa<graph::ReshapeOp>(user) &&
                llvm::any_of(user->getUsers(), [](Operation *reader) {
                  return !isGenerated(reader);
                }));
      });
      if (!materialize)
        continue;
    }
    if (isa<graph::ConstantOp>(op) && !isFloating(&op))
      continue; // a binding
    auto node = std::make_unique<Node>();
    node->ops.push_back(&op);
    node->least = node->reach = own;
    node->microbatch = findMicrobatch(&op);
    lastMicrobatch = std::max(lastMicrobatch, node->microbatch);
    node->elemental = elemental;
    if (elemental)
      node->info = analyzeCluster(node->ops);
    nodeOf[&op] = node.get();
    nodes.push_back(std::move(node));
  }
}

llvm::SmallSetVector<ClusterFormer::Node *, 8>
ClusterFormer::getPredecessors(Node *node) {
  llvm::SmallSetVector<Node *, 8> result;
  for (Operation *op : node->ops) {
    llvm::SmallSetVector<Value, 8> bases;
    for (Value operand : op->getOperands()) {
      // What reads memory waits for the floating op's own node.
      Operation *def = operand.getDefiningOp();
      while (def && isa<graph::ReshapeOp>(def) && !nodeOf.count(def) &&
             !node->elemental) {
        operand = def->getOperand(0);
        def = operand.getDefiningOp();
      }
      if (def && !node->elemental && nodeOf.count(def))
        result.insert(nodeOf[def]);
      else
        collectBases(operand, bases);
    }
    for (Value base : bases)
      if (Operation *def = base.getDefiningOp())
        if (Node *other = nodeOf.lookup(def); other && other != node)
          result.insert(other);
    // Sends and recvs keep their order: other ranks wait for them in this one.
    if (Operation *before = previousTransfer.lookup(op))
      result.insert(nodeOf[before]);
  }
  result.remove(node);
  return result;
}

/// Whether `to` depends on `from` through a third node.
bool ClusterFormer::hasOtherPath(Node *from, Node *to) {
  llvm::SmallPtrSet<Node *, 32> seen;
  SmallVector<Node *> work;
  for (Node *node : getPredecessors(to))
    if (node != from)
      work.push_back(node);
  while (!work.empty()) {
    Node *node = work.pop_back_val();
    if (node == from)
      return true;
    if (!seen.insert(node).second || node->reach < from->least)
      continue;
    for (Node *next : getPredecessors(node))
      work.push_back(next);
  }
  return false;
}

/// The nodes that wait for the op, through floating ones.
void ClusterFormer::collectReaders(Operation *op,
                                   llvm::SmallSetVector<Node *, 8> &readers) {
  llvm::SmallSetVector<Operation *, 8> work;
  work.insert(op);
  for (size_t i = 0; i < work.size(); ++i)
    for (Operation *user : work[i]->getUsers()) {
      if (Node *reader = nodeOf.lookup(user))
        readers.insert(reader);
      if (isFloating(user))
        work.insert(user);
    }
  if (Operation *after = nextTransfer.lookup(op))
    readers.insert(nodeOf[after]);
}

/// What merged may depend on more than its ops' ranks tell, and so does all
/// that depends on it.
void ClusterFormer::spreadReach(Node *node) {
  SmallVector<Node *> work = {node};
  while (!work.empty()) {
    Node *from = work.pop_back_val();
    llvm::SmallSetVector<Node *, 8> readers;
    for (Operation *op : from->ops)
      collectReaders(op, readers);
    for (Node *reader : readers)
      if (reader->reach < from->reach) {
        reader->reach = from->reach;
        work.push_back(reader);
      }
  }
}

static size_t countBuffers(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 32> members(ops.begin(), ops.end());
  llvm::SmallPtrSet<void *, 32> buffers;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!members.contains(operand.getDefiningOp()))
        buffers.insert(operand.getAsOpaquePointer());
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !members.contains(user);
          }))
        buffers.insert(result.getAsOpaquePointer());
  }
  return buffers.size();
}

/// Merges `b` into `a` if they make one kernel.
bool ClusterFormer::tryMerge(Node *a, Node *b) {
  if (a == b || !a->info || !b->info ||
      a->ops.size() + b->ops.size() > kMaxKernelOps)
    return false;
  // A kernel over both sides of a send or recv would hold up the other rank.
  if (epoch[a->ops.front()] != epoch[b->ops.front()])
    return false;
  // Each microbatch that is shown has kernels of its own, since others are made
  // of them; what is no copy is done with the first or the last.
  if (auto [least, most] = std::minmax(a->microbatch, b->microbatch);
      least != most && (least >= 0 || (most != 0 && most != lastMicrobatch)))
    return false;
  SmallVector<Operation *> ops(a->ops);
  llvm::append_range(ops, b->ops);
  llvm::sort(ops, [&](Operation *l, Operation *r) {
    return position[l] < position[r];
  });
  std::optional<ClusterInfo> info = analyzeCluster(ops);
  if (!info || countBuffers(ops) > kMaxKernelBuffers)
    return false;
  if (hasOtherPath(a, b) || hasOtherPath(b, a))
    return false;
  a->ops = std::move(ops);
  a->info = std::move(info);
  for (Operation *op : b->ops)
    nodeOf[op] = a;
  b->ops.clear();
  a->least = std::min(a->least, b->least);
  a->reach = std::max(a->reach, b->reach);
  a->microbatch = std::max(a->microbatch, b->microbatch);
  spreadReach(a);
  return true;
}

void ClusterFormer::mergeNodes() {
  llvm::DenseMap<Value, Node *> readerOf;
  Node *scalars = nullptr;
  for (auto &owner : nodes) {
    Node *node = owner.get();
    if (node->ops.empty() || !node->info)
      continue;
    // With what it reads, the latest first: that is hottest in the cache.
    llvm::SmallSetVector<Node *, 8> predecessors = getPredecessors(node);
    SmallVector<Node *> order(predecessors.begin(), predecessors.end());
    llvm::sort(order, [&](Node *l, Node *r) {
      return position[l->ops.back()] > position[r->ops.back()];
    });
    Node *current = node;
    for (Node *other : order)
      if (!other->ops.empty() && tryMerge(other, current))
        current = other;
    // With another reader of the same value.
    llvm::SmallSetVector<Value, 8> bases;
    for (Operation *op : ArrayRef<Operation *>(current->ops))
      for (Value operand : op->getOperands())
        collectBases(operand, bases);
    for (Value base : bases) {
      if (cast<RankedTensorType>(base.getType()).getNumElements() < 64)
        continue;
      Node *&reader = readerOf[base];
      if (reader && reader->ops.empty())
        reader = nullptr;
      if (reader && tryMerge(reader, current))
        current = reader;
      reader = current;
    }
    // Scalar arithmetic (counters, learning rates) goes together.
    if (current->info->domain.empty()) {
      if (scalars && !scalars->ops.empty() && tryMerge(scalars, current))
        current = scalars;
      scalars = current;
    }
  }
}

/// Whether the value is a reshape of what the kernel does not compute itself.
static bool isViewOfMemory(Value value, const IRMapping &mapping) {
  Value memory = getReshaped(value);
  Operation *def = memory.getDefiningOp();
  if (memory == value || (def && isFloating(def)))
    return false;
  Value known = mapping.lookupOrNull(memory);
  return !known || isa<BlockArgument>(known);
}

Value ClusterFormer::cloneInto(Value value, OpBuilder &builder, Block *body,
                               SmallVectorImpl<Value> &inputs,
                               IRMapping &mapping) {
  if (mapping.contains(value))
    return mapping.lookup(value);
  Operation *def = value.getDefiningOp();
  // A view of memory is memory: inside, its indices would be divided apart.
  if (def && isFloating(def) && !isViewOfMemory(value, mapping)) {
    for (Value operand : def->getOperands())
      cloneInto(operand, builder, body, inputs, mapping);
    builder.clone(*def, mapping);
    return mapping.lookup(value);
  }
  inputs.push_back(value);
  Value argument = body->addArgument(value.getType(), value.getLoc());
  mapping.map(value, argument);
  return argument;
}

bool ClusterFormer::isUsedOutside(
    Value value, const llvm::SmallPtrSetImpl<Operation *> &in) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (in.contains(user))
      return false;
    // A floating reader counts where its own readers are.
    if (isFloating(user) && isGenerated(user) && !nodeOf.count(user) &&
        !isa<graph::ReshapeOp>(user))
      return isUsedOutside(user->getResult(0), in);
    if (isa<graph::ReshapeOp>(user) && !nodeOf.count(user))
      return isUsedOutside(user->getResult(0), in);
    return true;
  });
}

/// The type in which a sum over rows is kept between chunks.
static Type getPartialType(Type whole, int64_t chunks) {
  auto type = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape{chunks};
  llvm::append_range(shape, type.getShape());
  Type element = type.getElementType();
  Type accumulator =
      isa<FloatType>(element) ? getComputeType(element) : element;
  return RankedTensorType::get(shape, accumulator);
}

/// A kernel of one op of one operand, run serially.
static Value fuseOne(OpBuilder &builder, Location loc, Value input, Type result,
                     ArrayRef<int64_t> domain,
                     llvm::function_ref<Value(OpBuilder &, Value)> make) {
  auto fused = rt::FusedOp::create(
      builder, loc, TypeRange{result}, ValueRange{input},
      builder.getDenseI64ArrayAttr(domain), builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(1));
  Block *block = new Block;
  fused.getBody().push_back(block);
  OpBuilder inner = OpBuilder::atBlockEnd(block);
  Value value = make(inner, block->addArgument(input.getType(), loc));
  rt::YieldOp::create(inner, loc, value);
  return fused.getResult(0);
}

LogicalResult ClusterFormer::emit(Node *node, OpBuilder &builder) {
  if (!node->elemental) {
    builder.clone(*node->ops.front());
    return success();
  }
  if (!node->info)
    return node->ops.front()->emitOpError(
        "no kernel can be made of it: its results have different shapes");
  ClusterInfo &info = *node->info;
  llvm::SmallPtrSet<Operation *, 16> members(node->ops.begin(),
                                             node->ops.end());
  auto [rowDims, chunks] = chooseRows(info, threads);
  auto body = std::make_unique<Region>();
  Block *block = new Block;
  body->push_back(block);
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(block);
  IRMapping mapping;
  SmallVector<Value> inputs, outputs, yielded;
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (Operation *op : node->ops) {
    for (Value operand : op->getOperands())
      if (!members.contains(operand.getDefiningOp()))
        cloneInto(operand, inner, block, inputs, mapping);
    inner.clone(*op, mapping);
    locs.push_back(op->getLoc());
    for (Value result : op->getResults()) {
      if (!isUsedOutside(result, members))
        continue;
      outputs.push_back(result);
      yielded.push_back(mapping.lookup(result));
      bool outer = info.kinds.lookup(op) == MemberKind::OuterReduction;
      auto element = cast<RankedTensorType>(result.getType()).getElementType();
      bool narrow =
          isa<FloatType>(element) && getComputeType(element) != element;
      types.push_back(outer && (chunks > 1 || narrow)
                          ? getPartialType(result.getType(), chunks)
                          : result.getType());
    }
  }
  rt::YieldOp::create(inner, node->ops.back()->getLoc(), yielded);
  auto fused = rt::FusedOp::create(
      builder, FusedLoc::get(builder.getContext(), locs), types, inputs,
      builder.getDenseI64ArrayAttr(info.domain),
      builder.getI64IntegerAttr(rowDims), builder.getI64IntegerAttr(chunks));
  fused.getBody().takeBody(*body);
  // The kernel reads what the new function computes; until the old ops go, the
  // values are matched by their results in `replacements` of the caller.
  for (auto pair : llvm::zip_equal(outputs, fused.getOutputs())) {
    Value output = std::get<0>(pair), result = std::get<1>(pair);
    Value replacement = result;
    if (result.getType() != output.getType()) {
      auto reduce = cast<graph::ReduceOp>(output.getDefiningOp());
      auto partial = cast<RankedTensorType>(result.getType());
      auto sumType = RankedTensorType::get(partial.getShape().drop_front(),
                                           partial.getElementType());
      replacement = fuseOne(builder, reduce.getLoc(), result, sumType,
                            partial.getShape(), [&](OpBuilder &b, Value x) {
                              return graph::ReduceOp::create(
                                  b, reduce.getLoc(), sumType, reduce.getKind(),
                                  x, b.getDenseI64ArrayAttr({0}));
                            });
      if (sumType != output.getType())
        replacement =
            fuseOne(builder, reduce.getLoc(), replacement, output.getType(),
                    sumType.getShape(), [&](OpBuilder &b, Value x) {
                      return graph::ConvertOp::create(b, reduce.getLoc(),
                                                      output.getType(), x);
                    });
    }
    output.replaceUsesWithIf(replacement, [&](OpOperand &use) {
      return !members.contains(use.getOwner());
    });
  }
  return success();
}

LogicalResult ClusterFormer::run() {
  buildNodes();
  if (fuse)
    mergeNodes();
  SmallVector<Node *> order = schedule();
  Block &block = func.getBody().front();
  Operation *terminator = block.getTerminator();
  // Floating ops that stay (views, and readers' own copies) come where they
  // were; everything else is put before the terminator in the new order.
  OpBuilder builder(terminator);
  for (Node *node : order) {
    if (!node->elemental) {
      node->ops.front()->moveBefore(terminator);
      continue;
    }
    builder.setInsertionPoint(terminator);
    if (failed(emit(node, builder)))
      return failure();
  }
  // The old ops are dead now, but for views that non-elemental ops read.
  SmallVector<Operation *> old;
  for (Operation &op : block.without_terminator())
    old.push_back(&op);
  for (Operation *op : llvm::reverse(old))
    if (isOpTriviallyDead(op))
      op->erase();
  return success(sortBlock(block));
}

namespace {
struct FormClustersPass
    : mlir::dist::impl::FormClustersPassBase<FormClustersPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      if (failed(verifyUnrolled(func)) ||
          failed(ClusterFormer(func, getThreads(func, threads), fuse).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
