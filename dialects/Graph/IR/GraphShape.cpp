//===- GraphShape.cpp - constant, iota, broadcast, transpose -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphSupport.h"
#include "dialects/Interfaces/HostLoops.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::differentiate(OpBuilder &, ValueRange, ArrayRef<bool>,
                                        SmallVectorImpl<Value> &) {
  return success();
}

ShardingRule ConstantOp::getShardingRule() {
  // The parts of a splat are equal; other constants stay whole on each rank.
  FactorKind kind = getValue().isSplat() ? FactorKind::PassThrough
                                         : FactorKind::NeedReplication;
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d)
    rule.factor(getType().getDimSize(d), {}, ValueDim{0, d}, kind);
  return rule.build();
}

FailureOr<Operation *> ConstantOp::partition(OpBuilder &builder, ValueRange,
                                             TypeRange resultTypes,
                                             ArrayRef<int64_t>) {
  auto type = cast<RankedTensorType>(resultTypes[0]);
  if (type == getType())
    return builder.clone(*getOperation());
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense || !dense.isSplat())
    return emitOpError("cannot be split: its elements differ; expected a "
                       "replicated result");
  return create(builder, getLoc(), dense.resizeSplat(type)).getOperation();
}

LogicalResult ConstantOp::evaluate(ArrayRef<HostTensor>,
                                   SmallVectorImpl<HostTensor> &results) {
  FailureOr<HostTensor> value = HostTensor::fromAttribute(getValue());
  if (failed(value))
    return emitOpError("has no readable value: expected dense elements or a "
                       "resource whose bytes fill ")
           << getType();
  results.push_back(*value);
  return success();
}

bool ConstantOp::isElemental() {
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  return dense && (dense.isSplat() || dense.getNumElements() == 1);
}

Value ConstantOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                              ValueRange, ElementLoader) {
  auto dense = cast<DenseElementsAttr>(getValue());
  ScalarBuilder b(builder, loc, getType());
  if (b.isFloat())
    return b.constant((*dense.value_begin<APFloat>()).convertToDouble());
  return b.constant(
      builder.getIntegerAttr(b.getType(), *dense.value_begin<APInt>()));
}

//===----------------------------------------------------------------------===//
// iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  if (getDim() >= uint64_t(getType().getRank()))
    return emitOpError("expected dim to be within the result's ")
           << getType().getRank() << " dims, but got " << getDim();
  return success();
}

LogicalResult IotaOp::differentiate(OpBuilder &, ValueRange, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &) {
  return success();
}

ShardingRule IotaOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d)
    rule.factor(getType().getDimSize(d), {}, ValueDim{0, d},
                d == getDim() ? FactorKind::NeedReplication
                              : FactorKind::PassThrough);
  return rule.build();
}

LogicalResult IotaOp::evaluate(ArrayRef<HostTensor>,
                               SmallVectorImpl<HostTensor> &results) {
  HostTensor result(getType());
  int64_t i = 0;
  forEachIndex(getType().getShape(), [&](ArrayRef<int64_t> index) {
    result.setInt(i++, index[getDim()]);
  });
  results.push_back(std::move(result));
  return success();
}

Value IotaOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                          ValueRange indices, ElementLoader) {
  ScalarBuilder b(builder, loc, getType());
  Value index = indices[getDim()];
  if (!b.isFloat())
    return b.create<arith::IndexCastOp>(b.getType(), index);
  Value integer = b.create<arith::IndexCastOp>(builder.getI64Type(), index);
  return b.create<arith::SIToFPOp>(b.getType(), integer);
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto from = getOperand().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("expected one element type, but got ")
           << from.getElementType() << " and " << to.getElementType();
  if (int64_t(getDims().size()) != from.getRank())
    return emitOpError("expected dims to have one entry a dim of the operand, "
                       "but got ")
           << getDims().size() << " for " << from.getRank();
  int64_t last = -1;
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    if (dim <= last || dim >= to.getRank())
      return emitOpError("expected dims to be increasing and within the "
                         "result's ")
             << to.getRank() << " dims, but got " << dim;
    last = dim;
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(dim))
      return emitOpError("expected operand dim ")
             << i << " to be 1 or the size " << to.getDimSize(dim)
             << " of result dim " << dim << ", but got " << from.getDimSize(i);
  }
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  auto inner = getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(getDims()[dim]);
  setDims(dims);
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

