//===- SimplifyMotion.cpp - Reductions after ops, cuts before them --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both go by the ops' sharding rules: the sets of operands in which an op is
// linear, and the factors that pass through it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Partition/SimplifyCollectives.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether only the operands `set` of `op` read the value. One value may be two
/// operands: a square is linear in neither.
static bool isReadOnlyBy(Value value, Operation *op, ArrayRef<unsigned> set) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    return use.getOwner() == op &&
           llvm::is_contained(set, use.getOperandNumber());
  });
}

/// Whether the operands outside `set` are the same on all ranks along `axes`.
static bool othersAreUniform(Operation *op, ArrayRef<unsigned> set,
                             ArrayRef<StringAttr> axes) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!llvm::is_contained(set, i) && !isUniform(operand, axes))
      return false;
  return true;
}

namespace {
/// An all_reduce, and the ops of its linear way to where it is used.
struct ReducedValue {
  AllReduceOp reduce;
  SmallVector<OpOperand *> way;
};
} // namespace

/// The all_reduce behind `use`, seen through ops that are linear in it, do not
/// change its bytes and are read by the operands `readers` alone. By a list,
/// not by calls: a way may have as many ops as the model.
static ReducedValue findReduced(OpOperand &use, ArrayRef<unsigned> readers) {
  struct Step {
    OpOperand *use;
    size_t before;
  };
  SmallVector<Step> steps = {{&use, 0}};
  SmallVector<size_t> left = {0};
  while (!left.empty()) {
    size_t at = left.pop_back_val();
    OpOperand &operand = *steps[at].use;
    unsigned own = operand.getOperandNumber();
    Operation *definition = operand.get().getDefiningOp();
    if (!definition || !isReadOnlyBy(operand.get(), operand.getOwner(),
                                     at == 0 ? readers : ArrayRef(own)))
      continue;
    if (auto reduce = dyn_cast<AllReduceOp>(definition)) {
      if (reduce->getNumOperands() != 1 ||
          reduce.getReduction() != Reduction::Sum)
        continue;
      ReducedValue found{reduce, {}};
      for (; at != 0; at = steps[at].before)
        found.way.push_back(steps[at].use);
      return found;
    }
    auto sharded = dyn_cast<ShardingRuleOpInterface>(definition);
    if (!sharded || definition->getNumResults() != 1)
      continue;
    ShardingRule rule = sharded.getShardingRule();
    for (const auto &set : llvm::reverse(rule.linear)) {
      if (set.size() != 1)
        continue;
      OpOperand &next = definition->getOpOperand(set[0]);
      if (getByteSize(next.get().getType()) !=
          getByteSize(operand.get().getType()))
        continue;
      left.push_back(steps.size());
      steps.push_back({&next, at});
    }
  }
  return {};
}

