//===- InsertAllReduce.cpp - Completes partial sums where it costs least --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axis by axis, three steps: values that must come out unreduced pull their
// other summands along; a minimum cut through the linear ops says which values
// to reduce (ReductionCut); a sweep forward inserts the all-reduces, so that
// whatever is decided, no op sees a partial sum it may not see.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ReductionCut.h"
#include "passes/Partition/Unreduced.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_INSERTALLREDUCEPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The work for one axis.
class AxisReducer {
public:
  AxisReducer(func::FuncOp function, MeshOp mesh, StringAttr axis)
      : function(function), mesh(mesh), axis(axis), rows(mesh) {}
  LogicalResult run();

private:
  bool isUnreduced(Value value) const { return unreduced.contains(value); }
  UnreducedEffect getEffect(Operation *op) const {
    return getUnreducedEffect(op, axis, mesh,
                              [&](Value value) { return isUnreduced(value); });
  }
  /// Whether a reshard's result is a sum: as its operand is, unless that is
  /// scattered, or because it was made to divide a whole value.
  bool staysUnreduced(ReshardOp op) const {
    return isUnreduced(op.getOperand()) ? !op.getTarget().splitsOver(axis)
                                        : divided.contains(op.getResult());
  }
  void findUnreduced();
  LogicalResult checkShardings();
  LogicalResult pullSummands();
  LogicalResult makeUnreduced(OpOperand &use);
  LogicalResult shareOut(OpOperand &use);
  void insert();
  bool keepsPartial(OpOperand &use);
  Value getReduced(Value value, Reduction kind);
  std::string getReason(Value value, Reduction kind) const;
  void explain(Operation *op, Value value) const;
  void reduceOtherKinds(Operation *op, Reduction kind);
  bool isWantedUnreduced(unsigned result) {
    return isDeclaredUnreduced(function, result, axis);
  }

  func::FuncOp function;
  MeshOp mesh;
  StringAttr axis;
  SourceTable rows;
  /// Sums over the axis.
  DenseSet<Value> unreduced;
  /// Whole values of which each rank takes 1/n.
  DenseSet<Value> divided;
  /// The op whose split factor made a value unreduced.
  DenseMap<Value, Operation *> sources;
  std::optional<ReductionCut> cut;
  DenseMap<Value, Value> reduced;
};

struct InsertAllReducePass
    : mlir::dist::impl::InsertAllReducePassBase<InsertAllReducePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is unreduced
//===----------------------------------------------------------------------===//

void AxisReducer::findUnreduced() {
  unreduced.clear();
  sources.clear();
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    if (ShardingAttr sharding = findSharding(argument))
      if (sharding.isUnreducedOver(axis))
        unreduced.insert(argument);
  for (Operation &op : block) {
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      for (auto [operand, result] :
           llvm::zip(op.getOperands(), op.getResults()))
        if (isUnreduced(operand) &&
            !llvm::is_contained(reduce.getGroupAxes(), axis))
          unreduced.insert(result);
      continue;
    }
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      if (staysUnreduced(reshard)) {
        unreduced.insert(reshard.getResult());
        sources[reshard.getResult()] = sources.lookup(reshard.getOperand());
      }
      continue;
    }
    UnreducedEffect effect = getEffect(&op);
    if (!effect.partial || effect.kind != Reduction::Sum)
      continue;
    for (Value result : op.getResults()) {
      unreduced.insert(result);
      sources[result] = &op;
      if (effect.linearSet)
        for (Value operand : op.getOperands())
          if (Operation *source = sources.lookup(operand))
            sources[result] = source;
    }
  }
}

//===----------------------------------------------------------------------===//
// Results that are declared unreduced
//===----------------------------------------------------------------------===//

LogicalResult AxisReducer::shareOut(OpOperand &use) {
  Value value = use.get();
  Operation *user = use.getOwner();
  if (!isa<FloatType>(getElementTypeOrSelf(value)))
    return user->emitOpError()
           << "adds a whole value of integers to one that is a sum over '"
           << axis.getValue() << "'; make the variable a float one";
  OpBuilder builder(user);
  ShardingAttr sharding = findSharding(value);
  if (!sharding)
    return user->emitOpError()
           << "adds a value without a sharding to one that is a sum over '"
           << axis.getValue() << "'; run dist-propagate-sharding first";
  SmallVector<StringAttr> axes(sharding.getUnreduced());
  axes.push_back(axis);
  auto part = ReshardOp::create(
      builder, user->getLoc(), value, sharding.withUnreduced(axes),
      "each rank's share of a value added to a sum over '" +
          axis.getValue().str() + "'",
      getOriginName(user));
  setSharding(part.getResult(), part.getTarget());
  use.set(part.getResult());
  divided.insert(part.getResult());
  unreduced.insert(part.getResult());
  return success();
}

