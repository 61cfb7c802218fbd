//===- MemoryLayout.cpp - Where a function's values lie -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Memory/MemoryLayout.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Program/CollectiveCalls.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

class Planner : public MemoryLayout {
public:
  Planner(func::FuncOp func, const SymbolTable &symbols)
      : func(func), block(func.getBody().front()), symbols(symbols) {}

  void run() {
    makeStorages();
    placeResults();
    placeBuckets();
    placePacked();
    placeBlocks();
  }

private:
  void makeStorages();
  void placeResults();
  bool canUpdateInPlace(Value updated, BlockArgument old);
  bool readsPointwise(rt::CallOp call, Value old, Value updated);
  void placeBuckets();
  void placePacked();
  void placeBlocks();
  void updateSlices(AllGatherOp gather);
  void read(Value value, int64_t position) {
    for (int64_t index = storageIndex[value]; index >= 0;
         index = storages[index].whole)
      storages[index].last = std::max(storages[index].last, position);
  }

  func::FuncOp func;
  Block &block;
  const SymbolTable &symbols;
};

} // namespace

bool mlir::dist::isView(AllSliceOp op) {
  CollectiveCall call =
      op.getCall(findMesh(op).getGroupSize(op.getGroupAxes()));
  return llvm::all_of(call.pieces, [](const CollectivePiece &piece) {
    return piece.outer * piece.rows == 1;
  });
}

Value mlir::dist::getReshaped(Value value) {
  while (auto view = value.getDefiningOp<graph::ReshapeOp>())
    value = view.getOperand();
  return value;
}

void Planner::makeStorages() {
  auto add = [&](Value value) -> Storage & {
    storageIndex[value] = storages.size();
    storages.emplace_back();
    storages.back().bytes = getByteSize(value.getType());
    return storages.back();
  };
  for (BlockArgument argument : block.getArguments()) {
    Storage &storage = add(argument);
    storage.kind = Storage::Argument;
    storage.number = argument.getArgNumber();
    storage.first = -1;
  }
  int64_t position = 0;
  for (Operation &op : block) {
    positions[&op] = position;
    if (isa<graph::ReshapeOp, graph::AfterOp>(op)) {
      storageIndex[op.getResult(0)] = storageIndex[op.getOperand(0)];
      continue; // no place of its own in time
    }
    if (auto wait = dyn_cast<WaitOp>(op)) {
      // Until here, the collective that was started uses all its tensors.
      for (Value value : wait.getToken().getDefiningOp()->getOperands())
        read(value, position);
      for (Value value : op.getResults())
        read(value, position);
      ++position;
      continue;
    }
    for (Value operand : op.getOperands())
      read(operand, position);
    if (isa<AllReduceOp, AllReduceStartOp>(op)) {
      // In place where the unreduced value is of no further use.
      for (auto [operand, result] :
           llvm::zip_equal(op.getOperands(), getCollectiveResults(&op))) {
        Value base = operand;
        bool onlyUse = base.hasOneUse();
        while (auto view = base.getDefiningOp<graph::ReshapeOp>()) {
          base = view.getOperand();
          onlyUse &= base.hasOneUse();
        }
        // What was waited for is kept for others, and so is what this is a part
        // of.
        if (onlyUse && !isa<BlockArgument>(base) &&
            !base.getDefiningOp<graph::AfterOp>() &&
            storageOf(operand).kind != Storage::Shared) {
          storageIndex[result] = storageIndex[operand];
          continue;
        }
        add(result).first = position;
        storageOf(result).what = "communication buffers";
        storageOf(result).last = position;
      }
    } else if (auto slice = dyn_cast<AllSliceOp>(op);
               isa<rt::ShareOp>(op) || (slice && isView(slice))) {
      for (OpResult result : op.getResults()) {
        Storage &storage = add(result);
        storage.kind = Storage::Shared;
        storage.number = storageIndex[result];
        if (slice)
          storage.whole = storageIndex[op.getOperand(result.getResultNumber())];
      }
    } else {
      for (Value result : isa<CollectiveOpInterface>(op)
                              ? getCollectiveResults(&op)
                              : op.getResults()) {
        Storage &storage = add(result);
        storage.first = storage.last = position;
        if (auto library = dyn_cast<rt::LibraryOp>(op))
          storage.packed = getPackedResult(library.getKernel());
        storage.what = result.use_empty() ? "scratch of kernels"
                                          : "activations and gradients";
      }
    }
    ++position;
  }
}

