//===- GraphReshape.cpp - The reshape op -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes are compared group by group: the smallest runs of operand dims and of
// result dims with equal numbers of elements.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphSupport.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

LogicalResult ReshapeOp::verify() {
  auto from = getOperand().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("expected one element type, but got ")
           << from.getElementType() << " and " << to.getElementType();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("expected equal numbers of elements, but got ")
           << from.getNumElements() << " and " << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  return {};
}

LogicalResult ReshapeOp::differentiate(OpBuilder &builder,
                                       ValueRange resultCotangents,
                                       ArrayRef<bool> wanted,
                                       SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  cotangents.push_back(dy && wanted[0]
                           ? GraphBuilder(builder, getLoc())
                                 .reshape(dy, getOperand().getType().getShape())
                           : Value());
  return success();
}

LogicalResult ReshapeOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  HostTensor result(getType());
  for (int64_t i = 0, e = result.getNumElements(); i < e; ++i)
    copyElement(result, i, operands[0], i);
  results.push_back(std::move(result));
  return success();
}

namespace {
/// A dim list being used up from its major end.
struct Remaining {
  explicit Remaining(ArrayRef<int64_t> shape) : shape(shape) { settle(); }
  bool done() const { return dim == shape.size(); }
  void use(int64_t factor) {
    size /= factor;
    if (size == 1)
      ++dim, settle();
  }
  /// Moves to the next dim of more than one element.
  void settle() {
    while (dim < shape.size() && shape[dim] == 1)
      ++dim;
    size = done() ? 1 : shape[dim];
  }
  ArrayRef<int64_t> shape;
  unsigned dim = 0;
  int64_t size = 1;
};
} // namespace

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  rule.linear({0});
  if (getType().getNumElements() == 0)
    return rule.build();
  Remaining from(getOperand().getType().getShape()), to(getType().getShape());
  while (!from.done() && !to.done()) {
    if (int64_t common = std::gcd(from.size, to.size); common > 1) {
      rule.factor(common, ValueDim{0, from.dim}, ValueDim{0, to.dim});
      from.use(common);
      to.use(common);
      continue;
    }
    // Nothing in common: the elements of both sides up to where they meet again
    // are interleaved, so those dims stay whole.
    int64_t fromCount = 1, toCount = 1;
    do {
      Remaining &side = fromCount <= toCount ? from : to;
      int64_t size = side.size;
      if (&side == &from)
        rule.factor(size, ValueDim{0, from.dim}, {},
                    FactorKind::NeedReplication);
      else
        rule.factor(size, {}, ValueDim{0, to.dim}, FactorKind::NeedReplication);
      (&side == &from ? fromCount : toCount) *= size;
      side.use(size);
    } while (fromCount != toCount);
  }
  return rule.build();
}

/// Calls `fn` with each group as [first, last) dims of both shapes.
static void forEachGroup(
    ArrayRef<int64_t> from, ArrayRef<int64_t> to,
    llvm::function_ref<void(unsigned, unsigned, unsigned, unsigned)> fn) {
  unsigned i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    unsigned firstFrom = i, firstTo = j;
    int64_t fromCount = i < from.size() ? from[i++] : 1;
    int64_t toCount = j < to.size() ? to[j++] : 1;
    while (fromCount != toCount) {
      if (fromCount < toCount)
        fromCount *= from[i++];
      else
        toCount *= to[j++];
    }
    fn(firstFrom, i, firstTo, j);
  }
}

Value ReshapeOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                             ValueRange indices, ElementLoader load) {
  ArrayRef<int64_t> from = getOperand().getType().getShape();
  ArrayRef<int64_t> to = getType().getShape();
  ScalarBuilder b(builder, loc, builder.getI64Type());
  SmallVector<Value> source(from.size());
  forEachGroup(
      from, to, [&](unsigned i, unsigned iEnd, unsigned j, unsigned jEnd) {
        Value position;
        for (; j < jEnd; ++j) {
          if (to[j] == 1)
            continue;
          position = position ? b.create<arith::AddIOp>(
                                    b.mulIndex(position, to[j]), indices[j])
                              : indices[j];
        }
        // Minor to major: the remainder is the index, the quotient goes on.
        int64_t left = 1;
        for (unsigned d = i; d < iEnd; ++d)
          left *= from[d];
        for (unsigned d = iEnd; d-- > i;) {
          left /= from[d];
          if (from[d] == 1 || !position) {
            source[d] = b.index(0);
            continue;
          }
          if (left == 1) {
            source[d] = position;
            continue;
          }
          Value size = b.index(from[d]);
          source[d] = b.create<arith::RemUIOp>(position, size);
          position = b.create<arith::DivUIOp>(position, size);
        }
      });
  return load(0, source);
}
