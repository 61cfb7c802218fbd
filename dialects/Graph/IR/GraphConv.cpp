//===- GraphConv.cpp - Convolutions: types, derivatives, rules -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphConv.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/GraphPool.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<LayoutDims>
mlir::dist::graph::parseLayout(StringRef layout, char major, char minor) {
  if (layout.size() < 2)
    return std::nullopt;
  LayoutDims dims;
  dims.spatial.resize(layout.size() - 2);
  auto find = [&](char letter, unsigned &dim) {
    size_t position = layout.find(letter);
    dim = position;
    return position != StringRef::npos && layout.count(letter) == 1;
  };
  if (!find(major, dims.major) || !find(minor, dims.minor))
    return std::nullopt;
  for (auto [i, dim] : llvm::enumerate(dims.spatial))
    if (!find(static_cast<char>('0' + i), dim))
      return std::nullopt;
  return dims;
}

RankedTensorType ConvShape::getOutputType(Type elementType) const {
  return RankedTensorType::get(
      output.pack<int64_t>(batch, outputChannels, outputSizes), elementType);
}

FailureOr<ConvShape>
ConvShape::get(const ConvAttributes &attributes, RankedTensorType inputType,
               RankedTensorType filterType,
               llvm::function_ref<LogicalResult(const Twine &)> fail) {
  struct {
    StringRef name, layout;
    char major, minor;
    int64_t rank;
  } layouts[] = {
      {"input", attributes.inputLayout, 'N', 'C', inputType.getRank()},
      {"filter", attributes.filterLayout, 'O', 'I', filterType.getRank()},
      {"output", attributes.outputLayout, 'N', 'C', inputType.getRank()}};
  ConvShape shape;
  LayoutDims *dims[] = {&shape.input, &shape.filter, &shape.output};
  for (auto [entry, out] : llvm::zip(layouts, dims)) {
    auto parsed = parseLayout(entry.layout, entry.major, entry.minor);
    if (!parsed || static_cast<int64_t>(entry.layout.size()) != entry.rank)
      return fail(Twine("expected ") + entry.name + "_layout to name '" +
                  Twine(entry.major) + "', '" + Twine(entry.minor) +
                  "' and the spatial dims from '0' once each for " +
                  Twine(entry.rank) + " dims, but got \"" + entry.layout +
                  "\"");
    *out = *parsed;
  }
  size_t numSpatial = shape.input.spatial.size();
  if (shape.filter.spatial.size() != numSpatial)
    return fail(Twine("expected input and filter with as many spatial dims, "
                      "but got ") +
                Twine(numSpatial) + " and " +
                Twine(shape.filter.spatial.size()));
  auto checkList = [&](ArrayRef<int64_t> list, int64_t least, StringRef name) {
    return checkWindowList(list, numSpatial, "spatial dims", least, name, fail);
  };
  auto sizes = llvm::map_to_vector(shape.filter.spatial, [&](unsigned dim) {
    return filterType.getDimSize(dim);
  });
  if (failed(checkList(sizes, 0, "sizes of the filter")) ||
      failed(checkList(attributes.strides, 1, "strides")) ||
      failed(checkList(attributes.padLow, 0, "pad_low")) ||
      failed(checkList(attributes.padHigh, 0, "pad_high")) ||
      failed(checkList(attributes.dilations, 1, "dilations")))
    return failure();
  shape.strides = SmallVector<int64_t>(attributes.strides);
  shape.padLow = SmallVector<int64_t>(attributes.padLow);
  shape.padHigh = SmallVector<int64_t>(attributes.padHigh);
  shape.dilations = SmallVector<int64_t>(attributes.dilations);
  shape.groups = attributes.groups;
  shape.batch = inputType.getDimSize(shape.input.major);
  shape.inputChannels = inputType.getDimSize(shape.input.minor);
  shape.outputChannels = filterType.getDimSize(shape.filter.major);
  int64_t channelsAGroup = filterType.getDimSize(shape.filter.minor);
  if (shape.groups < 1)
    return fail(Twine("expected groups of at least 1, but got ") +
                Twine(shape.groups));
  uint64_t channels =
      llvm::SaturatingMultiply<uint64_t>(channelsAGroup, shape.groups);
  if (static_cast<uint64_t>(shape.inputChannels) != channels)
    return fail(Twine("expected ") + Twine(channels) + " input channels (" +
                Twine(channelsAGroup) + " of the filter x " +
                Twine(shape.groups) + " groups), but got " +
                Twine(shape.inputChannels));
  if (shape.outputChannels % shape.groups)
    return fail(Twine("expected groups to divide the ") +
                Twine(shape.outputChannels) + " output channels, but got " +
                Twine(shape.groups) + " groups");
  for (size_t d = 0; d < numSpatial; ++d) {
    int64_t size = inputType.getDimSize(shape.input.spatial[d]);
    int64_t taps = filterType.getDimSize(shape.filter.spatial[d]);
    int64_t padded = size + shape.padLow[d] + shape.padHigh[d];
    int64_t extent = (taps - 1) * shape.dilations[d] + 1;
    if (taps < 1 || padded < extent)
      return fail(Twine("expected the padded input to be at least as large as "
                        "the dilated filter in spatial dim ") +
                  Twine(d) + ", but got " + Twine(padded) + " and " +
                  Twine(extent));
    shape.inputSizes.push_back(size);
    shape.filterSizes.push_back(taps);
    shape.outputSizes.push_back((padded - extent) / shape.strides[d] + 1);
  }
  if (inputType.getElementType() != filterType.getElementType())
    return fail("expected operands of one element type");
  return shape;
}

