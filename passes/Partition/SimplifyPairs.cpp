//===- SimplifyPairs.cpp - Collectives of collectives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/SimplifyCollectives.h"
#include "dialects/Dist/IR/Sources.h"

using namespace mlir;
using namespace mlir::dist;

/// The only collective of this kind that `op` is of, or null. One of several
/// operands is a bucket: it stays as it was put together.
template <typename OpTy> static OpTy findOperand(Operation *op) {
  if (op->getNumOperands() != 1)
    return {};
  auto operand = op->getOperand(0).getDefiningOp<OpTy>();
  return operand && operand->getNumOperands() == 1 ? operand : OpTy();
}

static ArrayAttr toAttribute(MLIRContext *context, ArrayRef<StringAttr> axes) {
  SmallVector<Attribute> names(axes.begin(), axes.end());
  return ArrayAttr::get(context, names);
}

/// The sharding with more unreduced axes, in no particular order.
static ShardingAttr addUnreduced(ShardingAttr sharding,
                                 ArrayRef<StringAttr> axes) {
  AxisNames all(sharding.getUnreduced());
  llvm::append_range(all, axes);
  return sharding.withUnreduced(all);
}

/// Makes the collective that stands for `like` and, if given, `other`: with the
/// reasons and causes of both, and the number of the op whose value they hand
/// on.
template <typename OpTy, typename... Args>
static OpTy createLike(PatternRewriter &rewriter, Operation *like,
                       Operation *other, Type type, Value operand,
                       ArrayRef<StringAttr> axes, ShardingAttr sharding,
                       Args... args) {
  auto collective = cast<CollectiveOpInterface>(like);
  auto op = OpTy::create(
      rewriter, like->getLoc(), TypeRange{type}, ValueRange{operand}, args...,
      collective.getCollectiveMesh().getValue(),
      toAttribute(like->getContext(), axes), collective.getCollectiveReason(),
      collective.getCollectiveOrigin());
  copyCauses(like, op);
  if (other)
    addExplanation(op, other);
  if (sharding)
    setSharding(op->getResult(0), sharding);
  if (Attribute number = like->getAttr(DistDialect::kOrigin))
    op->setAttr(DistDialect::kOrigin, number);
  return op;
}

namespace {
/// A group of one rank has nothing to do.
struct GroupOfOne : OpInterfaceRewritePattern<CollectiveOpInterface> {
  GroupOfOne(MLIRContext *context, MeshOp mesh)
      : OpInterfaceRewritePattern(context), mesh(mesh) {}
  LogicalResult matchAndRewrite(CollectiveOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumOperands() != op->getNumResults() || !isPure(op) ||
        op->getOperandTypes() != op->getResultTypes() ||
        MeshOp(mesh).getGroupSize(op.getGroupAxes()) != 1)
      return rewriter.notifyMatchFailure(op, "several ranks take part");
    if (auto permute = dyn_cast<PermuteOp>(op.getOperation()))
      if (permute.getSources().front() < 0)
        return rewriter.notifyMatchFailure(op, "it gives zeros");
    rewriter.replaceOp(op, op->getOperands());
    return success();
  }
  MeshOp mesh;
};