/// Whether the kernel reads `old` only at the point at which it writes
/// `updated`, which needs it: then both may be one memory.
bool Planner::readsPointwise(rt::CallOp call, Value old, Value updated) {
  auto kernel = symbols.lookup<rt::KernelOp>(call.getKernel());
  if (!kernel)
    return false;
  Block &body = kernel.getBody().front();
  Operation *first = &body.front();
  if (isa_and_nonnull<LoopedOpInterface>(first))
    return false;
  std::optional<ClusterInfo> info = analyzeBody(body);
  if (!info)
    return false;
  Value yielded = body.getTerminator()->getOperand(
      cast<OpResult>(updated).getResultNumber());
  Operation *def = yielded.getDefiningOp();
  if (!def || info->kinds.lookup(def) != MemberKind::Full ||
      !info->kinds.count(def))
    return false;
  for (auto [input, argument] :
       llvm::zip_equal(call.getInputs(), body.getArguments())) {
    if (wholeOf(storageIndex[input]) != wholeOf(storageIndex[old]))
      continue;
    // A part lies elsewhere than its whole begins.
    if (storageIndex[input] != storageIndex[old])
      return false;
    for (Operation *user : argument.getUsers()) {
      bool pointwise = user->hasTrait<OpTrait::Elementwise>() &&
                       info->kinds.count(user) &&
                       info->kinds.lookup(user) == MemberKind::Full;
      if (!pointwise)
        return false;
    }
  }
  // Every later phase of a row would read what an earlier one wrote.
  if (info->fixedRowDims >= 0)
    return false;
  // Without a dependence, nothing orders the read before the write.
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work{yielded};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (storageIndex[call.getInputs()[argument.getArgNumber()]] ==
          storageIndex[old])
        return true;
      continue;
    }
    if (seen.insert(value.getDefiningOp()).second)
      llvm::append_range(work, value.getDefiningOp()->getOperands());
  }
  return false;
}

bool Planner::canUpdateInPlace(Value updated, BlockArgument old) {
  Storage &storage = storageOf(updated);
  if (storage.kind != Storage::Unknown || isa<BlockArgument>(updated))
    return false;
  if (updated.getType() != old.getType())
    return false;
  updated = getReshaped(updated);
  Operation *def = updated.getDefiningOp();
  if (!def)
    return false;
  // A result that returns the old value reads it last of all.
  int64_t lastRead = storageOf(old).last;
  int64_t written = storage.first;
  if (lastRead < written)
    return true;
  auto call = dyn_cast<rt::CallOp>(def);
  return lastRead == written && call && positions[def] == written &&
         readsPointwise(call, old, updated);
}

/// A gathered variable whose old value is read no more after the kernel that
/// computes this rank's part of the new one: the part is written where its old
/// value lies, in the variable, and the gather adds the others.
void Planner::updateSlices(AllGatherOp gather) {
  CollectiveCall call =
      gather.getCall(findMesh(gather).getGroupSize(gather.getGroupAxes()));
  for (auto [piece, dim, operand, result] :
       llvm::zip_equal(call.pieces, gather.getDims(), gather.getOperands(),
                       gather.getResults())) {
    Storage &part = storageOf(operand), &whole = storageOf(result);
    if (piece.outer * piece.rows != 1 || part.kind != Storage::Unknown ||
        whole.kind != Storage::Argument)
      continue;
    Value updated = getReshaped(operand);
    auto kernel = updated.getDefiningOp<rt::CallOp>();
    if (!kernel)
      continue;
    BlockArgument old = block.getArgument(whole.number);
    for (Value input : kernel.getInputs()) {
      Value read = getReshaped(input);
      auto slice = read.getDefiningOp<AllSliceOp>();
      if (!slice || slice.getAxes() != gather.getAxes())
        continue;
      unsigned number = cast<OpResult>(read).getResultNumber();
      const Storage &seen = storageOf(read);
      if (seen.kind == Storage::Shared && seen.whole == storageIndex[old] &&
          slice.getDims()[number] == dim &&
          storageOf(old).last == positions[kernel] &&
          readsPointwise(kernel, read, updated)) {
        part.kind = Storage::Shared;
        part.number = seen.number;
        part.whole = seen.whole;
        break;
      }
    }
  }
}