/// Of an op that the verifier has passed.
static ConvShape getVerified(const ConvAttributes &attributes,
                             RankedTensorType input, RankedTensorType filter) {
  return *ConvShape::get(attributes, input, filter,
                         [](const Twine &) { return failure(); });
}
ConvShape ConvShape::get(ConvOp op) {
  return getVerified(ConvAttributes::get(op), op.getInput().getType(),
                     op.getFilter().getType());
}
ConvShape ConvShape::get(ConvInputGradOp op) {
  return getVerified(ConvAttributes::get(op), op.getType(),
                     op.getFilter().getType());
}
ConvShape ConvShape::get(ConvFilterGradOp op) {
  return getVerified(ConvAttributes::get(op), op.getInput().getType(),
                     op.getType());
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  FailureOr<ConvShape> shape = ConvShape::get(
      ConvAttributes::get(adaptor), input,
      cast<RankedTensorType>(adaptor.getFilter().getType()),
      [&](const Twine &message) {
        return emitOptionalError(location, "'graph.conv' op ", message);
      });
  if (failed(shape))
    return failure();
  inferred.push_back(shape->getOutputType(input.getElementType()));
  return success();
}

template <typename OpT>
static LogicalResult verifyGradient(OpT op, RankedTensorType input,
                                    RankedTensorType filter) {
  FailureOr<ConvShape> shape = ConvShape::get(
      ConvAttributes::get(op), input, filter,
      [&](const Twine &message) { return op.emitOpError(message); });
  if (failed(shape))
    return failure();
  RankedTensorType expected = shape->getOutputType(input.getElementType());
  if (op.getGrad().getType() != expected)
    return op.emitOpError("expected grad of the conv's result type ")
           << expected << ", but got " << op.getGrad().getType();
  return success();
}

LogicalResult ConvInputGradOp::verify() {
  return verifyGradient(*this, getType(), getFilter().getType());
}
LogicalResult ConvFilterGradOp::verify() {
  return verifyGradient(*this, getInput().getType(), getType());
}

//===----------------------------------------------------------------------===//
// Derivatives: a conv is linear in both operands, so each of the three ops'
// cotangents are the two others.
//===----------------------------------------------------------------------===//

