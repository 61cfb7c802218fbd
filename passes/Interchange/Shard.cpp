//===- Shard.cpp - Upstream's shard dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "passes/Interchange/Annotations.h"
#include "passes/Interchange/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_EXPORTSHARDPASS
#define GEN_PASS_DEF_IMPORTSHARDPASS
#include "passes/Interchange/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static constexpr llvm::StringLiteral kAxisNames = "axis_names";

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

namespace {
struct ExportShardPass
    : mlir::dist::impl::ExportShardPassBase<ExportShardPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  FailureOr<Value> makeSharding(OpBuilder &builder, Location loc, Value value,
                                ShardingAttr sharding);
  MeshOp mesh;
};
} // namespace

FailureOr<Value> ExportShardPass::makeSharding(OpBuilder &builder, Location loc,
                                               Value value,
                                               ShardingAttr sharding) {
  auto refuse = [&](const Twine &why) {
    mlir::emitError(loc) << "dist-export-shard: " << sharding << ": " << why;
    return failure();
  };
  if (!sharding.getUnreduced().empty())
    return refuse("unreduced values have no counterpart in the shard dialect; "
                  "run dist-insert-all-reduce first");
  SmallVector<shard::GridAxesAttr> axes;
  for (DimShardingAttr dim : sharding.getDims()) {
    if (dim.getOpen())
      return refuse("open dims have no counterpart in the shard dialect; run "
                    "dist-propagate-sharding first");
    if (dim.getPriority())
      return refuse("priorities have no counterpart in the shard dialect; run "
                    "dist-propagate-sharding first");
    SmallVector<int16_t> numbers;
    for (StringAttr axis : dim.getAxes())
      numbers.push_back(llvm::find(mesh.getAxisNames(), axis) -
                        mesh.getAxisNames().begin());
    axes.push_back(shard::GridAxesAttr::get(&getContext(), numbers));
  }
  // What is not listed is whole; something has to be.
  while (axes.size() > 1 && axes.back().empty())
    axes.pop_back();
  return shard::ShardingOp::create(builder, loc, sharding.getMesh(), axes)
      .getResult();
}

void ExportShardPass::runOnOperation() {
  auto all = Annotations::collect(getOperation(), "dist-export-shard");
  if (failed(all))
    return signalPassFailure();
  mesh = all->mesh;
  OpBuilder builder(&getContext());
  auto annotate = [&](Value value, ShardingAttr sharding, Location loc,
                      bool forUsers) -> FailureOr<shard::ShardOp> {
    auto attribute = makeSharding(builder, loc, value, sharding);
    if (failed(attribute))
      return failure();
    return shard::ShardOp::create(builder, loc, value, *attribute, forUsers);
  };
  for (Annotations::OfValue &of : all->values) {
    // Of one number there is nothing to split.
    if (of.sharding.getNumDims() == 0 && of.sharding.getUnreduced().empty())
      continue;
    builder.setInsertionPointAfterValue(of.value);
    auto op = annotate(of.value, of.sharding, of.value.getLoc(), false);
    if (failed(op))
      return signalPassFailure();
    of.value.replaceAllUsesExcept(op->getResult(), *op);
  }
  for (Annotations::OfResult &of : all->results) {
    if (of.sharding.getNumDims() == 0 && of.sharding.getUnreduced().empty())
      continue;
    Operation *end = of.function.front().getTerminator();
    builder.setInsertionPoint(end);
    auto op = annotate(end->getOperand(of.result), of.sharding,
                       of.function.getLoc(), true);
    if (failed(op))
      return signalPassFailure();
    end->setOperand(of.result, op->getResult());
  }
  for (ReshardOp reshard : all->reshards) {
    builder.setInsertionPoint(reshard);
    auto op = annotate(reshard.getOperand(), reshard.getTarget(),
                       reshard.getLoc(), true);
    if (failed(op))
      return signalPassFailure();
    reshard.replaceAllUsesWith(op->getResult());
  }
  all->strip();
  for (ReshardOp reshard : all->reshards)
    reshard.erase();
  builder.setInsertionPoint(mesh);
  auto grid = shard::GridOp::create(builder, mesh.getLoc(), mesh.getSymName(),
                                    mesh.getAxisSizes());
  grid->setAttr(kAxisNames, mesh.getAxisNames());
  mesh.erase();
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

namespace {
struct ImportShardPass
    : mlir::dist::impl::ImportShardPassBase<ImportShardPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult importGrid(shard::GridOp grid);
  FailureOr<ShardingAttr> readSharding(shard::ShardOp op);
  LogicalResult importShard(shard::ShardOp op);
  MeshOp mesh;
};
} // namespace

