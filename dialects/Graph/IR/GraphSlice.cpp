//===- GraphSlice.cpp - slice, pad, concat, reverse -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphSupport.h"
#include "dialects/Interfaces/HostLoops.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  size_t rank = type.getRank();
  ArrayRef<int64_t> starts = adaptor.getStarts(), limits = adaptor.getLimits(),
                    strides = adaptor.getStrides();
  if (starts.size() != rank || limits.size() != rank || strides.size() != rank)
    return emitOptionalError(loc,
                             "'graph.slice' op expected starts, limits and "
                             "strides to have ",
                             rank, " entries, one a dim");
  SmallVector<int64_t> shape;
  for (size_t d = 0; d < rank; ++d) {
    if (starts[d] < 0 || starts[d] > limits[d] ||
        limits[d] > type.getDimSize(d))
      return emitOptionalError(
          loc, "'graph.slice' op expected 0 <= start <= limit <= ",
          type.getDimSize(d), " in dim ", d, ", but got start ", starts[d],
          " and limit ", limits[d]);
    if (strides[d] < 1)
      return emitOptionalError(
          loc, "'graph.slice' op expected a stride >= 1 in dim ", d,
          ", but got ", strides[d]);
    shape.push_back(llvm::divideCeil(limits[d] - starts[d], strides[d]));
  }
  types.push_back(type.clone(shape));
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}

LogicalResult SliceOp::differentiate(OpBuilder &builder,
                                     ValueRange resultCotangents,
                                     ArrayRef<bool> wanted,
                                     SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  if (!dy || !wanted[0]) {
    cotangents.push_back({});
    return success();
  }
  auto from = getOperand().getType();
  SmallVector<int64_t> high, interior;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t n = getType().getDimSize(d), stride = getStrides()[d];
    int64_t end = getStarts()[d] + (n == 0 ? 0 : (n - 1) * stride + 1);
    high.push_back(from.getDimSize(d) - end);
    interior.push_back(stride - 1);
  }
  GraphBuilder g(builder, getLoc());
  cotangents.push_back(g.make<PadOp>(dy, g.scalar(from.getElementType(), 0),
                                     getStarts(), high, interior));
  return success();
}

static bool isWhole(SliceOp op, unsigned d) {
  return op.getOperand().getType().getDimSize(d) == op.getType().getDimSize(d);
}

ShardingRule SliceOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d) {
    if (isWhole(*this, d)) {
      rule.factor(getType().getDimSize(d), ValueDim{0, d}, ValueDim{0, d});
      continue;
    }
    rule.factor(getOperand().getType().getDimSize(d), ValueDim{0, d}, {},
                FactorKind::NeedReplication);
    rule.factor(getType().getDimSize(d), {}, ValueDim{0, d},
                FactorKind::NeedReplication);
  }
  rule.linear({0});
  return rule.build();
}

OpCost SliceOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.bytesRead = cost.bytesWritten;
  return cost;
}

FailureOr<Operation *> SliceOp::partition(OpBuilder &builder,
                                          ValueRange operands,
                                          TypeRange resultTypes,
                                          ArrayRef<int64_t>) {
  auto type = cast<RankedTensorType>(operands[0].getType());
  SmallVector<int64_t> limits(getLimits());
  for (unsigned d = 0; d < type.getRank(); ++d)
    if (isWhole(*this, d))
      limits[d] = type.getDimSize(d);
  return create(builder, getLoc(), operands[0], getStarts(), limits,
                getStrides())
      .getOperation();
}

LogicalResult SliceOp::evaluate(ArrayRef<HostTensor> operands,
                                SmallVectorImpl<HostTensor> &results) {
  SmallVector<int64_t> strides = getRowMajorStrides(operands[0].getShape());
  int64_t base = 0;
  for (auto [stride, start, step] :
       llvm::zip(strides, getStarts(), getStrides())) {
    base += start * stride;
    stride *= step;
  }
  results.push_back(gatherStrided(getType(), operands[0], strides, base));
  return success();
}

