//===- GraphDot.cpp - dot_general -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/LoopBuilder.h"
#include "dialects/Interfaces/HostLoops.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

/// Dims of an operand in neither list, in order.
static SmallVector<int64_t> getFreeDims(int64_t rank, ArrayRef<int64_t> batch,
                                        ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(dim);
  return free;
}

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return getFreeDims(getLhs().getType().getRank(), getLhsBatch(),
                     getLhsContract());
}

SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return getFreeDims(getRhs().getType().getRank(), getRhsBatch(),
                     getRhsContract());
}

static SmallVector<int64_t> pickSizes(ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
}

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  auto lhs = cast<RankedTensorType>(adaptor.getLhs().getType());
  auto rhs = cast<RankedTensorType>(adaptor.getRhs().getType());
  auto fail = [&](const Twine &message) {
    return emitOptionalError(location, "'graph.dot_general' op ", message);
  };
  auto checkDims = [&](ArrayRef<int64_t> batch, ArrayRef<int64_t> contract,
                       int64_t rank, const char *side) -> LogicalResult {
    llvm::SmallBitVector seen(rank);
    for (ArrayRef<int64_t> dims : {batch, contract})
      for (int64_t dim : dims) {
        if (dim < 0 || dim >= rank)
          return fail(Twine("expected dims of ") + side + " in [0, " +
                      Twine(rank) + "), but got " + Twine(dim));
        if (seen.test(dim))
          return fail(Twine("expected dim ") + Twine(dim) + " of " + side +
                      " to be listed once");
        seen.set(dim);
      }
    return success();
  };
  if (failed(checkDims(adaptor.getLhsBatch(), adaptor.getLhsContract(),
                       lhs.getRank(), "lhs")) ||
      failed(checkDims(adaptor.getRhsBatch(), adaptor.getRhsContract(),
                       rhs.getRank(), "rhs")))
    return failure();
  auto checkPairs = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right,
                        const char *kind) -> LogicalResult {
    if (left.size() != right.size())
      return fail(Twine("expected as many ") + kind +
                  " dims of lhs as of rhs, but got " + Twine(left.size()) +
                  " and " + Twine(right.size()));
    for (auto [l, r] : llvm::zip(left, right))
      if (lhs.getDimSize(l) != rhs.getDimSize(r))
        return fail(
            Twine("expected ") + kind + " dims " + Twine(l) + " of lhs and " +
            Twine(r) + " of rhs to have equal sizes, but got " +
            Twine(lhs.getDimSize(l)) + " and " + Twine(rhs.getDimSize(r)));
    return success();
  };
  if (failed(
          checkPairs(adaptor.getLhsBatch(), adaptor.getRhsBatch(), "batch")) ||
      failed(checkPairs(adaptor.getLhsContract(), adaptor.getRhsContract(),
                        "contracting")))
    return failure();
  if (lhs.getElementType() != rhs.getElementType())
    return fail("expected operands of one element type");

  SmallVector<int64_t> shape = pickSizes(lhs.getShape(), adaptor.getLhsBatch());
  llvm::append_range(shape,
                     pickSizes(lhs.getShape(),
                               getFreeDims(lhs.getRank(), adaptor.getLhsBatch(),
                                           adaptor.getLhsContract())));
  llvm::append_range(shape,
                     pickSizes(rhs.getShape(),
                               getFreeDims(rhs.getRank(), adaptor.getRhsBatch(),
                                           adaptor.getRhsContract())));
  inferred.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

namespace {
/// One operand of a product that gives a cotangent: which of its dims are
/// batch dims and which are summed, and what the others are in the operand
/// whose cotangent it is.
struct Term {
  Value value;
  SmallVector<int64_t> batch, contract;
  /// Dims of the cotangent that this term's free dims become, in order.
  SmallVector<int64_t> targets;
};
} // namespace