LogicalResult ImportShardPass::importGrid(shard::GridOp grid) {
  if (llvm::any_of(grid.getShape(), ShapedType::isDynamic))
    return grid.emitError() << "dist-import-shard: expected a grid of static "
                               "shape; give its sizes";
  Builder builder(&getContext());
  auto names = grid->getAttrOfType<ArrayAttr>(kAxisNames);
  if (!names) {
    SmallVector<Attribute> numbered;
    for (size_t i = 0; i < grid.getShape().size(); ++i)
      numbered.push_back(builder.getStringAttr("axis" + Twine(i)));
    names = builder.getArrayAttr(numbered);
  }
  if (names.size() != grid.getShape().size() ||
      !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return grid.emitError() << "dist-import-shard: expected axis_names to have "
                               "one name a dim of the grid";
  auto made = createMesh(grid, grid.getSymName(), names, grid.getShape());
  if (failed(made))
    return failure();
  mesh = *made;
  grid.erase();
  return success();
}

FailureOr<ShardingAttr> ImportShardPass::readSharding(shard::ShardOp op) {
  auto sharding = op.getSharding().getDefiningOp<shard::ShardingOp>();
  auto refuse = [&](const Twine &why) {
    op.emitError() << "dist-import-shard: " << why;
    return failure();
  };
  if (!sharding)
    return refuse("expected the sharding of a shard.sharding");
  if (!sharding.getStaticHaloSizes().empty() ||
      !sharding.getDynamicHaloSizes().empty())
    return refuse("halo sizes have no counterpart: the partitioner finds them "
                  "itself; leave them out");
  if (!sharding.getStaticShardedDimsOffsets().empty() ||
      !sharding.getDynamicShardedDimsOffsets().empty())
    return refuse("shards of given sizes have no counterpart: all are equal; "
                  "leave sharded_dims_offsets out");
  if (sharding.getGrid() != mesh.getSymName())
    return refuse("expected a sharding over @" + mesh.getSymName() +
                  ", but got @" + sharding.getGrid());
  SmallVector<SmallVector<StringAttr>> dims(
      cast<RankedTensorType>(op.getSrc().getType()).getRank());
  for (auto [i, axes] : llvm::enumerate(sharding.getSplitAxes()))
    for (int16_t axis : axes.asArrayRef()) {
      if (i >= dims.size())
        return refuse("expected axes of " + Twine(dims.size()) +
                      " dims at most");
      dims[i].push_back(cast<StringAttr>(mesh.getAxisNames()[axis]));
    }
  return ShardingAttr::get(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), dims);
}

LogicalResult ImportShardPass::importShard(shard::ShardOp op) {
  auto sharding = readSharding(op);
  if (failed(sharding))
    return failure();
  Value value = op.getSrc();
  ShardingAttr known = findSharding(value);
  auto function = dyn_cast<func::FuncOp>(op->getParentOp());
  bool returns = op->hasOneUse() && function &&
                 isa<func::ReturnOp>(*op->user_begin()) &&
                 op.getAnnotateForUsers();
  if (returns)
    function.setResultAttr(op->use_begin()->getOperandNumber(),
                           DistDialect::kSharding, *sharding);
  else if (!known && !op.getAnnotateForUsers())
    setSharding(value, *sharding);
  else if (known != *sharding) {
    OpBuilder builder(op);
    value = ReshardOp::create(builder, op.getLoc(), value.getType(), value,
                              *sharding, builder.getStringAttr("shard.shard"));
  }
  op.replaceAllUsesWith(value);
  op.erase();
  return success();
}

void ImportShardPass::runOnOperation() {
  auto grids = llvm::to_vector(getOperation().getOps<shard::GridOp>());
  for (shard::GridOp grid : grids)
    if (failed(importGrid(grid)))
      return signalPassFailure();
  SmallVector<shard::ShardOp> shards;
  SmallVector<shard::ShardingOp> shardings;
  WalkResult walked = getOperation().walk([&](Operation *op) {
    if (auto shardOp = dyn_cast<shard::ShardOp>(op))
      shards.push_back(shardOp);
    else if (auto sharding = dyn_cast<shard::ShardingOp>(op))
      shardings.push_back(sharding);
    else if (isa_and_nonnull<shard::ShardDialect>(op->getDialect())) {
      op->emitError() << "dist-import-shard: this op has no counterpart; only "
                         "grids, shardings and shard.shard are imported";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return signalPassFailure();
  for (shard::ShardOp op : shards)
    if (failed(importShard(op)))
      return signalPassFailure();
  for (shard::ShardingOp op : shardings)
    op.erase();
}
