//===- ProgramParts.cpp - Runs of calls that programs repeat --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/ProgramParts.h"

using namespace mlir;
using namespace mlir::dist;

/// Shorter ones are no shorter as a call with a list of offsets.
static constexpr size_t leastCalls = 4;

int64_t mlir::dist::getBufferOffset(Value buffer) {
  if (auto arena = buffer.getDefiningOp<rt::ArenaOp>())
    return arena.getOffset();
  return buffer.getDefiningOp<rt::BindingOp>().getOffset();
}

/// Whether the op is a call, and all its addresses are known before it runs.
static bool isPlainCall(Operation &op) {
  return isa<rt::LaunchOp, rt::LibraryCallOp, rt::CopyOp>(op) &&
         llvm::all_of(op.getOperands(), [](Value buffer) {
           return isa<rt::ArenaOp, rt::BindingOp>(buffer.getDefiningOp());
         });
}

/// What the call does, and in which bindings: all but its offsets.
static void appendKey(Operation *op, std::vector<int64_t> &key) {
  auto number = [](Attribute attribute) {
    return reinterpret_cast<int64_t>(attribute.getAsOpaquePointer());
  };
  key.push_back(reinterpret_cast<int64_t>(
      op->getName().getIdentifier().getAsOpaquePointer()));
  key.push_back(number(op->getPropertiesAsAttribute()));
  for (Value buffer : op->getOperands()) {
    auto binding = buffer.getDefiningOp<rt::BindingOp>();
    auto space = cast<rt::BufferType>(buffer.getType()).getSpace();
    key.push_back(binding ? int64_t(binding.getIndex()) : -1 - int64_t(space));
  }
}

void ProgramParts::add(ProgramPart &part) {
  if (part.calls.size() >= leastCalls) {
    std::vector<int64_t> key;
    for (Operation *call : part.calls) {
      appendKey(call, key);
      for (Value buffer : call->getOperands())
        part.offsets.push_back(getBufferOffset(buffer));
    }
    all.push_back(std::make_unique<ProgramPart>(std::move(part)));
    alike[std::move(key)].push_back(all.back().get());
  }
  part = ProgramPart();
}

ProgramParts::ProgramParts(ModuleOp module) {
  for (auto program : module.getOps<rt::ProgramOp>()) {
    ProgramPart part;
    for (Operation &op : program.getBody().front()) {
      if (isa<rt::ArenaOp, rt::BindingOp>(op))
        continue;
      if (isPlainCall(op))
        part.calls.push_back(&op);
      else
        add(part);
    }
    add(part);
  }
  // Numbered as they appear, so that one module is one text.
  llvm::DenseMap<ProgramPart *, SmallVector<ProgramPart *, 2> *> groups;
  for (auto &[key, group] : alike)
    if (group.size() > 1)
      groups[group.front()] = &group;
  for (auto &part : all) {
    auto group = groups.find(part.get());
    if (group == groups.end())
      continue;
    for (ProgramPart *same : *group->second) {
      same->code = codes.size();
      parts[same->calls.front()] = same;
    }
    codes.push_back(part.get());
  }
  alike.clear();
}
