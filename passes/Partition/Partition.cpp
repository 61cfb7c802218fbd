//===- Partition.cpp - Global to local shapes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Signature.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Partition/BatchPortions.h"
#include "passes/Partition/FactorSharding.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/Reshard.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PARTITIONPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Rewrites one function.
class Partitioner {
public:
  Partitioner(func::FuncOp function, MeshOp mesh)
      : function(function), mesh(mesh), portions(function, mesh) {}
  LogicalResult run();

private:
  FailureOr<Type> getLocal(Operation *op, Value value);
  LogicalResult partition(Operation *op);
  LogicalResult partitionRule(ShardingRuleOpInterface op);
  LogicalResult partitionCollective(Operation *op);
  LogicalResult partitionReshard(ReshardOp op);
  /// The result's sharding but for the axes that cut examples out of a dim that
  /// every position has whole: those are cut off `local`. Null after an error.
  ShardingAttr cutExamples(ReshardOp op, Value &local);
  void setSignature();

  func::FuncOp function;
  MeshOp mesh;
  BatchPortions portions;
  IRMapping locals;
};

struct PartitionPass : mlir::dist::impl::PartitionPassBase<PartitionPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Says which dim of `type` has no equal parts, where that is why `error` is.
static void addMisfit(InFlightDiagnostic &error, RankedTensorType type,
                      ShardingAttr sharding, MeshOp mesh) {
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim) {
    int64_t size = type.getDimSize(dim);
    int64_t shards = getNumShards(sharding, dim, mesh);
    if (size % shards == 0)
      continue;
    error << ": dim " << dim << " has " << size << " elements, which '"
          << formatAxes(sharding.getAxes(dim)) << "' cannot split into "
          << shards << " equal parts; run dist-pad-indivisible first";
    return;
  }
}

FailureOr<Type> Partitioner::getLocal(Operation *op, Value value) {
  ShardingAttr sharding = findSharding(value);
  if (!sharding)
    return op->emitOpError() << "has a value without a sharding; run "
                                "dist-propagate-sharding first";
  auto type = cast<RankedTensorType>(value.getType());
  auto local = portions.getLocalType(value, sharding);
  if (failed(local)) {
    auto error = op->emitOpError()
                 << "cannot split " << type << " as " << sharding;
    if (const std::optional<Portion> &portion = portions.getPortion()) {
      error << " by the weights ";
      llvm::interleaveComma(portion->weights, error);
    } else {
      addMisfit(error, type, sharding, mesh);
    }
    return error;
  }
  return Type(*local);
}

/// Copies what every partitioned op keeps.
static void keepAttributes(Operation *from, Operation *to) {
  for (StringRef name : {DistDialect::kOrigin, DistDialect::kShardings})
    if (Attribute attribute = from->getAttr(name))
      to->setAttr(name, attribute);
}