Value SliceOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                           ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, getType());
  SmallVector<Value> source;
  for (auto [d, index] : llvm::enumerate(indices))
    source.push_back(
        b.addIndex(b.mulIndex(index, getStrides()[d]), getStarts()[d]));
  return load(0, source);
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> loc,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto value = cast<RankedTensorType>(adaptor.getValue().getType());
  size_t rank = type.getRank();
  if (value != RankedTensorType::get({}, type.getElementType()))
    return emitOptionalError(loc,
                             "'graph.pad' op expected the value to be a "
                             "scalar tensor of ",
                             type.getElementType(), ", but got ", value);
  ArrayRef<int64_t> low = adaptor.getLow(), high = adaptor.getHigh(),
                    interior = adaptor.getInterior();
  if (low.size() != rank || high.size() != rank || interior.size() != rank)
    return emitOptionalError(loc,
                             "'graph.pad' op expected low, high and interior "
                             "to have ",
                             rank, " entries, one a dim");
  SmallVector<int64_t> shape;
  for (size_t d = 0; d < rank; ++d) {
    if (interior[d] < 0)
      return emitOptionalError(loc,
                               "'graph.pad' op expected interior >= 0 in dim ",
                               d, ", but got ", interior[d]);
    int64_t n = type.getDimSize(d);
    std::optional<int64_t> size =
        llvm::checkedMul(std::max<int64_t>(n - 1, 0), interior[d]);
    for (int64_t part : {n, low[d], high[d]})
      size = size ? llvm::checkedAdd(*size, part) : std::nullopt;
    if (!size)
      return emitOptionalError(loc, "'graph.pad' op makes more of dim ", d,
                               " than a size can be");
    if (*size < 0)
      return emitOptionalError(loc, "'graph.pad' op crops more of dim ", d,
                               " than its size ", n);
    shape.push_back(*size);
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult PadOp::differentiate(OpBuilder &builder,
                                   ValueRange resultCotangents,
                                   ArrayRef<bool> wanted,
                                   SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  cotangents.append(2, Value());
  auto from = getOperand().getType();
  if (!dy || !isa<FloatType>(from.getElementType()))
    return success();
  GraphBuilder g(builder, getLoc());
  SmallVector<int64_t> starts, limits, strides, cropLow, cropHigh;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t n = from.getDimSize(d), stride = getInterior()[d] + 1;
    cropLow.push_back(std::max<int64_t>(-getLow()[d], 0));
    cropHigh.push_back(std::max<int64_t>(-getHigh()[d], 0));
    starts.push_back(std::max<int64_t>(getLow()[d], 0));
    limits.push_back(starts.back() + (n == 0 ? 0 : (n - 1) * stride + 1));
    strides.push_back(stride);
  }
  // Elements that were cropped away get zeros.
  Value whole = dy;
  bool isCropped = llvm::any_of(cropLow, [](int64_t n) { return n != 0; }) ||
                   llvm::any_of(cropHigh, [](int64_t n) { return n != 0; });
  if (isCropped)
    whole = g.make<PadOp>(dy, g.scalar(from.getElementType(), 0), cropLow,
                          cropHigh, SmallVector<int64_t>(from.getRank(), 0));
  Value inner = g.make<SliceOp>(whole, starts, limits, strides);
  if (wanted[0])
    cotangents[0] = inner;
  if (wanted[1]) {
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, from.getRank()));
    cotangents[1] = g.sub(g.sum(dy, all), g.sum(inner, all));
  }
  return success();
}

static bool isUnpadded(PadOp op, unsigned d) {
  return op.getLow()[d] == 0 && op.getHigh()[d] == 0 &&
         op.getInterior()[d] == 0;
}

ShardingRule PadOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d) {
    if (isUnpadded(*this, d)) {
      rule.factor(getType().getDimSize(d), ValueDim{0, d}, ValueDim{0, d});
      continue;
    }
    rule.factor(getOperand().getType().getDimSize(d), ValueDim{0, d}, {},
                FactorKind::Permutation);
    rule.factor(getType().getDimSize(d), {}, ValueDim{0, d},
                FactorKind::Permutation);
  }
  rule.linear({0, 1});
  if (isZero(getValue()))
    rule.linear({0});
  return rule.build();
}

LogicalResult PadOp::evaluate(ArrayRef<HostTensor> operands,
                              SmallVectorImpl<HostTensor> &results) {
  HostTensor result(getType());
  const HostTensor &x = operands[0];
  int64_t i = 0;
  forEachIndex(getType().getShape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    bool inside = true;
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t offset = index[d] - getLow()[d], stride = getInterior()[d] + 1;
      source[d] = offset / stride;
      inside &=
          offset >= 0 && offset % stride == 0 && source[d] < x.getShape()[d];
    }
    copyElement(result, i++, inside ? x : operands[1],
                inside ? x.linearize(source) : 0);
  });
  results.push_back(std::move(result));
  return success();
}

