//===- reshard_test.cpp - Every plan against the values it moves ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random meshes, tensors and pairs of layouts: the collectives of the plan, run
// on simulated ranks, must give each rank what the wanted layout says, and cost
// no more than the greedy plan. DIST_RESHARD_CASES sets how many are tried, and
// DIST_RESHARD_SEED where they start.
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "mlir/IR/Verifier.h"
#include "passes/Analysis/Evaluator.h"
#include "passes/Partition/Reshard.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir;
using namespace mlir::dist;

namespace {
int64_t getNumber(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// One reshard: a mesh, a tensor and two layouts of it.
class ReshardCase {
public:
  ReshardCase(MLIRContext &context, uint64_t seed)
      : random(seed), builder(&context),
        loc(NameLoc::get(StringAttr::get(&context, "case"))),
        module(ModuleOp::create(loc)) {
    makeMesh();
    makeLayouts();
  }

  void check(bool greedily);
  std::string describe() {
    std::string text;
    llvm::raw_string_ostream os(text);
    mesh->print(os);
    os << " " << global << ": " << from << " to " << to;
    return text;
  }

private:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  void makeMesh();
  void makeLayouts();
  ShardingAttr makeSharding(unsigned numDims, int64_t unreducedOneIn);

  std::mt19937_64 random;
  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
  MeshOp mesh;
  RankedTensorType global;
  ShardingAttr from, to;
};
} // namespace

void ReshardCase::makeMesh() {
  SmallVector<StringRef> names = {"x", "y", "z"};
  SmallVector<int64_t> sizes;
  int64_t ranks = 1, count = pick(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    int64_t size = pick(0, 9) == 0 ? 1 : pick(2, 4);
    if (ranks * size > 24)
      size = 2;
    sizes.push_back(size);
    ranks *= size;
  }
  names.resize(count);
  builder.setInsertionPointToEnd(module->getBody());
  mesh = MeshOp::create(builder, loc, "mesh", builder.getStrArrayAttr(names),
                        sizes);
  if (pick(0, 1) == 0) {
    // Dear links make of a small tensor what a large one is on others.
    double scale = pick(0, 1) ? 1e5 : 1;
    SmallVector<NamedAttribute> costs;
    for (StringRef name : names)
      costs.push_back(builder.getNamedAttr(
          name, builder.getF64FloatAttr(scale * pick(1, 8))));
    mesh->setAttr(kLinkCosts, builder.getDictionaryAttr(costs));
  }
}

ShardingAttr ReshardCase::makeSharding(unsigned numDims,
                                       int64_t unreducedOneIn) {
  SmallVector<StringAttr> axes =
      llvm::to_vector(mesh.getAxisNames().getAsRange<StringAttr>());
  std::shuffle(axes.begin(), axes.end(), random);
  AxisLists dims(numDims);
  AxisList unreduced;
  for (StringAttr axis : axes) {
    if (pick(1, unreducedOneIn) == 1)
      unreduced.push_back(axis);
    else if (numDims && pick(0, 3) != 0)
      dims[pick(0, numDims - 1)].push_back(axis);
  }
  return ShardingAttr::get(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), dims,
                           unreduced);
}

void ReshardCase::makeLayouts() {
  unsigned numDims = pick(0, 3);
  from = makeSharding(numDims, 4);
  to = makeSharding(numDims, 10);
  SmallVector<int64_t> shape;
  for (unsigned dim = 0; dim < numDims; ++dim)
    shape.push_back(
        std::lcm(getNumShards(from, dim, mesh), getNumShards(to, dim, mesh)) *
        pick(1, 2));
  global = RankedTensorType::get(shape, builder.getF64Type());
}

void ReshardCase::check(bool greedily) {
  RankedTensorType local = *getLocalType(global, from, mesh);
  RankedTensorType wanted = *getLocalType(global, to, mesh);
  builder.setInsertionPointToEnd(module->getBody());
  auto function =
      func::FuncOp::create(builder, loc, greedily ? "greedy" : "planned",
                           builder.getFunctionType({local}, {wanted}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  setSharding(block->getArgument(0), from);

  Layout start = getLayout(from, mesh), end = getLayout(to, mesh);
  ReshardPlan greedy = planReshardGreedily(global, start, end, mesh);
  ReshardPlan plan = greedily ? greedy : planReshard(global, start, end, mesh);
  EXPECT_LE(plan.cost, greedy.cost);
  Value result = emitPlan(builder, loc, block->getArgument(0), global, plan,
                          mesh, "test", "test");
  func::ReturnOp::create(builder, loc, result);
  ASSERT_TRUE(succeeded(verify(*module)));

  // The plan's costs are those of the ops.
  double sent = 0, cost = 0;
  function.walk([&](CollectiveOpInterface op) {
    sent += op.getBytesSent(mesh.getGroupSize(op.getGroupAxes())) *
            getLinkCost(mesh, op.getGroupAxes());
  });
  for (const ReshardStep &step : plan.steps)
    cost += step.cost;
  EXPECT_NEAR(sent, cost, 1e-6 * (1 + cost));

  // Each position along the unreduced axes has numbers of its own.
  ShardingAttr cut = from.withUnreduced({});
  SmallVector<HostTensor> summands;
  for (int64_t i = 0, e = mesh.getGroupSize(from.getUnreduced()); i < e; ++i) {
    HostTensor tensor(global);
    for (int64_t j = 0; j < tensor.getNumElements(); ++j)
      tensor.setDouble(j, pick(-1000, 1000));
    summands.push_back(tensor);
  }
  HostTensor expected = combine(summands, Reduction::Sum);
  SmallVector<RankTensors> arguments;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    arguments.push_back(
        {cutShard(summands[getPositionInGroup(mesh, rank, from.getUnreduced())],
                  cut, mesh, rank)});
  auto results = evaluateRanks(function, mesh, arguments);
  ASSERT_TRUE(succeeded(results));
  SmallVector<HostTensor> shards;
  for (RankTensors &tensors : *results)
    shards.push_back(tensors.front());
  double copies = 0;
  HostTensor actual = joinShards(shards, to, mesh, &copies);
  EXPECT_LT(copies, 1e-12);
  ASSERT_EQ(actual.getType(), expected.getType());
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    ASSERT_NEAR(actual.getDouble(i), expected.getDouble(i), 1e-9);
}

TEST(Reshard, EveryPlanGivesEachRankItsShard) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  int64_t first = getNumber("DIST_RESHARD_SEED", 1);
  int64_t cases = getNumber("DIST_RESHARD_CASES", 1500);
  for (int64_t seed = first; seed < first + cases; ++seed) {
    ReshardCase reshard(context, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + reshard.describe());
    reshard.check(/*greedily=*/false);
    reshard.check(/*greedily=*/true);
    if (testing::Test::HasFailure())
      return;
  }
}