/// `OpT` of the same convolution as `op`.
template <typename OpT, typename SourceOp>
static Value emitSameConv(GraphBuilder &g, SourceOp op, Type type, Value x,
                          Value y) {
  return g.make<OpT>(type, x, y, op.getStridesAttr(), op.getPadLowAttr(),
                     op.getPadHighAttr(), op.getDilationsAttr(),
                     op.getGroupsAttr(), op.getInputLayoutAttr(),
                     op.getFilterLayoutAttr(), op.getOutputLayoutAttr());
}

LogicalResult ConvOp::differentiate(OpBuilder &builder,
                                    ValueRange resultCotangents,
                                    ArrayRef<bool> wanted,
                                    SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  Value dy = resultCotangents[0], x = getInput(), w = getFilter();
  cotangents.assign({nullptr, nullptr});
  if (wanted[0])
    cotangents[0] = emitSameConv<ConvInputGradOp>(g, *this, x.getType(), dy, w);
  if (wanted[1])
    cotangents[1] =
        emitSameConv<ConvFilterGradOp>(g, *this, w.getType(), x, dy);
  return success();
}

LogicalResult
ConvInputGradOp::differentiate(OpBuilder &builder, ValueRange resultCotangents,
                               ArrayRef<bool> wanted,
                               SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  Value dx = resultCotangents[0], dy = getGrad(), w = getFilter();
  cotangents.assign({nullptr, nullptr});
  if (wanted[0])
    cotangents[0] = emitSameConv<ConvOp>(g, *this, dy.getType(), dx, w);
  if (wanted[1])
    cotangents[1] =
        emitSameConv<ConvFilterGradOp>(g, *this, w.getType(), dx, dy);
  return success();
}