namespace {
/// What is linear in reduced operands is computed from partial sums, and
/// reduced once: where that is fewer bytes.
struct ReduceAfterLinearOp
    : OpInterfaceRewritePattern<ShardingRuleOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ShardingRuleOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !findSharding(op->getResult(0)))
      return rewriter.notifyMatchFailure(op, "not one value of known layout");
    for (const auto &set : op.getShardingRule().linear)
      if (succeeded(move(op, set, rewriter)))
        return success();
    return rewriter.notifyMatchFailure(op, "no linear set of all_reduces");
  }

  LogicalResult move(Operation *op, ArrayRef<unsigned> set,
                     PatternRewriter &rewriter) const {
    // A way changes no bytes: no fewer than an operand's are reduced. Of a long
    // chain of gradients each op would look through all before it.
    int64_t most = 0;
    for (unsigned i : set)
      most += getByteSize(op->getOperand(i).getType());
    if (getByteSize(op->getResult(0).getType()) >= most)
      return failure();
    SmallVector<ReducedValue> values;
    llvm::SetVector<Operation *> reduces;
    int64_t before = 0;
    for (unsigned i : set) {
      ReducedValue value = findReduced(op->getOpOperand(i), set);
      if (!value.reduce)
        return failure();
      if (reduces.insert(value.reduce))
        before += getByteSize(value.reduce->getResult(0).getType());
      values.push_back(value);
    }
    if (values.empty() || getByteSize(op->getResult(0).getType()) >= before)
      return failure();
    AllReduceOp first = values.front().reduce;
    AxisNames axes = first.getGroupAxes();
    llvm::SmallDenseSet<StringAttr> wanted(axes.begin(), axes.end());
    for (ReducedValue &value : values) {
      AxisNames own = value.reduce.getGroupAxes();
      if (llvm::SmallDenseSet<StringAttr>(own.begin(), own.end()) != wanted)
        return failure();
      for (OpOperand *step : value.way)
        if (!findSharding(step->getOwner()->getResult(0)) ||
            !othersAreUniform(step->getOwner(), {step->getOperandNumber()},
                              axes))
          return failure();
    }
    if (!othersAreUniform(op, set, axes) || !isUniform(op->getResult(0), axes))
      return failure();

    ShardingAttr sharding = findSharding(op->getResult(0));
    auto makePartial = [&](Operation *linear) {
      ShardingAttr own = findSharding(linear->getResult(0));
      AxisNames all(own.getUnreduced());
      llvm::append_range(all, axes);
      rewriter.modifyOpInPlace(linear, [&] {
        setSharding(linear->getResult(0), own.withUnreduced(all));
      });
    };
    for (ReducedValue &value : values)
      for (OpOperand *step : value.way)
        makePartial(step->getOwner());
    makePartial(op);
    rewriter.setInsertionPointAfter(op);
    auto after = AllReduceOp::create(
        rewriter, first.getLoc(), TypeRange{op->getResult(0).getType()},
        ValueRange{op->getResult(0)}, Reduction::Sum, first.getMesh(),
        first.getAxes(), first.getReason(), first.getOrigin());
    for (Operation *reduce : reduces)
      addExplanation(after, reduce);
    setSharding(after->getResult(0), sharding);
    if (Attribute number = op->getAttr(DistDialect::kOrigin))
      after->setAttr(DistDialect::kOrigin, number);
    rewriter.replaceAllUsesExcept(op->getResult(0), after->getResult(0), after);
    for (Operation *reduce : reduces)
      rewriter.replaceOp(reduce, reduce->getOperands());
    return success();
  }
};