LogicalResult Partitioner::partitionRule(ShardingRuleOpInterface op) {
  ShardingRule rule = op.getShardingRule();
  AxisLists axes = getFactorAxes(op, rule, mesh);
  SmallVector<int64_t> shards;
  for (const AxisList &list : axes)
    shards.push_back(mesh.getGroupSize(list));
  // What the op says of its values must be what its factors give.
  auto check = [&](Value value, const TensorFactors &tensor) -> LogicalResult {
    ShardingAttr sharding = findSharding(value);
    if (sharding && !splitsAlike(getDimAxes(sharding),
                                 projectToDims(tensor, axes, rule, mesh), mesh))
      return op->emitOpError() << "has operands and results that are split "
                                  "differently; run dist-insert-reshards first";
    return success();
  };
  for (auto [i, tensor] : llvm::enumerate(rule.operands))
    if (rule.reads(i) && failed(check(op->getOperand(i), tensor)))
      return failure();
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    if (failed(check(value, tensor)))
      return failure();

  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(locals.lookup(operand));
  SmallVector<Type> types;
  for (Value result : op->getResults()) {
    auto type = getLocal(op, result);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  OpBuilder builder(op);
  auto part = op.partition(builder, operands, types, shards);
  if (failed(part))
    return failure();
  (*part)->setLoc(op->getLoc());
  keepAttributes(op, *part);
  locals.map(op->getResults(), (*part)->getResults());
  return success();
}

LogicalResult Partitioner::partitionCollective(Operation *op) {
  OpBuilder builder(op);
  Operation *part = builder.clone(*op, locals);
  for (Value result : op->getResults()) {
    auto type = getLocal(op, result);
    if (failed(type))
      return failure();
    part->getResult(cast<OpResult>(result).getResultNumber()).setType(*type);
  }
  return success();
}

ShardingAttr Partitioner::cutExamples(ReshardOp op, Value &local) {
  ShardingAttr from = findSharding(op.getOperand());
  for (unsigned dim = 0; dim < from.getNumDims(); ++dim) {
    bool was = portions.isPortion(op.getOperand(), dim),
         is = portions.isPortion(op.getResult(), dim);
    if (was == is)
      continue;
    const Portion &portion = *portions.getPortion();
    bool isWhole = from.getAxes(dim).empty() &&
                   !llvm::is_contained(from.getUnreduced(), portion.axis) &&
                   getPortionDims(from, portion).empty();
    auto type = cast<RankedTensorType>(local.getType());
    int64_t size = type.getDimSize(dim);
    if (!is || !isWhole || size % portion.getTotal()) {
      auto error = op.emitOpError()
                   << "changes how dim " << dim << " of "
                   << op.getOperand().getType()
                   << " is split, which holds examples: positions along '"
                   << portion.axis.getValue()
                   << "' have unequal parts of them, and none has the "
                      "others'; leave --device-weights out";
      if (!op.getReason().empty())
        error.attachNote() << op.getReason();
      return {};
    }
    OpBuilder builder(op);
    SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
    SmallVector<int64_t> limits(type.getShape());
    starts[dim] = portion.getStart(size);
    limits[dim] = starts[dim] + portion.getSize(size);
    local = graph::SliceOp::create(builder, op.getLoc(), local, starts, limits,
                                   strides);
    from = from.withDim(dim, {portion.axis});
    setSharding(local, from);
  }
  return from;
}

LogicalResult Partitioner::partitionReshard(ReshardOp op) {
  OpBuilder builder(op);
  std::string origin =
      op.getOrigin().empty() ? getOriginName(op) : op.getOrigin().str();
  Value local = locals.lookup(op.getOperand());
  ShardingAttr from = cutExamples(op, local);
  if (!from)
    return failure();
  // Dims of examples keep their layout from here on, so that no op asks how
  // large the other ranks' parts are. Layouts on the way split no dim further
  // than the target or the operand does.
  RankedTensorType whole =
      getGlobalType(cast<RankedTensorType>(local.getType()), from, mesh);
  if (failed(getLocalType(whole, op.getTarget(), mesh))) {
    auto error = op.emitOpError()
                 << "cannot split " << op.getType() << " as " << op.getTarget();
    addMisfit(error, whole, op.getTarget(), mesh);
    return error;
  }
  Layout before = getLayout(from, mesh),
         after = getLayout(op.getTarget(), mesh);
  for (StringAttr axis : after.unreduced)
    if (!llvm::is_contained(before.unreduced, axis) &&
        !isa<FloatType>(whole.getElementType()))
      return op.emitOpError()
             << "cannot make " << op.getType() << " a sum over '"
             << axis.getValue()
             << "': integers have no equal parts; make it a float, or leave "
                "the target reduced";
  local = emitReshard(builder, op.getLoc(), local, from, op.getTarget(), mesh,
                      op.getReason(), origin);
  // Back to where the reshard began.
  Attribute number = op->getAttr(DistDialect::kOrigin);
  for (Value made = local; made != locals.lookup(op.getOperand());
       made = made.getDefiningOp()->getOperand(0)) {
    if (!isa<CollectiveOpInterface>(made.getDefiningOp()))
      continue;
    if (number)
      made.getDefiningOp()->setAttr(DistDialect::kOrigin, number);
    copyCauses(op, made.getDefiningOp());
  }
  locals.map(op.getResult(), local);
  return success();
}

LogicalResult Partitioner::partition(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    if (!findSharding(reshard.getOperand()))
      return op->emitOpError() << "has an operand without a sharding; run "
                                  "dist-propagate-sharding first";
    return partitionReshard(reshard);
  }
  if (auto sharded = dyn_cast<ShardingRuleOpInterface>(op))
    return partitionRule(sharded);
  if (isa<AllReduceOp>(op))
    return partitionCollective(op);
  return op->emitOpError() << "cannot be partitioned: it has no sharding rule; "
                              "compile it for one device";
}

