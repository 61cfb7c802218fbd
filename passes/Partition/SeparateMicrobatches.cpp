//===- SeparateMicrobatches.cpp - A mesh axis set apart -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks along the axis will be one rank at different times. Here the program
// still has one op for all of them; but from here on only collectives over the
// mesh @microbatches, which move nothing between ranks, name the axis: passes
// that come between this one and dist-unroll-microbatches work on a program as
// long as the model, whatever the number of microbatches.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Interfaces/Signature.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SEPARATEMICROBATCHESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using graph::GraphBuilder;

namespace {
/// The group axes of a collective, around the one that is set apart.
struct SplitAxes {
  SmallVector<StringAttr> outer, inner;
  SmallVector<StringAttr> getOthers() const {
    return llvm::to_vector(llvm::concat<const StringAttr>(outer, inner));
  }
};

/// Works on one function.
class Separator {
public:
  Separator(func::FuncOp function, MeshOp whole, StringAttr axis)
      : function(function), whole(whole), axis(axis),
        count(whole.getAxisSize(axis)), builder(function.getContext()) {}
  LogicalResult run();

private:
  LogicalResult separateArguments();
  LogicalResult separateResults();
  LogicalResult check(Operation *op);
  void separate(Operation *op);
  Value separate(Operation *op, unsigned operand, const SplitAxes &axes);
  void retargetShardings(Operation *op);
  void nameCompleted(Operation *op, unsigned operand, Value result);
  void markVarying();

  bool isOver(Operation *op) const;
  SplitAxes splitAxes(Operation *op) const;
  FailureOr<int64_t> findSplitDim(ShardingAttr sharding, const Twine &what);
  Attribute retarget(Attribute sharding) const;
  ArrayAttr getNames(ArrayRef<StringAttr> axes) {
    return builder.getArrayAttr(
        SmallVector<Attribute>(axes.begin(), axes.end()));
  }
  Type scale(Type type, int64_t dim, int64_t multiply, int64_t divide) const {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape[dim] = shape[dim] * multiply / divide;
    return tensor.clone(shape);
  }

  /// A collective of the same reason as `op`, over some of its axes or over
  /// the microbatches; the value itself where that is a group of one.
  template <typename OpTy, typename... Args>
  Value apply(Operation *op, Value value, ArrayRef<StringAttr> axes, Type type,
              Args... args) {
    auto like = cast<CollectiveOpInterface>(op);
    if (axes.empty())
      return value;
    return copyCauses(op,
                      OpTy::create(builder, op->getLoc(), TypeRange{type},
                                   ValueRange{value}, args...,
                                   like.getCollectiveMesh().getValue(),
                                   getNames(axes), like.getCollectiveReason(),
                                   like.getCollectiveOrigin()))
        .getResult(0);
  }
  template <typename OpTy, typename... Args>
  Value applyOverMicrobatches(Location loc, Value value, Type type,
                              StringRef reason, StringRef origin,
                              Args... args) {
    if (count == 1)
      return value;
    return OpTy::create(builder, loc, TypeRange{type}, ValueRange{value},
                        args..., kMicrobatchMesh, getNames(axis), reason,
                        origin)
        ->getResult(0);
  }
  template <typename OpTy, typename... Args>
  Value applyOverMicrobatches(Operation *op, Value value, Type type,
                              Args... args) {
    auto like = cast<CollectiveOpInterface>(op);
    return applyOverMicrobatches<OpTy>(op->getLoc(), value, type,
                                       like.getCollectiveReason(),
                                       like.getCollectiveOrigin(), args...);
  }

  /// Part after part along `dim`: of the outer ranks' by OpTy, of the
  /// microbatches', and of the inner ranks' by OpTy again.
  template <typename OpTy, typename... Args>
  Value takeParts(Operation *op, Value value, const SplitAxes &axes,
                  int64_t dim, Args... args) {
    auto takeOver = [&](ArrayRef<StringAttr> names) {
      Type part = scale(value.getType(), dim, 1, whole.getGroupSize(names));
      value =
          apply<OpTy>(op, value, names, part, ArrayRef<int64_t>{dim}, args...);
    };
    takeOver(axes.outer);
    value = applyOverMicrobatches<AllSliceOp>(
        op, value, scale(value.getType(), dim, 1, count),
        ArrayRef<int64_t>{dim});
    takeOver(axes.inner);
    return value;
  }