/// all_slice of all_reduce: reduce_scatter over the axes that both have; a cut
/// over other axes goes first, so that less is reduced.
struct SliceOfReduce : OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto reduce = findOperand<AllReduceOp>(slice);
    if (!reduce || !reduce->hasOneUse())
      return rewriter.notifyMatchFailure(
          slice, "not of an all_reduce that has no other reader");
    AxisNames cut = slice.getGroupAxes(), reduced = reduce.getGroupAxes(), rest;
    auto isReduced = [&](StringAttr axis) {
      return llvm::is_contained(reduced, axis);
    };
    llvm::copy_if(reduced, std::back_inserter(rest), [&](StringAttr axis) {
      return !llvm::is_contained(cut, axis);
    });
    bool all = llvm::all_of(cut, isReduced);
    if (!all && llvm::any_of(cut, isReduced))
      return rewriter.notifyMatchFailure(slice, "only some axes are reduced");
    Value input = reduce.getInputs()[0];
    ShardingAttr sharding = findSharding(slice->getResult(0));
    // Only sums are marked as unreduced.
    bool marks = sharding && reduce.getReduction() == Reduction::Sum;
    ShardingAttr partial = marks ? addUnreduced(sharding, rest) : sharding;
    Type type = slice.getResultTypes()[0];
    Value part;
    if (all)
      part = createLike<ReduceScatterOp>(rewriter, reduce, slice, type, input,
                                         cut, partial, slice.getDims(),
                                         reduce.getReduction())
                 ->getResult(0);
    else
      part = createLike<AllSliceOp>(rewriter, slice, nullptr, type, input, cut,
                                    partial, slice.getDims())
                 ->getResult(0);
    if (!rest.empty())
      part = createLike<AllReduceOp>(rewriter, reduce, nullptr, type, part,
                                     rest, sharding, reduce.getReduction())
                 ->getResult(0);
    rewriter.replaceOp(slice, part);
    return success();
  }
};

/// all_reduce over `axis` of a reduce_scatter: summed first, and then scattered
/// once, not on each rank of the axis.
struct ReduceOfScatter : OpRewritePattern<AllReduceOp> {
  ReduceOfScatter(MLIRContext *context, StringRef axis)
      : OpRewritePattern(context), axis(axis) {}
  LogicalResult matchAndRewrite(AllReduceOp reduce,
                                PatternRewriter &rewriter) const override {
    AxisNames axes = reduce.getGroupAxes();
    if (axes.size() != 1 || axes.front().getValue() != axis)
      return rewriter.notifyMatchFailure(reduce, "over other axes");
    auto scatter = findOperand<ReduceScatterOp>(reduce);
    if (!scatter || !scatter->hasOneUse() ||
        scatter.getReduction() != reduce.getReduction())
      return rewriter.notifyMatchFailure(
          reduce, "not of a reduce_scatter that has no other reader");
    Value input = scatter.getInputs()[0];
    ShardingAttr sharding = findSharding(reduce->getResult(0)), whole;
    if (ShardingAttr before = findSharding(input)) {
      AxisNames left;
      llvm::copy_if(before.getUnreduced(), std::back_inserter(left),
                    [&](StringAttr other) { return other != axes.front(); });
      whole = before.withUnreduced(left);
    }
    auto sum =
        createLike<AllReduceOp>(rewriter, reduce, nullptr, input.getType(),
                                input, axes, whole, reduce.getReduction());
    rewriter.replaceOp(
        reduce, createLike<ReduceScatterOp>(
                    rewriter, scatter, nullptr, reduce->getResult(0).getType(),
                    sum->getResult(0), scatter.getGroupAxes(), sharding,
                    scatter.getDims(), scatter.getReduction()));
    return success();
  }
  StringRef axis;
};

/// all_slice of all_gather: what is gathered only to be cut again is not
/// gathered; along another dim it is an all_to_all.
struct SliceOfGather : OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto gather = findOperand<AllGatherOp>(slice);
    if (!gather)
      return rewriter.notifyMatchFailure(slice, "not of an all_gather");
    AxisNames cut = slice.getGroupAxes(), gathered = gather.getGroupAxes();
    Value input = gather.getInputs()[0];
    ShardingAttr sharding = findSharding(slice->getResult(0));
    Type type = slice.getResultTypes()[0];
    if (slice.getDims()[0] != gather.getDims()[0]) {
      if (cut != gathered || !gather->hasOneUse())
        return rewriter.notifyMatchFailure(
            slice, "of another dim, over other axes or with other readers");
      rewriter.replaceOp(
          slice,
          createLike<AllToAllOp>(rewriter, gather, slice, type, input, cut,
                                 sharding, slice.getDims(), gather.getDims()));
      return success();
    }
    size_t common = 0;
    while (common < std::min(cut.size(), gathered.size()) &&
           cut[common] == gathered[common])
      ++common;
    if (common == 0 || common < std::min(cut.size(), gathered.size()))
      return rewriter.notifyMatchFailure(slice, "the orders of axes differ");
    if (cut.size() == gathered.size())
      rewriter.replaceOp(slice, input);
    else if (cut.size() > gathered.size())
      rewriter.replaceOp(
          slice, createLike<AllSliceOp>(rewriter, slice, nullptr, type, input,
                                        ArrayRef(cut).drop_front(common),
                                        sharding, slice.getDims()));
    else
      rewriter.replaceOp(
          slice, createLike<AllGatherOp>(rewriter, gather, nullptr, type, input,
                                         ArrayRef(gathered).drop_front(common),
                                         sharding, gather.getDims()));
    return success();
  }
};