LogicalResult AxisReducer::makeUnreduced(OpOperand &use) {
  Value value = use.get();
  if (isUnreduced(value) || graph::isZero(value))
    return success();
  // A sum of partial and whole values becomes partial with its whole summands.
  if (Operation *op = value.getDefiningOp()) {
    UnreducedEffect effect = getEffect(op);
    if (effect.misuse && !effect.missing.empty()) {
      for (unsigned i : effect.missing)
        if (failed(makeUnreduced(op->getOpOperand(i))))
          return failure();
      findUnreduced();
      return success();
    }
  }
  return shareOut(use);
}

LogicalResult AxisReducer::pullSummands() {
  for (OpOperand &use : function.front().getTerminator()->getOpOperands())
    if (isWantedUnreduced(use.getOperandNumber()) && failed(makeUnreduced(use)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// All-reduces
//===----------------------------------------------------------------------===//

std::string AxisReducer::getReason(Value value, Reduction kind) const {
  // Says nothing of the op: a bucket of many has one reason, and `origin` says
  // where each comes from. Nor which parts of an axis they are: what all are
  // summed over becomes one transfer, whose group tells.
  std::string whole = getWholeAxis(axis).str();
  std::string reason =
      kind != Reduction::Sum || sources.lookup(value)
          ? "a reduction over a dim that is split over '" + whole + "'"
          : "a value kept as a sum over '" + whole + "' is read";
  if (auto why = mesh->getAttrOfType<DictionaryAttr>("why"))
    if (auto text = why.getAs<StringAttr>(axis))
      reason += " (" + text.str() + ")";
  return reason;
}

/// What made the value a sum caused `op`: the operand that is split, or that it
/// is given as one.
void AxisReducer::explain(Operation *op, Value value) const {
  Operation *source = sources.lookup(value);
  if (!rows.isKept())
    return;
  if (isa<BlockArgument>(value))
    if (int32_t row = rows.find(value, axis); row >= 0)
      return addCauses(op, row);
  if (!source)
    source = value.getDefiningOp();
  if (source)
    for (Value operand : source->getOperands())
      if (int32_t row = rows.find(operand, axis); row >= 0)
        return addCauses(op, row);
}

Value AxisReducer::getReduced(Value value, Reduction kind) {
  Value &result = reduced[value];
  if (result)
    return result;
  OpBuilder builder(function.getContext());
  Operation *definition = value.getDefiningOp();
  if (definition)
    builder.setInsertionPointAfter(definition);
  else
    builder.setInsertionPointToStart(&function.front());
  std::string origin = getValueName(value);
  auto op = AllReduceOp::create(
      builder, value.getLoc(), TypeRange{value.getType()}, ValueRange{value},
      kind, mesh.getSymName(), builder.getArrayAttr({axis}),
      getReason(value, kind), origin);
  result = op.getResult(0);
  explain(op, value);
  ShardingAttr sharding = findSharding(value);
  SmallVector<StringAttr> left;
  for (StringAttr other : sharding.getUnreduced())
    if (other != axis)
      left.push_back(other);
  setSharding(result, sharding.withUnreduced(left));
  if (definition)
    if (Attribute number = definition->getAttr(DistDialect::kOrigin))
      op->setAttr(DistDialect::kOrigin, number);
  return result;
}

/// A partial maximum, minimum or product has no linear users to wait for.
void AxisReducer::reduceOtherKinds(Operation *op, Reduction kind) {
  for (Value result : op->getResults()) {
    Value whole = getReduced(result, kind);
    result.replaceAllUsesExcept(whole, whole.getDefiningOp());
  }
}

/// Whether a use of a value that is reduced takes the partial one all the same:
/// it ends in state that is kept as a sum, or in a sum that is reduced later.
bool AxisReducer::keepsPartial(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<func::ReturnOp>(op))
    return isWantedUnreduced(use.getOperandNumber());
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    if (llvm::is_contained(reduce.getGroupAxes(), axis))
      return true;
  bool isPartial = op->getNumResults() > 0 &&
                   llvm::all_of(op->getResults(), [&](Value result) {
                     return cut->staysPartial(result);
                   });
  return isPartial || !readsElements(use);
}

void AxisReducer::insert() {
  Block &block = function.front();
  // Keeps only what is still true while the sweep changes operands.
  unreduced.clear();
  auto settle = [&](Value value) {
    // The declared sharding follows what the value really is.
    ShardingAttr sharding = findSharding(value);
    if (!sharding || isUnreduced(value) == sharding.isUnreducedOver(axis))
      return;
    SmallVector<StringAttr> axes;
    for (StringAttr other : sharding.getUnreduced())
      if (other != axis)
        axes.push_back(other);
    if (isUnreduced(value))
      axes.push_back(axis);
    setSharding(value, sharding.withUnreduced(axes));
    if (auto reshard = value.getDefiningOp<ReshardOp>())
      reshard.setTargetAttr(reshard.getTarget().withUnreduced(axes));
  };
  auto decide = [&](Value value) {
    if (!isUnreduced(value))
      return;
    settle(value);
    if (!cut->isReduced(value))
      return;
    // What has no elements is whole. (Its price is 0, too: the cut may run
    // through it.)
    if (getLocalBytes(value, mesh) == 0)
      return;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (!keepsPartial(use))
        uses.push_back(&use);
    if (uses.empty())
      return;
    Value whole = getReduced(value, Reduction::Sum);
    for (OpOperand *use : uses)
      use->set(whole);
  };
  for (BlockArgument argument : block.getArguments())
    if (cut->contains(argument)) {
      unreduced.insert(argument);
      decide(argument);
    }
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto needWhole = [&](OpOperand &use) {
      if (isUnreduced(use.get()) && readsElements(use))
        use.set(getReduced(use.get(), Reduction::Sum));
    };
    if (isa<func::ReturnOp>(op)) {
      for (OpOperand &use : op.getOpOperands())
        if (!isWantedUnreduced(use.getOperandNumber()))
          needWhole(use);
      continue;
    }
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      for (auto [operand, result] :
           llvm::zip(op.getOperands(), op.getResults()))
        if (isUnreduced(operand) &&
            !llvm::is_contained(reduce.getGroupAxes(), axis)) {
          unreduced.insert(result);
          decide(result);
        } else {
          // An earlier axis's all-reduce: its operand may be whole by now.
          settle(result);
        }
      continue;
    }
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      if (isUnreduced(reshard.getOperand()))
        explain(reshard, reshard.getOperand());
      if (staysUnreduced(reshard)) {
        unreduced.insert(reshard.getResult());
        decide(reshard.getResult());
      }
      continue;
    }
    UnreducedEffect effect = getEffect(&op);
    if (effect.misuse) {
      for (OpOperand &use : op.getOpOperands())
        needWhole(use);
      effect = getEffect(&op);
    }
    if (!effect.partial)
      continue;
    if (effect.kind != Reduction::Sum) {
      reduceOtherKinds(&op, effect.kind);
      continue;
    }
    for (Value result : op.getResults()) {
      unreduced.insert(result);
      decide(result);
    }
  }
}

