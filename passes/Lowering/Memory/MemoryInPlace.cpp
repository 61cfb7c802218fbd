//===- MemoryInPlace.cpp - Results in the caller's memory -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Memory/MemorySteps.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Program/Bindings.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

class InPlace {
public:
  InPlace(func::FuncOp func, const SymbolTable &symbols, MemoryLayout &layout)
      : func(func), block(func.getBody().front()), symbols(symbols),
        layout(layout) {}
  void run();

private:
  bool canUpdateInPlace(Value updated, BlockArgument old);
  bool readsPointwise(rt::CallOp call, Value old, Value updated);
  bool replaces(rt::CallOp call, LoopedOpInterface op, Value old,
                Value updated);
  void updateSlices(AllGatherOp gather);

  func::FuncOp func;
  Block &block;
  const SymbolTable &symbols;
  MemoryLayout &layout;
};

} // namespace

/// Whether the kernel of one op reads `old` as that operand alone in whose
/// memory its result `updated` may lie.
bool InPlace::replaces(rt::CallOp call, LoopedOpInterface op, Value old,
                       Value updated) {
  std::optional<unsigned> operand =
      op.getReplacedOperand(cast<OpResult>(updated).getResultNumber());
  if (!operand)
    return false;
  auto replaced = cast<BlockArgument>(op->getOperand(*operand)).getArgNumber();
  for (auto [number, input] : llvm::enumerate(call.getInputs())) {
    bool isOld = layout.storageIndex[input] == layout.storageIndex[old];
    bool overlaps = layout.wholeOf(layout.storageIndex[input]) ==
                    layout.wholeOf(layout.storageIndex[old]);
    if (number == replaced ? !isOld : overlaps)
      return false;
  }
  return llvm::count(op->getOperands(), op->getOperand(*operand)) == 1;
}

/// Whether the kernel reads `old` only at the point at which it writes
/// `updated`, which needs it: then both may be one memory.
bool InPlace::readsPointwise(rt::CallOp call, Value old, Value updated) {
  auto kernel = symbols.lookup<rt::KernelOp>(call.getKernel());
  if (!kernel)
    return false;
  Block &body = kernel.getBody().front();
  if (auto looped = dyn_cast<LoopedOpInterface>(body.front()))
    return replaces(call, looped, old, updated);
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
    if (layout.wholeOf(layout.storageIndex[input]) !=
        layout.wholeOf(layout.storageIndex[old]))
      continue;
    // A part lies elsewhere than its whole begins.
    if (layout.storageIndex[input] != layout.storageIndex[old])
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
  if (llvm::any_of(info->kinds, [](const auto &kind) {
        return kind.second == MemberKind::InnerReduction;
      }))
    return false;
  // Without a dependence, nothing orders the read before the write.
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work{yielded};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (layout.storageIndex[call.getInputs()[argument.getArgNumber()]] ==
          layout.storageIndex[old])
        return true;
      continue;
    }
    if (seen.insert(value.getDefiningOp()).second)
      llvm::append_range(work, value.getDefiningOp()->getOperands());
  }
  return false;
}

bool InPlace::canUpdateInPlace(Value updated, BlockArgument old) {
  Storage &storage = layout.storageOf(updated);
  if (storage.kind != Storage::Unknown || isa<BlockArgument>(updated))
    return false;
  if (updated.getType() != old.getType())
    return false;
  updated = getReshaped(updated);
  Operation *def = updated.getDefiningOp();
  if (!def)
    return false;
  // A result that returns the old value reads it last of all.
  int64_t lastRead = layout.storageOf(old).last;
  int64_t written = storage.first;
  if (lastRead < written)
    return true;
  auto call = dyn_cast<rt::CallOp>(def);
  return lastRead == written && call && layout.positions[def] == written &&
         readsPointwise(call, old, updated);
}

/// A gathered variable whose old value is read no more after the kernel that
/// computes this rank's part of the new one: the part is written where its old
/// value lies, in the variable, and the gather adds the others.
void InPlace::updateSlices(AllGatherOp gather) {
  CollectiveCall call =
      gather.getCall(findMesh(gather).getGroupSize(gather.getGroupAxes()));
  for (auto [piece, dim, operand, result] :
       llvm::zip_equal(call.pieces, gather.getDims(), gather.getOperands(),
                       gather.getResults())) {
    Storage &part = layout.storageOf(operand),
            &whole = layout.storageOf(result);
    if (piece.outer * piece.rows != 1 || part.kind != Storage::Unknown ||
        part.hasParts || whole.kind != Storage::Argument)
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
      const Storage &seen = layout.storageOf(read);
      if (seen.kind == Storage::Peer &&
          seen.whole == layout.storageIndex[old] &&
          slice.getDims()[number] == dim &&
          layout.storageOf(old).last == layout.positions[kernel] &&
          readsPointwise(kernel, read, updated)) {
        part.kind = Storage::Peer;
        part.number = seen.number;
        part.whole = seen.whole;
        break;
      }
    }
  }
}

void InPlace::run() {
  Operation *terminator = block.getTerminator();
  llvm::DenseMap<Attribute, BlockArgument> argumentOf;
  for (BlockArgument argument : block.getArguments())
    if (Attribute state =
            getStateName(func.getArgAttrDict(argument.getArgNumber())))
      argumentOf.try_emplace(state, argument);
  // The return itself is no reader where it gives a variable back unchanged.
  int64_t end = layout.positions[terminator];
  // By storage, the values that lie in it or in a part of it.
  llvm::DenseMap<unsigned, SmallVector<Value>> valuesIn;
  for (auto [value, index] : layout.storageIndex)
    if (unsigned whole = layout.wholeOf(index);
        layout.storages[whole].kind == Storage::Argument &&
        layout.storages[whole].last == end)
      valuesIn[whole].push_back(value);
  for (BlockArgument argument : block.getArguments()) {
    Storage &storage = layout.storageOf(argument);
    if (storage.last != end)
      continue;
    bool onlyItself = true;
    storage.last = -1;
    for (Value value : valuesIn[layout.storageIndex[argument]]) {
      bool isPart = layout.storageIndex[value] != layout.storageIndex[argument];
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (user != terminator) {
          storage.last = std::max(storage.last, layout.positions[user]);
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
    Storage &storage = layout.storageOf(value);
    Attribute state = getStateName(func.getResultAttrDict(i));
    BlockArgument old = state ? argumentOf.lookup(state) : BlockArgument();
    if (old) {
      if (layout.storageIndex[value] == layout.storageIndex[old])
        continue;
      if (canUpdateInPlace(value, old)) {
        storage.kind = Storage::Argument;
        storage.number = old.getArgNumber();
        continue;
      }
      layout.copies.push_back({value, true, int64_t(old.getArgNumber())});
      continue;
    }
    if (storage.kind == Storage::Unknown) {
      storage.kind = Storage::Result;
      storage.number = i;
      continue;
    }
    layout.copies.push_back({value, false, int64_t(i)});
  }
  for (auto gather : block.getOps<AllGatherOp>())
    updateSlices(gather);
}

void mlir::dist::bindResults(func::FuncOp func, const SymbolTable &symbols,
                             MemoryLayout &layout) {
  InPlace(func, symbols, layout).run();
}
