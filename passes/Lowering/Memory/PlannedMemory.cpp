//===- PlannedMemory.cpp - What a device allocates -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Memory/PlannedMemory.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Program/SentMessages.h"
#include "passes/Lowering/Memory/StateLayout.h"
#include "passes/Lowering/Package/Manifest.h"
#include "runtime/comm/schedule/parts.h"
#include "runtime/device/cpu/library_memory.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dist;

/// Each send of a program's functions has a copy, until it is taken: its pieces
/// packed, by all communicators alike.
static int64_t countCopies(rt::ProgramOp program) {
  int64_t bytes = 0;
  program.walk([&](rt::CollectiveOp op) {
    if (op.getKind() != rt::CollectiveKind::Send)
      return;
    for (auto piece : op.getPieces().getAsRange<rt::PieceAttr>()) {
      ArrayRef<int64_t> blocks = piece.getBlocks();
      bytes += ::dist::alignPacked(blocks[0] * blocks[1] * blocks[2]);
    }
  });
  return bytes;
}

LogicalResult mlir::dist::addPlannedMemory(ModuleOp programs,
                                           const LoweringOptions &options,
                                           ExplainReport &report) {
  ::dist::manifest::Manifest manifest = options.metadata;
  ::dist::cpu::LibraryMemory library;
  if (failed(fillManifest(programs, options, &manifest)))
    return failure();
  if (::dist::Status status =
          ::dist::cpu::LibraryMemory::create(manifest, &library);
      !status.ok())
    return programs.emitError(status.message());
  if (failed(addSentMessages(programs, manifest, report)))
    return failure();
  StateLayout layout = layOutState(programs);
  llvm::StringMap<int64_t> arenas, numbers;
  llvm::SmallDenseMap<int64_t, int64_t> copies;
  for (auto program : programs.getOps<rt::ProgramOp>()) {
    auto prepares = program->getAttrOfType<FlatSymbolRefAttr>(kPrepares);
    StringRef entry = prepares ? prepares.getValue() : program.getSymName();
    int64_t &arena = arenas[entry];
    arena = std::max(arena, program.getArenaBytes(getMemory(program)));
    numbers[entry] = getProgramNumber(program);
    copies[numbers[entry]] += countCopies(program);
  }
  for (EntryReport &entry : report.entries) {
    auto arena = arenas.find(entry.name);
    if (arena == arenas.end())
      continue;
    const StateLayout::Program &program = layout.programs[numbers[entry.name]];
    const ::dist::cpu::LibraryBlock &block = library.block(numbers[entry.name]);
    entry.memory.prepared = program.preparedBytes + block.preparedBytes;
    entry.memory.library = block.slotBytes + block.scratchpadBytes;
    entry.memory.arena = arena->second;
    entry.memory.copies = copies.lookup(numbers[entry.name]);
    entry.memory.planned = program.bytes + arena->second + block.bytes() +
                           entry.memory.copies + entry.memory.messages;
  }
  return success();
}