  func::FuncOp function;
  MeshOp whole;
  StringAttr axis;
  int64_t count;
  OpBuilder builder;
  /// What `kShardings` of an op becomes, by what it was.
  DenseMap<Attribute, Attribute> shardings;
};

struct SeparateMicrobatchesPass
    : mlir::dist::impl::SeparateMicrobatchesPassBase<SeparateMicrobatchesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static ShardingAttr dropAxis(ShardingAttr sharding, StringAttr axis) {
  SmallVector<SmallVector<StringAttr>> dims;
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim) {
    dims.emplace_back(sharding.getAxes(dim));
    llvm::erase(dims.back(), axis);
  }
  SmallVector<StringAttr> unreduced(sharding.getUnreduced());
  llvm::erase(unreduced, axis);
  return ShardingAttr::get(sharding.getMesh(), dims, unreduced);
}

/// A sharding that names the axis stays one over the whole mesh.
Attribute Separator::retarget(Attribute attribute) const {
  auto sharding = cast<ShardingAttr>(attribute);
  if (!sharding.splitsOver(axis) && !sharding.isUnreducedOver(axis))
    return attribute;
  return ShardingAttr::get(
      sharding.getContext(),
      FlatSymbolRefAttr::get(sharding.getContext(), kMicrobatchMesh),
      sharding.getDims(), sharding.getUnreduced(), sharding.getReplicated());
}

void Separator::retargetShardings(Operation *op) {
  auto list = op->getAttrOfType<ArrayAttr>(DistDialect::kShardings);
  if (!list || list.size() != op->getNumResults())
    return;
  Attribute &retargeted = shardings[list];
  if (!retargeted)
    retargeted = builder.getArrayAttr(llvm::map_to_vector(
        list, [&](Attribute sharding) { return retarget(sharding); }));
  if (retargeted != list)
    op->setAttr(DistDialect::kShardings, retargeted);
}

/// The dim that the axis splits, or -1. As its minor axis, so that a rank's
/// microbatches are consecutive parts of what it holds.
FailureOr<int64_t> Separator::findSplitDim(ShardingAttr sharding,
                                           const Twine &what) {
  if (!sharding)
    return function.emitOpError()
           << what << " has no sharding; run dist-partition first";
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim) {
    ArrayRef<StringAttr> axes = sharding.getAxes(dim);
    if (!llvm::is_contained(axes, axis))
      continue;
    if (axes.back() != axis)
      return function.emitOpError()
             << what << ": expected '" << axis.getValue()
             << "' to be the minor axis of dim " << dim << ", but got "
             << sharding << "; list it last in the mesh";
    return dim;
  }
  return -1;
}

//===----------------------------------------------------------------------===//
// Arguments and results: whole
//===----------------------------------------------------------------------===//

LogicalResult Separator::separateArguments() {
  Signature signature(function);
  builder.setInsertionPointToStart(&function.front());
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto sharding =
        function.getArgAttrOfType<ShardingAttr>(number, DistDialect::kSharding);
    auto dim = findSplitDim(sharding, "argument " + Twine(number));
    if (failed(dim))
      return failure();
    Location loc = argument.getLoc();
    Type part = argument.getType();
    Value value = argument;
    if (*dim >= 0) {
      argument.setType(scale(part, *dim, count, 1));
      value = applyOverMicrobatches<AllSliceOp>(
          loc, argument, part, "a microbatch is a part of the batch",
          getValueName(argument), ArrayRef<int64_t>{*dim});
    } else if (sharding.isUnreducedOver(axis)) {
      // A sum over the microbatches: the first has all of it.
      SmallVector<int64_t> sources(count, -1);
      sources.front() = 0;
      value = applyOverMicrobatches<PermuteOp>(
          loc, argument, part, "the first microbatch has the sum so far",
          getValueName(argument), ArrayRef<int64_t>(sources));
    }
    if (value != argument)
      argument.replaceAllUsesExcept(value, value.getDefiningOp());
    signature.arguments.attributes[number].set(DistDialect::kSharding,
                                               dropAxis(sharding, axis));
    signature.arguments.types[number] = argument.getType();
  }
  signature.apply();
  return success();
}

