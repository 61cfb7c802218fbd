//===- EntryCases.cpp - Whole entries as the evaluator has them -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Check/EntryCases.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Analysis/EntryPrograms.h"
#include "passes/Analysis/RandomInputs.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dist;

/// f64's, f32's and narrower floats'.
static constexpr double kTolerances[] = {1e-9, 1e-5, 2e-2};

double mlir::dist::getTypeTolerance(Operation *op) {
  double largest = 0;
  auto take = [&](Type type) {
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    if (!element)
      return;
    int kind = element.isF64() ? 0 : element.isF32() ? 1 : 2;
    largest = std::max(largest, kTolerances[kind]);
  };
  op->walk([&](Operation *inner) {
    llvm::for_each(inner->getOperandTypes(), take);
    llvm::for_each(inner->getResultTypes(), take);
  });
  return largest;
}

FailureOr<EntryPrograms> mlir::dist::makeEntryPrograms(func::FuncOp entry,
                                                       ModuleOp kernels,
                                                       uint64_t seed) {
  EntryPrograms made{entry, {}, {}};
  SmallVector<func::FuncOp> parts = findPrograms(kernels, entry.getSymName());
  if (parts.empty() || entry.isExternal())
    return made;
  MeshOp mesh = findMesh(kernels);
  SmallVector<HostTensor> arguments = makeRandomArguments(entry, seed);
  for (BlockArgument argument : entry.getArguments())
    if (!entry.getArgAttr(argument.getArgNumber(), kVariableAttr))
      made.inputs.push_back(arguments[argument.getArgNumber()]);
  // What is left of compressed gradients is the partitioned program's own.
  if (parts.front().getNumArguments() > arguments.size()) {
    auto own = makeRandomArguments(parts.front(), seed, mesh);
    llvm::append_range(arguments, ArrayRef(own).drop_front(arguments.size()));
  }
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto [first, count] = mesh ? getProgramRanks(mesh, i, parts.size())
                               : std::pair<int64_t, int64_t>(0, 1);
    for (BlockArgument argument : part.getArguments())
      if (getPosition(argument) >= int64_t(arguments.size()))
        return part.emitOpError()
               << "its kernels cannot be checked: argument "
               << argument.getArgNumber() << " is none of the whole program";
    made.programs.push_back(
        {part, first, count,
         cutArguments(part, mesh, arguments, first, count)});
  }
  return made;
}

/// The whole of result `i` of program `number`; of all programs where each has
/// a portion of the examples.
static HostTensor join(const EntryPrograms &entry, size_t number, unsigned i,
                       ArrayRef<SmallVector<RankTensors>> results) {
  func::FuncOp part = entry.programs[number].function;
  SmallVector<HostTensor> held;
  if (findPortion(part))
    for (const SmallVector<RankTensors> &ranks : results)
      llvm::append_range(held, collectShards(ranks, i));
  else
    held = collectShards(results[number], i);
  auto sharding =
      part.getResultAttrOfType<ShardingAttr>(i, DistDialect::kSharding);
  MeshOp mesh = findMesh(part);
  if (!mesh || !sharding)
    return held.front();
  // Ranks that run no part hold the same as those that do.
  SmallVector<HostTensor> shards;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    shards.push_back(held[rank % held.size()]);
  return joinShards(shards, sharding, mesh);
}

EntryCase
mlir::dist::makeEntryCase(const EntryPrograms &entry,
                          ArrayRef<SmallVector<RankTensors>> results) {
  EntryCase made;
  func::FuncOp whole = entry.entry;
  made.name = whole.getSymName().str();
  made.inputs = entry.inputs;
  std::map<int64_t, EntryCase::Output> outputs;
  llvm::StringMap<size_t> slices;
  auto getSlice = [&](FlatSymbolRefAttr variable, int64_t rank,
                      const HostTensor &value) -> EntryCase::Slice & {
    std::string name = variable.getValue().str();
    auto [found, isNew] = slices.try_emplace(name + "/" + std::to_string(rank),
                                             made.slices.size());
    if (isNew)
      made.slices.push_back({name, rank, value, value});
    return made.slices[found->second];
  };
  for (auto [number, program] : llvm::enumerate(entry.programs)) {
    func::FuncOp part = program.function;
    made.programs.push_back(part.getSymName().str());
    made.tolerance = std::max(made.tolerance, getTypeTolerance(part));
    for (unsigned i = 0; i < part.getNumArguments(); ++i)
      if (auto variable =
              part.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr))
        for (int64_t rank = 0; rank < program.numRanks; ++rank)
          getSlice(variable, program.firstRank + rank,
                   program.arguments[rank][i]);
    for (unsigned i = 0; i < part.getNumResults(); ++i) {
      if (auto variable =
              part.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr)) {
        for (int64_t rank = 0; rank < program.numRanks; ++rank) {
          const HostTensor &after = results[number][rank][i];
          getSlice(variable, program.firstRank + rank, after).after = after;
        }
        continue;
      }
      unsigned position =
          getPosition(part.getResultAttr(i, kEntryIndexAttr), i);
      if (outputs.count(position) || position >= whole.getNumResults())
        continue;
      std::string name = "result " + std::to_string(position);
      if (auto given = part.getResultAttrOfType<StringAttr>(i, kNameAttr))
        name = given.str();
      auto type = cast<RankedTensorType>(whole.getResultTypes()[position]);
      outputs.emplace(
          position,
          EntryCase::Output{
              name, dropPadding(join(entry, number, i, results), type)});
    }
  }
  for (auto &[position, output] : outputs)
    made.outputs.push_back(std::move(output));
  return made;
}

FailureOr<EntryCase> mlir::dist::evaluateMoved(const EntryPrograms &entry) {
  double tolerance = 0;
  for (const RankProgram &program : entry.programs)
    tolerance = std::max(tolerance, getTypeTolerance(program.function));
  double rounding = tolerance == kTolerances[0]   ? 0x1p-51
                    : tolerance == kTolerances[1] ? 0x1p-22
                                                  : 0x1p-8;
  EntryPrograms moved = entry;
  for (RankProgram &program : moved.programs)
    for (RankTensors &arguments : program.arguments)
      for (HostTensor &tensor : arguments)
        // Copies on several ranks move alike: by place.
        for (int64_t i = 0; tensor.isFloat() && i < tensor.getNumElements();
             ++i)
          tensor.setDouble(i, tensor.getDouble(i) *
                                  (1 + (i % 3 ? rounding : -rounding)));
  auto results =
      evaluatePrograms(moved.programs, findMesh(entry.programs[0].function));
  if (failed(results))
    return failure();
  return makeEntryCase(moved, *results);
}