void Partitioner::setSignature() {
  Block &block = function.front();
  Signature signature(function);
  auto set = [](Signature::Ports &ports, unsigned number, Type local) {
    // What dist-pad-indivisible has made larger knows its own size.
    if (!ports.attributes[number].get(DistDialect::kGlobalType))
      ports.attributes[number].set(DistDialect::kGlobalType,
                                   TypeAttr::get(ports.types[number]));
    ports.types[number] = local;
  };
  for (BlockArgument argument : block.getArguments()) {
    Type local = *portions.getLocalType(argument, findSharding(argument));
    set(signature.arguments, argument.getArgNumber(), local);
    argument.setType(local);
  }
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    set(signature.results, use.getOperandNumber(), use.get().getType());
  signature.apply();
}

LogicalResult Partitioner::run() {
  Block &block = function.front();
  if (failed(portions.run()))
    return failure();
  for (BlockArgument argument : block.getArguments()) {
    if (failed(getLocal(function, argument)))
      return failure();
    locals.map(argument, argument);
  }
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  // While ops are rewritten, arguments keep their global types: rules are asked
  // of global shapes only. `partition` gets the types it builds from, though,
  // so local arguments stand in.
  SmallVector<Value> standIns;
  for (BlockArgument argument : llvm::to_vector(block.getArguments())) {
    auto type = getLocal(function, argument);
    standIns.push_back(
        block.addArgument(cast<RankedTensorType>(*type), argument.getLoc()));
    locals.map(argument, standIns.back());
  }
  for (Operation *op : ops)
    if (failed(partition(op)))
      return failure();
  Operation *terminator = block.getTerminator();
  for (OpOperand &use : terminator->getOpOperands())
    use.set(locals.lookup(use.get()));
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  unsigned count = standIns.size();
  for (auto [i, standIn] : llvm::enumerate(standIns))
    standIn.replaceAllUsesWith(block.getArgument(i));
  block.eraseArguments(count, count);
  setSignature();
  return success();
}

/// A variable has one buffer on a rank: whatever reads it or assigns it, in
/// whatever function, must split it alike.
static LogicalResult verifyVariables(ModuleOp module, MeshOp mesh) {
  llvm::DenseMap<StringAttr, std::pair<ShardingAttr, func::FuncOp>> known;
  auto check = [&](func::FuncOp function, DictionaryAttr attributes,
                   ShardingAttr sharding) -> LogicalResult {
    auto variable = attributes
                        ? attributes.getAs<FlatSymbolRefAttr>(kVariableAttr)
                        : FlatSymbolRefAttr();
    if (!variable || !sharding)
      return success();
    auto [first, isNew] =
        known.try_emplace(variable.getAttr(), std::pair(sharding, function));
    ShardingAttr other = first->second.first;
    if (isNew || splitsAlike(getDimAxes(sharding), getDimAxes(other), mesh))
      return success();
    return function.emitOpError()
           << "splits the variable '" << variable.getValue() << "' as "
           << sharding << ", but @" << first->second.second.getSymName()
           << " as " << other << "; give it one layout in all functions";
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    for (BlockArgument argument : function.getArguments())
      if (failed(check(function,
                       function.getArgAttrDict(argument.getArgNumber()),
                       findSharding(argument))))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(check(function, function.getResultAttrDict(i),
                       function.getResultAttrOfType<ShardingAttr>(
                           i, DistDialect::kSharding))))
        return failure();
  }
  return success();
}

void PartitionPass::runOnOperation() {
  MeshOp mesh = findMesh(getOperation());
  if (!mesh)
    return;
  if (failed(verifyLinkCosts(mesh)) ||
      failed(verifyVariables(getOperation(), mesh)))
    return signalPassFailure();
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (!function.getBody().hasOneBlock()) {
      function.emitOpError() << "dist-partition: expected one block, but got "
                             << function.getBody().getBlocks().size();
      return signalPassFailure();
    }
    if (failed(Partitioner(function, mesh).run()))
      return signalPassFailure();
    int64_t id = 0;
    function.walk([&](CollectiveOpInterface collective) {
      if (!collective.isLocal())
        collective.setCollectiveId(id++);
    });
  }
}
