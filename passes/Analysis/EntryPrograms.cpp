//===- EntryPrograms.cpp - The functions of an entry, what they take ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/EntryPrograms.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"

using namespace mlir;
using namespace mlir::dist;

SmallVector<func::FuncOp> mlir::dist::findPrograms(ModuleOp module,
                                                   StringRef entry) {
  if (auto function = module.lookupSymbol<func::FuncOp>(entry))
    return {function};
  SmallVector<func::FuncOp> parts;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto name = function->getAttrOfType<StringAttr>(kEntryAttr))
      if (name == entry)
        parts.push_back(function);
  llvm::sort(parts, [](func::FuncOp a, func::FuncOp b) {
    return getProgramNumber(a) < getProgramNumber(b);
  });
  return parts;
}

int64_t mlir::dist::getPosition(Attribute position, int64_t number) {
  return position ? cast<IntegerAttr>(position).getInt() : number;
}

int64_t mlir::dist::getPosition(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return getPosition(
      function.getArgAttr(argument.getArgNumber(), kEntryIndexAttr),
      argument.getArgNumber());
}

SmallVector<RankTensors>
mlir::dist::cutArguments(func::FuncOp program, MeshOp mesh,
                         ArrayRef<HostTensor> arguments, int64_t firstRank,
                         int64_t numRanks) {
  SmallVector<RankTensors> ranks(numRanks);
  std::optional<Portion> portion = findPortion(program);
  for (BlockArgument argument : program.getArguments()) {
    const HostTensor &whole = arguments[getPosition(argument)];
    auto sharding = program.getArgAttrOfType<ShardingAttr>(
        argument.getArgNumber(), DistDialect::kSharding);
    // A variable's padding is zero from one step to the next; what an
    // input's holds is not specified.
    bool isVariable(program.getArgAttr(argument.getArgNumber(), kVariableAttr));
    ShardPadding padding =
        isVariable ? ShardPadding::Zero : ShardPadding::Poison;
    HostTensor examples = whole;
    if (portion && sharding && !isVariable)
      examples = cutPortion(whole, *portion, sharding);
    for (int64_t i = 0; i < numRanks; ++i)
      ranks[i].push_back(mesh && sharding
                             ? cutShard(examples, sharding, mesh,
                                        isOnHost(program) ? 0 : firstRank + i,
                                        padding)
                             : whole);
  }
  return ranks;
}