LogicalResult Separator::separateResults() {
  Operation *terminator = function.front().getTerminator();
  builder.setInsertionPoint(terminator);
  Signature signature(function);
  for (OpOperand &use : terminator->getOpOperands()) {
    unsigned number = use.getOperandNumber();
    auto sharding = function.getResultAttrOfType<ShardingAttr>(
        number, DistDialect::kSharding);
    auto dim = findSplitDim(sharding, "result " + Twine(number));
    if (failed(dim))
      return failure();
    Value value = use.get();
    Location loc = value.getLoc();
    if (*dim >= 0)
      value = applyOverMicrobatches<AllGatherOp>(
          loc, value, scale(value.getType(), *dim, count, 1),
          "the batch is its microbatches", getValueName(value),
          ArrayRef<int64_t>{*dim});
    else if (sharding.isUnreducedOver(axis))
      value = applyOverMicrobatches<AllReduceOp>(
          loc, value, value.getType(),
          "what the microbatches have is parts of a sum", getValueName(value),
          Reduction::Sum);
    use.set(value);
    signature.results.types[number] = value.getType();
    signature.results.attributes[number].set(DistDialect::kSharding,
                                             dropAxis(sharding, axis));
  }
  signature.apply();
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives: over the microbatches and over the other axes
//===----------------------------------------------------------------------===//

bool Separator::isOver(Operation *op) const {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && llvm::is_contained(collective.getGroupAxes(), axis);
}

SplitAxes Separator::splitAxes(Operation *op) const {
  SplitAxes split;
  bool behind = false;
  for (StringAttr name : cast<CollectiveOpInterface>(op).getGroupAxes()) {
    if (name == axis)
      behind = true;
    else
      (behind ? split.inner : split.outer).push_back(name);
  }
  return split;
}

LogicalResult Separator::check(Operation *op) {
  if (!isOver(op) ||
      isa<AllReduceOp, AllGatherOp, AllSliceOp, ReduceScatterOp, BroadcastOp>(
          op))
    return success();
  if (isa<PermuteOp, AllToAllOp>(op) && splitAxes(op).getOthers().empty())
    return success();
  return op->emitOpError() << "cannot be unrolled over '" << axis.getValue()
                           << "'; split the batch, and nothing else, over it";
}

/// One operand's part of a collective, but of an all_reduce what the
/// microbatches have of it.
Value Separator::separate(Operation *op, unsigned operand,
                          const SplitAxes &axes) {
  Value value = op->getOperand(operand);
  Type type = value.getType();
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return applyOverMicrobatches<AllReduceOp>(op, value, type,
                                              reduce.getReduction());
  if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    value = applyOverMicrobatches<AllReduceOp>(op, value, type,
                                               scatter.getReduction());
    return takeParts<ReduceScatterOp>(
        op, value, axes, scatter.getDims()[operand], scatter.getReduction());
  }
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    int64_t dim = gather.getDims()[operand];
    auto gatherOver = [&](Value value, ArrayRef<StringAttr> names) {
      Type whole =
          scale(value.getType(), dim, this->whole.getGroupSize(names), 1);
      return apply<AllGatherOp>(op, value, names, whole,
                                ArrayRef<int64_t>{dim});
    };
    value = gatherOver(value, axes.inner);
    value = applyOverMicrobatches<AllGatherOp>(
        op, value, scale(value.getType(), dim, count, 1),
        ArrayRef<int64_t>{dim});
    return gatherOver(value, axes.outer);
  }
  if (auto slice = dyn_cast<AllSliceOp>(op))
    return takeParts<AllSliceOp>(op, value, axes, slice.getDims()[operand]);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    int64_t inner = whole.getGroupSize(axes.inner);
    int64_t place = broadcast.getRoot();
    value = applyOverMicrobatches<BroadcastOp>(op, value, type,
                                               uint64_t(place / inner % count));
    return apply<BroadcastOp>(
        op, value, axes.getOthers(), type,
        uint64_t(place / inner / count * inner + place % inner));
  }
  if (auto permute = dyn_cast<PermuteOp>(op)) {
    if (count == 1 && permute.getSources().front() < 0)
      return GraphBuilder(builder, op->getLoc()).zeros(type);
    return applyOverMicrobatches<PermuteOp>(op, value, type,
                                            permute.getSources());
  }
  auto exchange = cast<AllToAllOp>(op);
  return applyOverMicrobatches<AllToAllOp>(
      op, value, op->getResult(operand).getType(),
      ArrayRef<int64_t>{exchange.getSplitDims()[operand]},
      ArrayRef<int64_t>{exchange.getConcatDims()[operand]});
}

