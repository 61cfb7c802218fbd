//===- MemoryLayout.cpp - Where a function's values lie -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Memory/MemoryLayout.h"
#include "passes/Lowering/Memory/MemorySteps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

/// The operands of one all-reduce lie one after another, so that it is one
/// transfer.
static void placeBuckets(Block &block, MemoryLayout &layout) {
  auto &storages = layout.storages;
  for (Operation &op : block) {
    if (!isOfKind(&op, CollectiveKind::AllReduce))
      continue;
    llvm::MapVector<Type, SmallVector<unsigned>> byType;
    for (Value result : getCollectiveResults(&op)) {
      unsigned index = layout.storageIndex[result];
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
        storage.number = layout.blocks.size();
        storage.delta = bucket.bytes;
        bucket.bytes += alignMemory(storage.bytes);
        bucket.first = std::min(bucket.first, storage.first);
        bucket.last = std::max(bucket.last, storage.last);
      }
      layout.blocks.push_back(bucket);
    }
  }
}

/// Each packed value in the first slot that is free by then: they are as many
/// as are alive at once.
static void placePacked(MemoryLayout &layout) {
  auto &slots = layout.slots;
  SmallVector<int64_t> busyUntil;
  for (Storage &storage : layout.storages) {
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

static void placeBlocks(MemoryLayout &layout) {
  for (Storage &storage : layout.storages) {
    if (storage.kind != Storage::Unknown)
      continue;
    MemoryBlock memory;
    memory.bytes = storage.bytes;
    memory.first = storage.first;
    memory.last = storage.last;
    memory.what = storage.what;
    storage.kind = Storage::Arena;
    storage.number = layout.blocks.size();
    layout.blocks.push_back(memory);
  }
  layout.arenaBytes = planMemory(layout.blocks);
}

/// Parts lie where their wholes do, which may be parts themselves.
static void placePart(MemoryLayout &layout, Storage &part) {
  if (part.kind != Storage::Part)
    return;
  Storage &whole = layout.storages[part.whole];
  placePart(layout, whole);
  part.kind = whole.kind;
  part.number = whole.number;
  part.delta += whole.delta;
}

MemoryLayout mlir::dist::layOutMemory(func::FuncOp func,
                                      const SymbolTable &symbols) {
  MemoryLayout layout;
  Block &block = func.getBody().front();
  makeStorages(block, layout);
  bindResults(func, symbols, layout);
  placeBuckets(block, layout);
  placePacked(layout);
  placeBlocks(layout);
  for (Storage &part : layout.storages)
    placePart(layout, part);
  return layout;
}
