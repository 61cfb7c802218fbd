//===- StateLayout.cpp - Where a device's state lies -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Memory/StateLayout.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Memory/MemoryPlan.h"

using namespace mlir;
using namespace mlir::dist;

int64_t StateLayout::getBytes() const {
  int64_t bytes = 0;
  for (const Program &program : programs)
    bytes = std::max(bytes, program.bytes);
  return bytes;
}

/// What a rank holds of a variable is the type of the arguments bound to it.
static void addHolders(ModuleOp module, StateLayout &layout) {
  int64_t programs = 1;
  for (auto program : module.getOps<rt::ProgramOp>()) {
    int64_t number = getProgramNumber(program);
    programs = std::max(programs, number + 1);
    for (auto argument : program.getArguments().getAsRange<DictionaryAttr>()) {
      auto name = argument.getAs<FlatSymbolRefAttr>(kVariableAttr);
      if (!name)
        continue;
      StateLayout::Variable &variable = layout.variables[name.getValue()];
      variable.programs.insert(number);
      if (variable.local)
        continue;
      variable.local =
          cast<RankedTensorType>(argument.getAs<TypeAttr>("type").getValue());
      variable.sharding = argument.get(DistDialect::kSharding);
    }
  }
  layout.programs.resize(programs);
}

/// What arguments do not tell, the variable does.
static void complete(graph::VariableOp op, MeshOp mesh,
                     StateLayout::Variable &variable) {
  if (!variable.sharding)
    variable.sharding = op.getShardingAttr();
  if (!variable.local) {
    variable.local = cast<RankedTensorType>(op.getType());
    auto sharding = dyn_cast_or_null<ShardingAttr>(variable.sharding);
    if (sharding && mesh)
      variable.local = *getLocalType(
          getPaddedType(variable.local, sharding, mesh), sharding, mesh);
  }
  if (variable.programs.empty())
    variable.programs.insert(0);
  variable.bytes = getByteSize(variable.local);
}

/// Variables that several programs hold come first, at one place in all of
/// them; behind them each program has its own.
static void placeVariables(ModuleOp module, StateLayout &layout) {
  auto place =
      [&](llvm::function_ref<bool(const StateLayout::Variable &)> which,
          int64_t offset) {
        for (auto op : module.getOps<graph::VariableOp>()) {
          StateLayout::Variable &variable = layout.variables[op.getSymName()];
          if (!which(variable))
            continue;
          variable.offset = offset;
          offset += alignMemory(variable.bytes);
        }
        return offset;
      };
  int64_t shared = place(
      [](const StateLayout::Variable &one) { return one.programs.size() > 1; },
      0);
  for (auto [number, program] : llvm::enumerate(layout.programs)) {
    program.bytes = place(
        [number = number](const StateLayout::Variable &one) {
          return one.programs.size() == 1 &&
                 *one.programs.begin() == int64_t(number);
        },
        shared);
    // No bytes would stand for the largest's in a manifest.
    if (layout.programs.size() > 1)
      program.bytes = std::max(program.bytes, memoryAlignment);
  }
}

/// Behind the variables.
static void placePrepared(ModuleOp module, StateLayout &layout) {
  for (auto op : module.getOps<rt::ProgramOp>()) {
    // Its bindings are the entry's.
    if (op->hasAttr(kPrepares))
      continue;
    StateLayout::Program &program = layout.programs[getProgramNumber(op)];
    for (auto argument : op.getArguments().getAsRange<DictionaryAttr>()) {
      auto role = argument.getAs<StringAttr>(kRoleAttr);
      // What is packed lies where the library has its memory.
      if (!role || role.getValue() != "prepared" || argument.contains(kPacked))
        continue;
      StringRef name = argument.getAs<StringAttr>(kNameAttr).getValue();
      if (!program.prepared.try_emplace(name, program.bytes).second)
        continue;
      int64_t bytes =
          alignMemory(getByteSize(argument.getAs<TypeAttr>("type").getValue()));
      program.preparedBytes += bytes;
      program.bytes += bytes;
    }
  }
}

StateLayout mlir::dist::layOutState(ModuleOp module) {
  StateLayout layout;
  addHolders(module, layout);
  MeshOp mesh = findMesh(module);
  for (auto op : module.getOps<graph::VariableOp>())
    complete(op, mesh, layout.variables[op.getSymName()]);
  placeVariables(module, layout);
  placePrepared(module, layout);
  return layout;
}