LogicalResult
ConvFilterGradOp::differentiate(OpBuilder &builder, ValueRange resultCotangents,
                                ArrayRef<bool> wanted,
                                SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  Value dw = resultCotangents[0], x = getInput(), dy = getGrad();
  cotangents.assign({nullptr, nullptr});
  if (wanted[0])
    cotangents[0] =
        emitSameConv<ConvInputGradOp>(g, *this, x.getType(), dy, dw);
  if (wanted[1])
    cotangents[1] = emitSameConv<ConvOp>(g, *this, dy.getType(), x, dw);
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding and cost
//===----------------------------------------------------------------------===//

namespace {
/// Which operand (or, with `isResult`, the result) a tensor of the conv is.
struct ConvPort {
  unsigned operand;
  bool isResult;
};
} // namespace

/// The rule of any of the three ops: a factor of two tensors passes through
/// where one of them is the result and is summed where neither is. Windows
/// slide along the spatial dims, tap by tap.
static ShardingRule getConvRule(Operation *op, const ConvShape &shape,
                                ConvPort input, ConvPort filter,
                                ConvPort output) {
  using ValueDim = ShardingRuleBuilder::ValueDim;
  using PortDims = ArrayRef<std::pair<ConvPort, unsigned>>;
  ShardingRuleBuilder rule(op);
  auto add = [&](int64_t size, PortDims dims,
                 std::optional<FactorKind> kind = std::nullopt) {
    SmallVector<ValueDim> operands, results;
    for (auto [role, dim] : dims)
      (role.isResult ? results : operands).push_back({role.operand, dim});
    if (!kind)
      kind = results.empty() ? FactorKind::Reduction : FactorKind::PassThrough;
    rule.factor(size, operands, results, *kind);
  };
  add(shape.batch, {{input, shape.input.major}, {output, shape.output.major}});
  // Channels are groups of channels: each group computes by itself. A group of
  // one channel (depthwise) has no factor of channels besides.
  if (shape.groups > 1)
    add(shape.groups, {{input, shape.input.minor},
                       {filter, shape.filter.major},
                       {output, shape.output.minor}});
  if (shape.groups == 1 || shape.getInputChannelsAGroup() > 1)
    add(shape.getInputChannelsAGroup(),
        {{input, shape.input.minor}, {filter, shape.filter.minor}});
  if (shape.groups == 1 || shape.getOutputChannelsAGroup() > 1)
    add(shape.getOutputChannelsAGroup(),
        {{filter, shape.filter.major}, {output, shape.output.minor}});
  for (unsigned d = 0; d < shape.getNumSpatial(); ++d) {
    constexpr FactorKind window = FactorKind::Permutation;
    add(shape.filterSizes[d], {{filter, shape.filter.spatial[d]}}, window);
    if (shape.isPointwise(d)) {
      add(shape.inputSizes[d],
          {{input, shape.input.spatial[d]}, {output, shape.output.spatial[d]}});
      continue;
    }
    add(shape.inputSizes[d], {{input, shape.input.spatial[d]}}, window);
    add(shape.outputSizes[d], {{output, shape.output.spatial[d]}}, window);
  }
  return rule.linear({0}).linear({1}).build();
}

/// The part of `op` with as many groups as its channels make.
template <typename OpT>
static FailureOr<Operation *>
partitionConv(OpT op, OpBuilder &builder, ValueRange operands,
              TypeRange resultTypes, Type input, Type filter) {
  FailureOr<Operation *> part =
      cloneWithLocalTypes(op.getOperation(), builder, operands, resultTypes);
  auto inputDims = parseLayout(op.getInputLayout(), 'N', 'C');
  auto filterDims = parseLayout(op.getFilterLayout(), 'O', 'I');
  int64_t channels = cast<RankedTensorType>(input).getDimSize(inputDims->minor);
  int64_t aGroup = cast<RankedTensorType>(filter).getDimSize(filterDims->minor);
  if (aGroup > 0)
    cast<OpT>(*part).setGroups(channels / aGroup);
  return part;
}

FailureOr<Operation *> ConvOp::partition(OpBuilder &builder,
                                         ValueRange operands,
                                         TypeRange resultTypes,
                                         ArrayRef<int64_t>) {
  return partitionConv(*this, builder, operands, resultTypes,
                       operands[0].getType(), operands[1].getType());
}
FailureOr<Operation *> ConvInputGradOp::partition(OpBuilder &builder,
                                                  ValueRange operands,
                                                  TypeRange resultTypes,
                                                  ArrayRef<int64_t>) {
  return partitionConv(*this, builder, operands, resultTypes, resultTypes[0],
                       operands[1].getType());
}
FailureOr<Operation *> ConvFilterGradOp::partition(OpBuilder &builder,
                                                   ValueRange operands,
                                                   TypeRange resultTypes,
                                                   ArrayRef<int64_t>) {
  return partitionConv(*this, builder, operands, resultTypes,
                       operands[0].getType(), resultTypes[0]);
}

ShardingRule ConvOp::getShardingRule() {
  return getConvRule(*this, ConvShape::get(*this), {0, false}, {1, false},
                     {0, true});
}
ShardingRule ConvInputGradOp::getShardingRule() {
  return getConvRule(*this, ConvShape::get(*this), {0, true}, {1, false},
                     {0, false});
}
ShardingRule ConvFilterGradOp::getShardingRule() {
  return getConvRule(*this, ConvShape::get(*this), {0, false}, {0, true},
                     {1, false});
}

/// The three ops do the same products; taps in padding are counted too.
static OpCost getConvCost(Operation *op, const ConvShape &shape) {
  OpCost cost = getElementwiseCost(op);
  cost.flops =
      2.0 * shape.batch * shape.outputChannels * shape.getInputChannelsAGroup();
  for (unsigned d = 0; d < shape.getNumSpatial(); ++d)
    cost.flops *= double(shape.outputSizes[d]) * shape.filterSizes[d];
  return cost;
}
OpCost ConvOp::getCost() { return getConvCost(*this, ConvShape::get(*this)); }
OpCost ConvInputGradOp::getCost() {
  return getConvCost(*this, ConvShape::get(*this));
}
OpCost ConvFilterGradOp::getCost() {
  return getConvCost(*this, ConvShape::get(*this));
}