/// What a collective over the microbatches completes is the whole program's
/// value: its number lets the check compare it.
void Separator::nameCompleted(Operation *op, unsigned operand, Value result) {
  Operation *last = result.getDefiningOp();
  auto shardings = op->getAttrOfType<ArrayAttr>(DistDialect::kShardings);
  if (!last || !isOverMicrobatches(last) || !shardings || isa<AllSliceOp>(op))
    return;
  Operation *source = op->getOperand(operand).getDefiningOp();
  while (source && isa<CollectiveOpInterface>(source) &&
         source->getNumOperands() == 1)
    source = source->getOperand(0).getDefiningOp();
  Attribute number = source ? source->getAttr(DistDialect::kOrigin) : nullptr;
  if (!number || source->getNumResults() != 1)
    return;
  last->setAttr(DistDialect::kOrigin, number);
  last->setAttr(DistDialect::kShardings,
                builder.getArrayAttr({retarget(shardings[operand])}));
}

void Separator::separate(Operation *op) {
  builder.setInsertionPoint(op);
  SplitAxes axes = splitAxes(op);
  SmallVector<Value> values;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    values.push_back(separate(op, i, axes));
  SmallVector<StringAttr> others = axes.getOthers();
  if (auto reduce = dyn_cast<AllReduceOp>(op); reduce && !others.empty()) {
    // One transfer, as it was.
    auto all = AllReduceOp::create(builder, op->getLoc(), op->getResultTypes(),
                                   values, reduce.getReduction(),
                                   reduce.getMesh(), getNames(others),
                                   reduce.getReason(), reduce.getOrigin());
    for (StringRef name : {DistDialect::kOrigin, DistDialect::kShardings})
      if (Attribute attribute = op->getAttr(name))
        all->setAttr(name, attribute);
    retargetShardings(copyCauses(op, all));
    values.assign(all->result_begin(), all->result_end());
  } else {
    for (auto [i, value] : llvm::enumerate(values))
      nameCompleted(op, i, value);
  }
  op->replaceAllUsesWith(values);
  op->erase();
}

/// What differs from microbatch to microbatch says so: there will be a copy of
/// it for each.
void Separator::markVarying() {
  if (count == 1)
    return;
  DenseSet<Value> varying;
  for (Operation &op : function.front().without_terminator()) {
    bool varies;
    if (isOverMicrobatches(&op))
      varies = givesEachItsOwn(&op);
    else
      varies = llvm::any_of(op.getOperands(), [&](Value operand) {
        return varying.contains(operand);
      });
    if (!varies)
      continue;
    varying.insert(op.result_begin(), op.result_end());
    op.setAttr(kMicrobatchAttr, builder.getUnitAttr());
  }
}

LogicalResult Separator::run() {
  Block &block = function.front();
  for (Operation &op : block.without_terminator())
    if (failed(check(&op)))
      return failure();
  if (failed(separateArguments()))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    // Those over the microbatches alone are what this leaves.
    if (isOver(&op) && !isOverMicrobatches(&op))
      separate(&op);
    else
      retargetShardings(&op);
  }
  if (failed(separateResults()))
    return failure();
  markVarying();
  return success();
}

void SeparateMicrobatchesPass::runOnOperation() {
  ModuleOp module = getOperation();
  MeshOp mesh = findMesh(module);
  if (!mesh || mesh.getAxisSize(axis) == 0)
    return markAllAnalysesPreserved();
  SmallVector<Attribute> names(mesh.getAxisNames().begin(),
                               mesh.getAxisNames().end());
  SmallVector<int64_t> sizes(mesh.getAxisSizes());
  auto name = StringAttr::get(&getContext(), axis);
  if (names.back() != name) {
    mesh.emitOpError() << "expected '" << axis.getValue()
                       << "' to be its last axis, whose ranks are neighbours";
    return signalPassFailure();
  }
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(mesh);
  auto whole = cast<MeshOp>(builder.clone(*mesh));
  whole.setSymName(kMicrobatchMesh);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        failed(Separator(function, whole, name).run()))
      return signalPassFailure();
  names.pop_back();
  sizes.pop_back();
  mesh.setAxisNamesAttr(builder.getArrayAttr(names));
  mesh.setAxisSizes(sizes);
  for (auto variable : module.getOps<graph::VariableOp>())
    if (auto sharding =
            dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr()))
      variable.setShardingAttr(dropAxis(sharding, name));
}
