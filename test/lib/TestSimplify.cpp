//===- TestSimplify.cpp - Simplified programs against what they were ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `test-check-simplify` runs dist-simplify-collectives on a partitioned module,
// and evaluates each function before and after on simulated ranks: every rank
// must return the same values. Arguments are random as their shardings say:
// parts of one tensor where they are split, and numbers of its own on each rank
// where they are sums. Prints `@f: equal`, or emits an error.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "passes/Analysis/Evaluator.h"
#include "passes/Partition/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::dist;

namespace {
struct TestCheckSimplify
    : PassWrapper<TestCheckSimplify, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestCheckSimplify)
  StringRef getArgument() const final { return "test-check-simplify"; }
  StringRef getDescription() const final {
    return "simplifies collectives, and compares with what it was";
  }

  /// What each rank holds of a random tensor.
  SmallVector<HostTensor> makeArgument(BlockArgument argument, MeshOp mesh,
                                       std::mt19937_64 &random) {
    auto local = mlir::cast<RankedTensorType>(argument.getType());
    ShardingAttr sharding = findSharding(argument);
    if (!sharding)
      sharding = ShardingAttr::get(
          FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
          SmallVector<SmallVector<StringAttr>>(local.getRank()));
    RankedTensorType global = getGlobalType(local, sharding, mesh);
    SmallVector<HostTensor> summands;
    for (int64_t i = 0, e = mesh.getGroupSize(sharding.getUnreduced()); i < e;
         ++i) {
      HostTensor tensor(global);
      for (int64_t j = 0; j < tensor.getNumElements(); ++j)
        tensor.setDouble(j, std::uniform_real_distribution<>(-1, 1)(random));
      summands.push_back(tensor);
    }
    SmallVector<HostTensor> parts;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      parts.push_back(cutShard(
          summands[getPositionInGroup(mesh, rank, sharding.getUnreduced())],
          sharding.withUnreduced({}), mesh, rank));
    return parts;
  }

  LogicalResult compare(func::FuncOp before, func::FuncOp after, MeshOp mesh) {
    ExactFloats exact;
    std::mt19937_64 random(11);
    SmallVector<RankTensors> arguments(mesh.getNumRanks());
    for (BlockArgument argument : before.getArguments())
      for (auto [rank, part] :
           llvm::enumerate(makeArgument(argument, mesh, random)))
        arguments[rank].push_back(part);
    auto expected = evaluateRanks(before, mesh, arguments);
    auto actual = evaluateRanks(after, mesh, arguments);
    if (failed(expected) || failed(actual))
      return failure();
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      for (auto [i, tensor] : llvm::enumerate((*expected)[rank])) {
        const HostTensor &other = (*actual)[rank][i];
        if (other.getType() != tensor.getType())
          return after.emitError("result ") << i << " has another type";
        for (int64_t j = 0; j < tensor.getNumElements(); ++j)
          if (!(std::abs(tensor.getDouble(j) - other.getDouble(j)) < 1e-9))
            return after.emitError("result ")
                   << i << " of rank " << rank << " is " << other.getDouble(j)
                   << ", but was " << tensor.getDouble(j);
      }
    llvm::outs() << "@" << after.getSymName() << ": equal\n";
    return success();
  }

  void runOnOperation() override {
    OwningOpRef<ModuleOp> before = getOperation().clone();
    OpPassManager pipeline("builtin.module");
    pipeline.addNestedPass<func::FuncOp>(createSimplifyCollectivesPass());
    if (failed(runPipeline(pipeline, getOperation())))
      return signalPassFailure();
    MeshOp mesh = findMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("test-check-simplify needs a mesh");
      return signalPassFailure();
    }
    for (auto function : before->getOps<func::FuncOp>())
      if (failed(compare(
              function,
              getOperation().lookupSymbol<func::FuncOp>(function.getSymName()),
              mesh)))
        signalPassFailure();
  }
};
} // namespace

namespace mlir::dist {
void registerTestSimplify();
void registerTestSimplify() { PassRegistration<TestCheckSimplify>(); }
} // namespace mlir::dist
