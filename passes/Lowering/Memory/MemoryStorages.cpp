//===- MemoryStorages.cpp - Which values share memory -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Memory/MemorySteps.h"
#include "passes/Lowering/Passes.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isView(AllSliceOp op) {
  CollectiveCall call =
      op.getCall(findMesh(op).getGroupSize(op.getGroupAxes()));
  return llvm::all_of(call.pieces, [](const CollectivePiece &piece) {
    return piece.outer * piece.rows == 1;
  });
}

std::optional<int64_t> mlir::dist::findPieceOffset(graph::SliceOp op) {
  RankedTensorType whole = op.getOperand().getType(), part = op.getType();
  if (part.getNumElements() == 0)
    return std::nullopt;
  int64_t offset = 0, stride = 1;
  bool isCut = false; // in the dims behind
  for (int64_t dim = whole.getRank() - 1; dim >= 0; --dim) {
    bool one = part.getDimSize(dim) == 1;
    if (!one && (isCut || op.getStrides()[dim] != 1))
      return std::nullopt;
    isCut |= part.getDimSize(dim) != whole.getDimSize(dim);
    offset += op.getStarts()[dim] * stride;
    stride *= whole.getDimSize(dim);
  }
  return offset * (getByteSize(whole) / whole.getNumElements());
}

/// From this many operands on a kernel's branches cost more than copies.
static constexpr unsigned kManyOperands = 8;

bool mlir::dist::liesSideBySide(Operation *op) {
  auto concat = dyn_cast<graph::ConcatOp>(op);
  return concat && concat->getNumOperands() >= kManyOperands &&
         ShapedType::getNumElements(
             concat.getType().getShape().take_front(concat.getAxis())) == 1 &&
         concat.getType().getNumElements() > 0;
}

Value mlir::dist::getReshaped(Value value) {
  while (auto view = value.getDefiningOp<graph::ReshapeOp>())
    value = view.getOperand();
  return value;
}

/// Whether what lies in it lies somewhere in memory that the program knows.
static bool mayHoldParts(const Storage &storage) {
  return storage.kind != Storage::Peer && !storage.packed;
}

/// What kernels compute to be put side by side is computed there, unless it
/// belongs elsewhere as well.
static void claimParts(graph::ConcatOp op, MemoryLayout &layout) {
  unsigned whole = layout.storageIndex[op.getResult()];
  int64_t offset = 0;
  for (Value operand : op.getInputs()) {
    int64_t bytes = getByteSize(operand.getType());
    Operation *def = getReshaped(operand).getDefiningOp();
    Storage &part = layout.storageOf(operand);
    if (def && isa<rt::CallOp, rt::LibraryOp>(def) && !part.packed &&
        part.kind == Storage::Unknown && part.bytes == bytes) {
      part.kind = Storage::Part;
      part.whole = whole;
      part.delta = offset;
      Storage &all = layout.storages[whole];
      all.hasParts = true;
      all.first = std::min(all.first, part.first);
    }
    offset += bytes;
  }
}

void mlir::dist::makeStorages(Block &block, MemoryLayout &layout) {
  auto &storages = layout.storages;
  auto &storageIndex = layout.storageIndex;
  auto read = [&](Value value, int64_t position) {
    for (int64_t index = storageIndex[value]; index >= 0;
         index = storages[index].whole)
      storages[index].last = std::max(storages[index].last, position);
  };
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
    layout.positions[&op] = position;
    if (isAlias(&op)) {
      storageIndex[op.getResult(0)] = storageIndex[op.getOperand(0)];
      continue; // it has no time of its own
    }
    if (auto slice = dyn_cast<graph::SliceOp>(op)) {
      // A piece (see rt-outline-kernels) lies in what it is a piece of.
      std::optional<int64_t> offset = findPieceOffset(slice);
      unsigned whole = storageIndex[slice.getOperand()];
      if (offset && mayHoldParts(storages[whole])) {
        storages[whole].hasParts = true;
        Storage &part = add(slice.getResult());
        part.kind = Storage::Part;
        part.delta = *offset;
        part.whole = whole;
        continue;
      }
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
    if (isOfKind(&op, CollectiveKind::AllReduce)) {
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
        // of, or has as a part.
        if (onlyUse && !isa<BlockArgument>(base) &&
            !base.getDefiningOp<graph::AfterOp>() &&
            layout.storageOf(operand).kind == Storage::Unknown &&
            !layout.storageOf(operand).hasParts) {
          storageIndex[result] = storageIndex[operand];
          continue;
        }
        add(result).first = position;
        layout.storageOf(result).what = "communication buffers";
        layout.storageOf(result).last = position;
      }
    } else if (auto slice = dyn_cast<AllSliceOp>(op);
               isa<rt::PublishOp>(op) || (slice && isView(slice))) {
      for (OpResult result : op.getResults()) {
        Storage &storage = add(result);
        storage.kind = Storage::Peer;
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
      if (liesSideBySide(&op))
        claimParts(cast<graph::ConcatOp>(op), layout);
    }
    ++position;
  }
}