/// A cut moves above the op that makes the value, so that each rank computes
/// only what it keeps.
struct SliceBeforeOp : OpRewritePattern<AllSliceOp> {
  SliceBeforeOp(MLIRContext *context, MeshOp mesh)
      : OpRewritePattern(context), mesh(mesh) {}
  LogicalResult matchAndRewrite(AllSliceOp slice,
                                PatternRewriter &rewriter) const override {
    if (slice->getNumOperands() != 1)
      return rewriter.notifyMatchFailure(slice, "a bucket");
    Value value = slice.getInputs()[0];
    auto op = value.getDefiningOp<ShardingRuleOpInterface>();
    if (!op || op->getNumResults() != 1 || !value.hasOneUse())
      return rewriter.notifyMatchFailure(
          slice, "not of an op that has no other reader");
    ShardingAttr sharding = findSharding(slice->getResult(0));
    AxisNames axes = slice.getGroupAxes();
    int64_t parts = MeshOp(mesh).getGroupSize(axes);
    ShardingRule rule = op.getShardingRule();
    const DimFactors &dim = rule.results[0][slice.getDims()[0]];
    if (!sharding || dim.empty() ||
        rule.factors[dim.front()].kind != FactorKind::PassThrough ||
        rule.factors[dim.front()].size % parts)
      return rewriter.notifyMatchFailure(slice, "the op cannot be cut there");
    unsigned factor = dim.front();

    SmallVector<std::optional<unsigned>> cuts;
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
      std::optional<unsigned> cut;
      for (auto [d, factors] : llvm::enumerate(tensor)) {
        if (!llvm::is_contained(factors, factor))
          continue;
        if (factors.front() != factor || cut)
          return rewriter.notifyMatchFailure(
              slice, "an operand has the factor where it cannot be cut");
        cut = d;
      }
      if (!isUniform(operand, axes) || (cut && !findSharding(operand)))
        return rewriter.notifyMatchFailure(slice,
                                           "an operand's layout differs");
      cuts.push_back(cut);
    }

    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), cuts)) {
      if (!cut) {
        operands.push_back(operand);
        continue;
      }
      auto type = cast<RankedTensorType>(operand.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[*cut] /= parts;
      ShardingAttr own = findSharding(operand);
      SmallVector<SmallVector<StringAttr>> dims;
      for (DimShardingAttr entry : own.getDims())
        dims.emplace_back(entry.getAxes());
      llvm::append_range(dims[*cut], axes);
      auto part = AllSliceOp::create(
          rewriter, slice.getLoc(), TypeRange{type.clone(shape)},
          ValueRange{operand}, SmallVector<int64_t>{int64_t(*cut)},
          slice.getMesh(), slice.getAxes(), slice.getReason(),
          slice.getOrigin());
      copyCauses(slice, part);
      setSharding(part->getResult(0),
                  ShardingAttr::get(own.getMesh(), dims, own.getUnreduced()));
      operands.push_back(part->getResult(0));
    }
    SmallVector<int64_t> shards(rule.factors.size(), 1);
    shards[factor] = parts;
    auto part =
        op.partition(rewriter, operands, slice->getResultTypes(), shards);
    if (failed(part))
      return op->emitOpError() << "cannot be cut into " << parts << " parts";
    (*part)->setLoc(op->getLoc());
    if (Attribute number = op->getAttr(DistDialect::kOrigin))
      (*part)->setAttr(DistDialect::kOrigin, number);
    setSharding((*part)->getResult(0), sharding);
    rewriter.replaceOp(slice, *part);
    return success();
  }
  MeshOp mesh;
};
/// What is gathered only to be read as a narrower type is narrowed first: the
/// same elements, in fewer bytes.
struct GatherAfterNarrowing : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp gather,
                                PatternRewriter &rewriter) const override {
    if (gather->getNumOperands() != 1 || gather->use_empty())
      return rewriter.notifyMatchFailure(gather, "a bucket");
    Value part = gather.getInputs()[0], whole = gather->getResult(0);
    auto first = dyn_cast<graph::ConvertOp>(*whole.user_begin());
    if (!first || getByteSize(first.getType()) >= getByteSize(whole.getType()))
      return rewriter.notifyMatchFailure(gather, "not narrowed");
    for (Operation *user : whole.getUsers())
      if (!isa<graph::ConvertOp>(user) ||
          user->getResult(0).getType() != first.getType() ||
          user->getBlock() != gather->getBlock())
        return rewriter.notifyMatchFailure(gather, "read otherwise, too");
    Type element = getElementTypeOrSelf(first.getType());
    auto narrow = graph::ConvertOp::create(
        rewriter, first->getLoc(),
        cast<RankedTensorType>(part.getType()).clone(element), part);
    if (Attribute number = first->getAttr(DistDialect::kOrigin))
      narrow->setAttr(DistDialect::kOrigin, number);
    setSharding(narrow.getResult(), findSharding(part));
    auto after = AllGatherOp::create(
        rewriter, gather.getLoc(), TypeRange{first.getType()},
        ValueRange{narrow.getResult()}, gather.getDims(), gather.getMesh(),
        gather.getAxes(), gather.getReason(), gather.getOrigin());
    addExplanation(after, gather);
    setSharding(after->getResult(0), findSharding(whole));
    for (Operation *user : llvm::make_early_inc_range(whole.getUsers()))
      rewriter.replaceOp(user, after);
    rewriter.eraseOp(gather);
    return success();
  }
};
} // namespace

void mlir::dist::populateCollectiveMotionPatterns(RewritePatternSet &patterns,
                                                  MeshOp mesh) {
  patterns.add<ReduceAfterLinearOp, GatherAfterNarrowing>(
      patterns.getContext());
  patterns.add<SliceBeforeOp>(patterns.getContext(), mesh);
}