/// `a` times `b`, transposed to a cotangent whose batch dims are `batch`. Of
/// the two orders of the product the one that needs no transpose, if any.
static Value emitCotangent(GraphBuilder &g, const Term &a, const Term &b,
                           ArrayRef<int64_t> batch) {
  auto product = [&](const Term &first, const Term &second) {
    Value result =
        g.make<DotGeneralOp>(first.value, second.value, first.batch,
                             second.batch, first.contract, second.contract);
    SmallVector<int64_t> order(batch);
    llvm::append_range(order, first.targets);
    llvm::append_range(order, second.targets);
    SmallVector<int64_t> permutation(order.size());
    for (auto [i, dim] : llvm::enumerate(order))
      permutation[dim] = i;
    return g.transpose(result, permutation);
  };
  SmallVector<int64_t> order(batch);
  llvm::append_range(order, a.targets);
  llvm::append_range(order, b.targets);
  return llvm::is_sorted(order) ? product(a, b) : product(b, a);
}

LogicalResult DotGeneralOp::differentiate(OpBuilder &builder,
                                          ValueRange resultCotangents,
                                          ArrayRef<bool> wanted,
                                          SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  Value dy = resultCotangents[0];
  bool isFloat = isa<FloatType>(getType().getElementType());
  int64_t numBatch = getLhsBatch().size();
  SmallVector<int64_t> lhsFree = getLhsFree();
  SmallVector<int64_t> rhsFree = getRhsFree();
  auto iota = [](int64_t start, int64_t count) {
    return llvm::to_vector(llvm::seq<int64_t>(start, start + count));
  };
  SmallVector<int64_t> batchDims = iota(0, numBatch);
  SmallVector<int64_t> lhsDims = iota(numBatch, lhsFree.size());
  SmallVector<int64_t> rhsDims =
      iota(numBatch + lhsFree.size(), rhsFree.size());
  // The other operand keeps its contracting dims, in its own order; they become
  // the paired dims here.
  auto pairsInOrder = [](ArrayRef<int64_t> theirs, ArrayRef<int64_t> ours) {
    SmallVector<std::pair<int64_t, int64_t>> pairs;
    for (auto [t, o] : llvm::zip(theirs, ours))
      pairs.push_back({t, o});
    llvm::sort(pairs);
    return llvm::map_to_vector(pairs, [](auto pair) { return pair.second; });
  };
  cotangents.assign({nullptr, nullptr});
  if (!isFloat)
    return success();
  if (wanted[0])
    cotangents[0] =
        emitCotangent(g, {dy, batchDims, rhsDims, lhsFree},
                      {getRhs(), SmallVector<int64_t>(getRhsBatch()), rhsFree,
                       pairsInOrder(getRhsContract(), getLhsContract())},
                      getLhsBatch());
  if (wanted[1])
    cotangents[1] =
        emitCotangent(g,
                      {getLhs(), SmallVector<int64_t>(getLhsBatch()), lhsFree,
                       pairsInOrder(getLhsContract(), getRhsContract())},
                      {dy, batchDims, lhsDims, rhsFree}, getRhsBatch());
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding and cost
//===----------------------------------------------------------------------===//

ShardingRule DotGeneralOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  ArrayRef<int64_t> lhsShape = getLhs().getType().getShape();
  ArrayRef<int64_t> rhsShape = getRhs().getType().getShape();
  unsigned resultDim = 0;
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch()))
    rule.factor(lhsShape[l], {{0, unsigned(l)}, {1, unsigned(r)}},
                {{0, resultDim++}});
  for (int64_t dim : getLhsFree())
    rule.factor(lhsShape[dim], {{0, unsigned(dim)}}, {{0, resultDim++}});
  for (int64_t dim : getRhsFree())
    rule.factor(rhsShape[dim], {{1, unsigned(dim)}}, {{0, resultDim++}});
  for (auto [l, r] : llvm::zip(getLhsContract(), getRhsContract()))
    rule.reduction(lhsShape[l], {{0, unsigned(l)}, {1, unsigned(r)}});
  return rule.linear({0}).linear({1}).build();
}