Value PadOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                         ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, getType());
  auto from = getOperand().getType();
  Value padding = load(1, {});
  if (from.getNumElements() == 0)
    return padding;
  SmallVector<Value> source(indices);
  Value inside;
  auto require = [&](Value condition) {
    inside = inside ? b.create<arith::AndIOp>(inside, condition) : condition;
  };
  for (unsigned d = 0; d < source.size(); ++d) {
    if (isUnpadded(*this, d))
      continue;
    int64_t low = getLow()[d], stride = getInterior()[d] + 1;
    int64_t last = (from.getDimSize(d) - 1) * stride;
    Value offset = b.addIndex(source[d], -low);
    if (low > 0)
      require(b.create<arith::CmpIOp>(arith::CmpIPredicate::sge, offset,
                                      b.index(0)));
    if (getType().getDimSize(d) - 1 - low > last)
      require(b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, offset,
                                      b.index(last)));
    // Clamped, so that the load stays inside; the value is then not used.
    offset = b.clampIndex(offset, last + 1);
    if (stride != 1) {
      Value step = b.index(stride);
      Value rest = b.create<arith::RemUIOp>(offset, step);
      require(
          b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, b.index(0)));
      offset = b.create<arith::DivUIOp>(offset, step);
    }
    source[d] = offset;
  }
  Value x = load(0, source);
  return inside ? b.select(inside, x, padding) : x;
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc,
                             "'graph.concat' op expected at least one operand");
  auto first = cast<RankedTensorType>(adaptor.getInputs()[0].getType());
  uint64_t axis = adaptor.getAxis();
  if (axis >= uint64_t(first.getRank()))
    return emitOptionalError(loc,
                             "'graph.concat' op expected axis to be within "
                             "the operands' ",
                             first.getRank(), " dims, but got ", int64_t(axis));
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value input : adaptor.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> expected(first.getShape());
    if (type.getRank() == first.getRank())
      expected[axis] = type.getDimSize(axis);
    if (type != first.clone(expected))
      return emitOptionalError(
          loc,
          "'graph.concat' op expected operands that differ in "
          "dim ",
          int64_t(axis), " only, but got ", first, " and ", type);
    std::optional<int64_t> sum =
        llvm::checkedAdd(shape[axis], type.getDimSize(axis));
    if (!sum)
      return emitOptionalError(loc, "'graph.concat' op makes more of dim ",
                               int64_t(axis), " than a size can be");
    shape[axis] = *sum;
  }
  types.push_back(first.clone(shape));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  auto isEmpty = [&](Value input) {
    return cast<RankedTensorType>(input.getType()).getDimSize(getAxis()) == 0;
  };
  bool changed = false;
  for (unsigned i = getInputs().size(); i-- > 0;)
    if (getInputs().size() > 1 && isEmpty(getInputs()[i])) {
      getInputsMutable().erase(i);
      changed = true;
    }
  if (getInputs().size() == 1)
    return getInputs()[0];
  return changed ? OpFoldResult(getResult()) : OpFoldResult();
}

LogicalResult ConcatOp::differentiate(OpBuilder &builder,
                                      ValueRange resultCotangents,
                                      ArrayRef<bool> wanted,
                                      SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  GraphBuilder g(builder, getLoc());
  SmallVector<int64_t> starts(getType().getRank(), 0),
      limits(getType().getShape());
  SmallVector<int64_t> strides(getType().getRank(), 1);
  int64_t start = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    starts[getAxis()] = start;
    start += cast<RankedTensorType>(input.getType()).getDimSize(getAxis());
    limits[getAxis()] = start;
    cotangents.push_back(dy && wanted[i]
                             ? g.make<SliceOp>(dy, starts, limits, strides)
                             : Value());
  }
  return success();
}

ShardingRule ConcatOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d) {
    SmallVector<ValueDim> dims;
    for (unsigned i = 0; i < getNumOperands(); ++i) {
      if (d != getAxis()) {
        dims.push_back({i, d});
        continue;
      }
      auto type = cast<RankedTensorType>(getInputs()[i].getType());
      rule.factor(type.getDimSize(d), ValueDim{i, d}, {},
                  FactorKind::NeedReplication);
    }
    rule.factor(getType().getDimSize(d), dims, ValueDim{0, d},
                d == getAxis() ? FactorKind::NeedReplication
                               : FactorKind::PassThrough);
  }
  rule.linear(llvm::to_vector(llvm::seq<unsigned>(0, getNumOperands())));
  return rule.build();
}