void Planner::placeResults() {
  Operation *terminator = block.getTerminator();
  llvm::DenseMap<Attribute, BlockArgument> argumentOf;
  for (BlockArgument argument : block.getArguments())
    if (Attribute state =
            getStateName(func.getArgAttrDict(argument.getArgNumber())))
      argumentOf.try_emplace(state, argument);
  // The return itself is no reader where it gives a variable back unchanged.
  int64_t end = positions[terminator];
  // By storage, the values that lie in it or in a part of it.
  llvm::DenseMap<unsigned, SmallVector<Value>> valuesIn;
  for (auto [value, index] : storageIndex)
    if (unsigned whole = wholeOf(index);
        storages[whole].kind == Storage::Argument &&
        storages[whole].last == end)
      valuesIn[whole].push_back(value);
  for (BlockArgument argument : block.getArguments()) {
    Storage &storage = storageOf(argument);
    if (storage.last != end)
      continue;
    bool onlyItself = true;
    storage.last = -1;
    for (Value value : valuesIn[storageIndex[argument]]) {
      bool isPart = storageIndex[value] != storageIndex[argument];
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (user != terminator) {
          storage.last = std::max(storage.last, positions[user]);
          continue;
        }
        Attribute state =
            getStateName(func.getResultAttrDict(use.getOperandNumber()));
        if (isPart || !state || argumentOf.lookup(state) != argument)
          onlyItself = false;
      }
    }
    if (!onlyItself)
      storage.last = end;
  }
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    Storage &storage = storageOf(value);
    Attribute state = getStateName(func.getResultAttrDict(i));
    BlockArgument old = state ? argumentOf.lookup(state) : BlockArgument();
    if (old) {
      if (storageIndex[value] == storageIndex[old])
        continue;
      if (canUpdateInPlace(value, old)) {
        storage.kind = Storage::Argument;
        storage.number = old.getArgNumber();
        continue;
      }
      copies.push_back({value, true, int64_t(old.getArgNumber())});
      continue;
    }
    if (storage.kind == Storage::Unknown) {
      storage.kind = Storage::Result;
      storage.number = i;
      continue;
    }
    copies.push_back({value, false, int64_t(i)});
  }
  for (auto gather : block.getOps<AllGatherOp>())
    updateSlices(gather);
}

/// The operands of one all-reduce lie one after another, so that it is one
/// transfer.
void Planner::placeBuckets() {
  for (Operation &op : block) {
    if (!isa<AllReduceOp, AllReduceStartOp>(op))
      continue;
    llvm::MapVector<Type, SmallVector<unsigned>> byType;
    for (Value result : getCollectiveResults(&op)) {
      unsigned index = storageIndex[result];
      if (storages[index].kind == Storage::Unknown)
        byType[cast<RankedTensorType>(result.getType()).getElementType()]
            .push_back(index);
    }
    for (auto &[type, members] : byType) {
      MemoryBlock bucket;
      bucket.what = "communication buffers";
      bucket.first = storages[members.front()].first;
      for (unsigned index : members) {
        Storage &storage = storages[index];
        if (storage.kind == Storage::Arena)
          continue; // an operand given twice
        storage.kind = Storage::Arena;
        storage.number = blocks.size();
        storage.delta = bucket.bytes;
        bucket.bytes += alignMemory(storage.bytes);
        bucket.first = std::min(bucket.first, storage.first);
        bucket.last = std::max(bucket.last, storage.last);
      }
      blocks.push_back(bucket);
    }
  }
}

/// Each packed value in the first slot that is free by then: they are as many
/// as are alive at once.
void Planner::placePacked() {
  SmallVector<int64_t> busyUntil;
  for (Storage &storage : storages) {
    if (storage.kind != Storage::Unknown || !storage.packed)
      continue;
    auto *slot = llvm::find_if(
        busyUntil, [&](int64_t last) { return last < storage.first; });
    storage.kind = Storage::Slot;
    storage.number = slot - busyUntil.begin();
    if (slot == busyUntil.end()) {
      busyUntil.push_back(0);
      slots.emplace_back();
    }
    busyUntil[storage.number] = storage.last;
    if (!llvm::is_contained(slots[storage.number], storage.packed))
      slots[storage.number].push_back(storage.packed);
  }
}

void Planner::placeBlocks() {
  for (Storage &storage : storages) {
    if (storage.kind != Storage::Unknown)
      continue;
    MemoryBlock memory;
    memory.bytes = storage.bytes;
    memory.first = storage.first;
    memory.last = storage.last;
    memory.what = storage.what;
    storage.kind = Storage::Arena;
    storage.number = blocks.size();
    blocks.push_back(memory);
  }
  arenaBytes = planMemory(blocks);
}

MemoryLayout mlir::dist::layOutMemory(func::FuncOp func,
                                      const SymbolTable &symbols) {
  Planner planner(func, symbols);
  planner.run();
  return planner;
}