/// Sums, other reductions of parts and their completions say how they are laid
/// out.
LogicalResult AxisReducer::checkShardings() {
  for (Operation &op : function.front()) {
    bool isPartial = isa<ShardingRuleOpInterface>(op) && getEffect(&op).partial;
    for (Value result : op.getResults())
      if ((isPartial || isUnreduced(result)) && !findSharding(result))
        return op.emitOpError()
               << "is a "
               << (isUnreduced(result) ? "sum over '" : "reduction over '")
               << axis.getValue()
               << "', but has no sharding; run dist-propagate-sharding and "
                  "dist-insert-reshards first";
  }
  return success();
}

LogicalResult AxisReducer::run() {
  findUnreduced();
  if (failed(checkShardings()) || failed(pullSummands()))
    return failure();
  findUnreduced();
  if (failed(checkShardings()))
    return failure();
  cut.emplace(function, mesh, axis, unreduced);
  insert();
  return success();
}

/// all_reduce of an all_reduce that has no other reader: one over both axes.
static void mergeChains(Block &block) {
  // Backward, so that what a later one takes in is gone when its turn comes.
  SmallVector<AllReduceOp> ops(block.getOps<AllReduceOp>());
  llvm::SmallPtrSet<Operation *, 8> merged;
  for (AllReduceOp outer : llvm::reverse(ops)) {
    if (merged.contains(outer) || outer->getNumOperands() != 1)
      continue;
    while (auto inner = outer.getInputs()[0].getDefiningOp<AllReduceOp>()) {
      if (!inner->hasOneUse() || inner->getNumOperands() != 1 ||
          inner.getReduction() != outer.getReduction())
        break;
      // Axes were reduced in the mesh's order, each right behind the value.
      SmallVector<Attribute> axes(outer.getAxes().begin(),
                                  outer.getAxes().end());
      llvm::append_range(axes, inner.getAxes());
      outer.setAxesAttr(ArrayAttr::get(outer.getContext(), axes));
      addExplanation(outer, inner);
      outer->setOperand(0, inner.getInputs()[0]);
      merged.insert(inner);
      inner->erase();
    }
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<AllReduceOp>(op) && op.use_empty())
      op.erase();
}

void InsertAllReducePass::runOnOperation() {
  func::FuncOp function = getOperation();
  MeshOp mesh = findMesh(function);
  if (!mesh || function.isExternal())
    return;
  // A sum of unknown size must not look like one of none, which needs no
  // transfer.
  if (failed(checkByteSizes(function)))
    return signalPassFailure();
  // A sum over one rank is whole.
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>())
    if (mesh.getAxisSize(axis) > 1 &&
        failed(AxisReducer(function, mesh, axis).run()))
      return signalPassFailure();
  mergeChains(function.front());
}