OpCost DotGeneralOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.flops = 2.0 * getType().getNumElements();
  for (int64_t dim : getLhsContract())
    cost.flops *= getLhs().getType().getDimSize(dim);
  return cost;
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

/// Row-major offsets of every index over `dims` of a tensor.
static std::vector<int64_t> getOffsets(ArrayRef<int64_t> shape,
                                       ArrayRef<int64_t> dims) {
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  return listOffsets(llvm::map_to_vector(dims, [&](int64_t dim) {
    return StridedRange{0, shape[dim], strides[dim]};
  }));
}

/// Integers wrap: their products are summed without a sign.
template <typename T>
static void addDotProducts(DotGeneralOp op, const T *lhs, const T *rhs,
                           T *sums) {
  ArrayRef<int64_t> lhsShape = op.getLhs().getType().getShape();
  ArrayRef<int64_t> rhsShape = op.getRhs().getType().getShape();
  auto lhsBatch = getOffsets(lhsShape, op.getLhsBatch());
  auto rhsBatch = getOffsets(rhsShape, op.getRhsBatch());
  auto lhsFree = getOffsets(lhsShape, op.getLhsFree());
  auto rhsFree = getOffsets(rhsShape, op.getRhsFree());
  auto lhsSum = getOffsets(lhsShape, op.getLhsContract());
  auto rhsSum = getOffsets(rhsShape, op.getRhsContract());
  // Batch, rows and columns follow each other in the result.
  int64_t numRows = lhsFree.size(), numColumns = rhsFree.size();
  auto rows = listOffsets({{0, numRows, numColumns}});
  auto columns = listOffsets({{0, numColumns, 1}});
  SmallVector<ProductSums<T>> jobs;
  for (auto [lb, rb] : llvm::zip(lhsBatch, rhsBatch))
    jobs.push_back({lhs + lb, rhs + rb,
                    sums + int64_t(jobs.size()) * numRows * numColumns, lhsFree,
                    lhsSum, rhsSum, rhsFree, rows, columns});
  addProducts(op.getContext(), jobs);
}

LogicalResult DotGeneralOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  HostTensor result(getType());
  if (result.isFloat())
    addDotProducts(*this, lhs.getFloats().data(), rhs.getFloats().data(),
                   result.writeFloats().data());
  else
    addDotProducts(*this,
                   reinterpret_cast<const uint64_t *>(lhs.getInts().data()),
                   reinterpret_cast<const uint64_t *>(rhs.getInts().data()),
                   reinterpret_cast<uint64_t *>(result.writeInts().data()));
  // Rounded (or wrapped) once.
  result.adjust(0, result.getNumElements());
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Scalar code: for the types that no library kernel takes
//===----------------------------------------------------------------------===//

Value DotGeneralOp::emitElement(OpBuilder &builder, Location loc,
                                unsigned result, ValueRange indices,
                                ElementLoader load) {
  ScalarBuilder s(builder, loc, getType());
  SmallVector<Value> lhsIndex(getLhs().getType().getRank());
  SmallVector<Value> rhsIndex(getRhs().getType().getRank());
  unsigned next = 0;
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch()))
    lhsIndex[l] = rhsIndex[r] = indices[next++];
  for (int64_t dim : getLhsFree())
    lhsIndex[dim] = indices[next++];
  for (int64_t dim : getRhsFree())
    rhsIndex[dim] = indices[next++];
  return emitReductionLoops(
      s, pickSizes(getLhs().getType().getShape(), getLhsContract()),
      s.constant(0), [&](ValueRange positions, ValueRange sums) {
        for (auto [position, l, r] :
             llvm::zip(positions, getLhsContract(), getRhsContract()))
          lhsIndex[l] = rhsIndex[r] = position;
        Value product = s.mul(load(0, lhsIndex), load(1, rhsIndex));
        return SmallVector<Value>{s.add(sums[0], product)};
      })[0];
}