LogicalResult ConcatOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  HostTensor result(getType());
  int64_t start = 0;
  for (const HostTensor &operand : operands) {
    SmallVector<int64_t> strides = getRowMajorStrides(getType().getShape());
    scatterStrided(operand, result, strides, start * strides[getAxis()]);
    start += operand.getShape()[getAxis()];
  }
  results.push_back(std::move(result));
  return success();
}

/// The element from operands [first, last), whose concatenation begins at
/// `start`: a binary search, so that each element takes few branches.
static Value emitChoice(ConcatOp op, OpBuilder &builder, Location loc,
                        ArrayRef<unsigned> operands, ArrayRef<int64_t> starts,
                        ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, op.getType());
  Value index = indices[op.getAxis()];
  if (operands.size() == 1) {
    auto type = cast<RankedTensorType>(op.getInputs()[operands[0]].getType());
    SmallVector<Value> source(indices);
    // Clamped for the loads of operands that are not chosen.
    source[op.getAxis()] = b.clampIndex(b.addIndex(index, -starts[0]),
                                        type.getDimSize(op.getAxis()));
    return load(operands[0], source);
  }
  size_t middle = operands.size() / 2;
  Value isLow = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, index,
                                        b.index(starts[middle]));
  auto low = [&] {
    return emitChoice(op, builder, loc, operands.take_front(middle),
                      starts.take_front(middle), indices, load);
  };
  auto high = [&] {
    return emitChoice(op, builder, loc, operands.drop_front(middle),
                      starts.drop_front(middle), indices, load);
  };
  // Few loads are cheaper than a branch, and vectorize.
  if (operands.size() <= 4) {
    Value lowValue = low();
    return b.select(isLow, lowValue, high());
  }
  auto branch = scf::IfOp::create(builder, loc, TypeRange{b.getType()}, isLow,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(builder, loc, low());
  builder.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(builder, loc, high());
  return branch.getResult(0);
}

Value ConcatOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                            ValueRange indices, ElementLoader load) {
  SmallVector<unsigned> operands;
  SmallVector<int64_t> starts;
  int64_t start = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t size =
        cast<RankedTensorType>(input.getType()).getDimSize(getAxis());
    if (size == 0)
      continue;
    operands.push_back(i);
    starts.push_back(start);
    start += size;
  }
  return emitChoice(*this, builder, loc, operands, starts, indices, load);
}

//===----------------------------------------------------------------------===//
// reverse
//===----------------------------------------------------------------------===//

LogicalResult ReverseOp::verify() {
  SmallVector<bool> seen(getType().getRank(), false);
  for (int64_t dim : getDims()) {
    if (dim < 0 || dim >= getType().getRank() || seen[dim])
      return emitOpError(
                 "expected dims to be distinct and within the operand's ")
             << getType().getRank() << " dims, but got " << dim;
    seen[dim] = true;
  }
  return success();
}

LogicalResult ReverseOp::differentiate(OpBuilder &builder,
                                       ValueRange resultCotangents,
                                       ArrayRef<bool> wanted,
                                       SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  cotangents.push_back(
      dy && wanted[0] ? create(builder, getLoc(), dy, getDims()).getResult()
                      : Value());
  return success();
}

ShardingRule ReverseOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d)
    rule.factor(getType().getDimSize(d), ValueDim{0, d}, ValueDim{0, d},
                llvm::is_contained(getDims(), int64_t(d))
                    ? FactorKind::NeedReplication
                    : FactorKind::PassThrough);
  rule.linear({0});
  return rule.build();
}

LogicalResult ReverseOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  SmallVector<int64_t> strides = getRowMajorStrides(getType().getShape());
  int64_t base = 0;
  for (int64_t dim : getDims()) {
    base += (getType().getDimSize(dim) - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  results.push_back(gatherStrided(getType(), operands[0], strides, base));
  return success();
}

Value ReverseOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                             ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, getType());
  SmallVector<Value> source(indices);
  for (int64_t dim : getDims())
    source[dim] = b.create<arith::SubIOp>(
        b.index(getType().getDimSize(dim) - 1), source[dim]);
  return load(0, source);
}
