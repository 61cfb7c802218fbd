//===- PlannedMemory.cpp - What a device allocates -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/PlannedMemory.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Lowering/Bindings.h"
#include "passes/Lowering/MemoryPlan.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What the entries of one program (of a stage, a place, the host) share.
struct State {
  /// Bytes by the name of a variable or a prepared buffer.
  llvm::StringMap<int64_t> variables, prepared;

  static int64_t add(const llvm::StringMap<int64_t> &parts) {
    int64_t bytes = 0;
    for (const auto &part : parts)
      bytes += part.second;
    return bytes;
  }
};
} // namespace

void mlir::dist::addPlannedMemory(ModuleOp programs, ExplainReport &report) {
  std::map<int64_t, State> states;
  llvm::StringMap<int64_t> arenas, numbers;
  for (auto program : programs.getOps<rt::ProgramOp>()) {
    auto prepares = program->getAttrOfType<FlatSymbolRefAttr>(kPrepares);
    StringRef entry = prepares ? prepares.getValue() : program.getSymName();
    int64_t &arena = arenas[entry];
    arena = std::max<int64_t>(arena, program.getArenaBytes());
    int64_t number = getProgramNumber(program);
    numbers[entry] = number;
    State &state = states[number];
    for (auto argument : program.getArguments().getAsRange<DictionaryAttr>()) {
      int64_t bytes =
          alignMemory(getByteSize(argument.getAs<TypeAttr>("type").getValue()));
      auto role = argument.getAs<StringAttr>("graph.role");
      if (auto variable = argument.getAs<FlatSymbolRefAttr>("graph.variable"))
        state.variables[variable.getValue()] = bytes;
      else if (role && role.getValue() == "prepared")
        state.prepared[argument.getAs<StringAttr>("graph.name")] = bytes;
    }
  }
  for (EntryReport &entry : report.entries) {
    auto arena = arenas.find(entry.name);
    if (arena == arenas.end())
      continue;
    const State &state = states[numbers[entry.name]];
    entry.memory.prepared = State::add(state.prepared);
    entry.memory.arena = arena->second;
    entry.memory.planned =
        State::add(state.variables) + entry.memory.prepared + arena->second;
  }
}