/// all_gather of all_slice gives back what was cut, if all ranks had the same.
struct GatherOfSlice : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp gather,
                                PatternRewriter &rewriter) const override {
    auto slice = findOperand<AllSliceOp>(gather);
    if (!slice || slice.getGroupAxes() != gather.getGroupAxes() ||
        slice.getDims() != gather.getDims())
      return rewriter.notifyMatchFailure(gather, "not of the same cut");
    if (!isUniform(slice.getInputs()[0], slice.getGroupAxes()))
      return rewriter.notifyMatchFailure(gather, "ranks cut different values");
    rewriter.replaceOp(gather, slice.getInputs());
    return success();
  }
};

/// all_gather of reduce_scatter is one all_reduce.
struct GatherOfScatter : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp gather,
                                PatternRewriter &rewriter) const override {
    auto scatter = findOperand<ReduceScatterOp>(gather);
    if (!scatter || !scatter->hasOneUse() ||
        scatter.getGroupAxes() != gather.getGroupAxes() ||
        scatter.getDims() != gather.getDims())
      return rewriter.notifyMatchFailure(
          gather, "not of the same reduce_scatter, or it has other readers");
    rewriter.replaceOp(
        gather,
        createLike<AllReduceOp>(
            rewriter, scatter, gather, gather.getResultTypes()[0],
            scatter.getInputs()[0], gather.getGroupAxes(),
            findSharding(gather->getResult(0)), scatter.getReduction()));
    return success();
  }
};

/// There and back again.
struct AllToAllPair : OpRewritePattern<AllToAllOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllToAllOp second,
                                PatternRewriter &rewriter) const override {
    auto first = findOperand<AllToAllOp>(second);
    if (!first || first.getGroupAxes() != second.getGroupAxes() ||
        first.getSplitDims() != second.getConcatDims() ||
        first.getConcatDims() != second.getSplitDims())
      return rewriter.notifyMatchFailure(second, "not the way back");
    rewriter.replaceOp(second, first.getInputs());
    return success();
  }
};

/// Two moves of shards are one, or none.
struct PermutePair : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp second,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> sources = second.getSources();
    if (second->getNumOperands() == 1 &&
        llvm::all_of(llvm::enumerate(sources), [](auto entry) {
          return int64_t(entry.index()) == entry.value();
        })) {
      rewriter.replaceOp(second, second.getInputs());
      return success();
    }
    auto first = findOperand<PermuteOp>(second);
    if (!first || first.getGroupAxes() != second.getGroupAxes())
      return rewriter.notifyMatchFailure(second, "not of the same group");
    SmallVector<int64_t> both;
    for (int64_t source : sources)
      both.push_back(source < 0 ? -1 : first.getSources()[source]);
    rewriter.replaceOp(second,
                       createLike<PermuteOp>(
                           rewriter, second, first, second.getResultTypes()[0],
                           first.getInputs()[0], second.getGroupAxes(),
                           findSharding(second->getResult(0)),
                           ArrayRef<int64_t>(both)));
    return success();
  }
};
} // namespace

void mlir::dist::populateCollectivePairPatterns(RewritePatternSet &patterns,
                                                MeshOp mesh,
                                                StringRef sumFirst) {
  MLIRContext *context = patterns.getContext();
  patterns.add<GroupOfOne>(context, mesh);
  if (!sumFirst.empty())
    patterns.add<ReduceOfScatter>(context, sumFirst);
  patterns.add<SliceOfReduce, SliceOfGather, GatherOfSlice, GatherOfScatter,
               AllToAllPair, PermutePair>(context);
}