LogicalResult BroadcastOp::differentiate(OpBuilder &builder,
                                         ValueRange resultCotangents,
                                         ArrayRef<bool> wanted,
                                         SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  auto from = getOperand().getType();
  if (!dy || !wanted[0] || !isa<FloatType>(from.getElementType())) {
    cotangents.push_back({});
    return success();
  }
  SmallVector<int64_t> repeated;
  for (int64_t d = 0; d < getType().getRank(); ++d) {
    const int64_t *it = llvm::find(getDims(), d);
    bool isCopied =
        it != getDims().end() &&
        from.getDimSize(it - getDims().begin()) == getType().getDimSize(d);
    if (!isCopied)
      repeated.push_back(d);
  }
  GraphBuilder g(builder, getLoc());
  // Reshape gives dims of size 1 back that the sum has removed.
  cotangents.push_back(g.reshape(g.sum(dy, repeated), from.getShape()));
  return success();
}

ShardingRule BroadcastOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto from = getOperand().getType();
  for (unsigned d = 0; d < getType().getRank(); ++d) {
    SmallVector<ValueDim, 1> operands;
    const int64_t *it = llvm::find(getDims(), int64_t(d));
    unsigned source = it - getDims().begin();
    if (it != getDims().end() &&
        from.getDimSize(source) == getType().getDimSize(d))
      operands.push_back({0, source});
    rule.factor(getType().getDimSize(d), operands, ValueDim{0, d});
  }
  rule.linear({0});
  return rule.build();
}

LogicalResult BroadcastOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  ArrayRef<int64_t> from = getOperand().getType().getShape();
  SmallVector<int64_t> strides(getType().getRank(), 0);
  for (auto [dim, size, stride] :
       llvm::zip(getDims(), from, getRowMajorStrides(from)))
    strides[dim] = size == 1 ? 0 : stride;
  results.push_back(gatherStrided(getType(), operands[0], strides));
  return success();
}

Value BroadcastOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                               ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, getType());
  SmallVector<Value> source;
  for (auto [i, dim] : llvm::enumerate(getDims()))
    source.push_back(getOperand().getType().getDimSize(i) == 1 ? b.index(0)
                                                               : indices[dim]);
  return load(0, source);
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<bool> seen(type.getRank(), false);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= type.getRank() || seen[dim])
      break;
    seen[dim] = true;
    shape.push_back(type.getDimSize(dim));
  }
  if (shape.size() != permutation.size() ||
      int64_t(shape.size()) != type.getRank())
    return emitOptionalError(
        loc,
        "'graph.transpose' op expected permutation to name "
        "each of the ",
        type.getRank(), " dims once");
  types.push_back(type.clone(shape));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getType().getRank())))
    return getOperand();
  auto inner = getOperand().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> permutation;
  for (int64_t dim : getPermutation())
    permutation.push_back(inner.getPermutation()[dim]);
  setPermutation(permutation);
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

LogicalResult TransposeOp::differentiate(OpBuilder &builder,
                                         ValueRange resultCotangents,
                                         ArrayRef<bool> wanted,
                                         SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  if (!dy || !wanted[0]) {
    cotangents.push_back({});
    return success();
  }
  SmallVector<int64_t> inverse(getType().getRank());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = i;
  cotangents.push_back(GraphBuilder(builder, getLoc()).transpose(dy, inverse));
  return success();
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d)
    rule.factor(getType().getDimSize(d),
                ValueDim{0, unsigned(getPermutation()[d])}, ValueDim{0, d});
  rule.linear({0});
  return rule.build();
}

LogicalResult TransposeOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  SmallVector<int64_t> from =
      getRowMajorStrides(getOperand().getType().getShape());
  auto strides = llvm::map_to_vector(getPermutation(),
                                     [&](int64_t dim) { return from[dim]; });
  results.push_back(gatherStrided(getType(), operands[0], strides));
  return success();
}

Value TransposeOp::emitElement(OpBuilder &, Location, unsigned,
                               ValueRange indices, ElementLoader load) {
  SmallVector<Value> source(indices.size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    source[dim] = indices[i];
  return load(0, source);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void GraphDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphShapeOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphShapeOps.cpp.inc"
