//===- GraphChannelsLast.cpp - Ops whose channels may be last -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Lists with one entry a dim follow the dims, as in pools, pads, slices.
static ChannelMove moveLists(int64_t rank, NamedAttrList &attributes) {
  SmallVector<NamedAttribute> before(attributes.begin(), attributes.end());
  for (NamedAttribute attribute : before)
    if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue()))
      if (list.size() == rank)
        attributes.set(
            attribute.getName(),
            DenseI64ArrayAttr::get(list.getContext(),
                                   permute(list, getChannelsLastOrder(rank))));
  return ChannelMove::Follows;
}

static ChannelMove moveAxis(int64_t rank, NamedAttrList &attributes,
                            StringAttr name, int64_t axis) {
  attributes.set(
      name, Builder(name.getContext()).getI64IntegerAttr(moveDim(axis, rank)));
  return ChannelMove::Follows;
}

ChannelMove SoftmaxOp::moveChannels(int64_t rank, NamedAttrList &attributes) {
  return moveAxis(rank, attributes, getAxisAttrName(), getAxis());
}
ChannelMove LogSoftmaxOp::moveChannels(int64_t rank,
                                       NamedAttrList &attributes) {
  return moveAxis(rank, attributes, getAxisAttrName(), getAxis());
}
ChannelMove BatchNormInferenceOp::moveChannels(int64_t rank,
                                               NamedAttrList &attributes) {
  return moveAxis(rank, attributes, getAxisAttrName(), getAxis());
}
ChannelMove ConcatOp::moveChannels(int64_t rank, NamedAttrList &attributes) {
  return moveAxis(rank, attributes, getAxisAttrName(), getAxis());
}

ChannelMove PadOp::moveChannels(int64_t rank, NamedAttrList &attributes) {
  return moveLists(rank, attributes);
}
ChannelMove SliceOp::moveChannels(int64_t rank, NamedAttrList &attributes) {
  return moveLists(rank, attributes);
}

/// The position in a window is row-major over all dims: it stays the same
/// number when the window has one channel.
static ChannelMove movePool(ArrayRef<int64_t> window, int64_t rank,
                            NamedAttrList &attributes) {
  if (window[0] != 1 || window[1] != 1)
    return ChannelMove::Refused;
  return moveLists(rank, attributes);
}
ChannelMove MaxPoolOp::moveChannels(int64_t rank, NamedAttrList &attributes) {
  return movePool(getWindow(), rank, attributes);
}
ChannelMove AvgPoolOp::moveChannels(int64_t rank, NamedAttrList &attributes) {
  return movePool(getWindow(), rank, attributes);
}

/// The result has no channels of its own to move: the dims that are kept must
/// come out in their old order.
ChannelMove ReduceOp::moveChannels(int64_t rank, NamedAttrList &attributes) {
  SmallVector<int64_t> dims, kept;
  for (int64_t d = 0; d < rank; ++d)
    (llvm::is_contained(getDims(), d) ? dims : kept)
        .push_back(moveDim(d, rank));
  if (!llvm::is_sorted(kept))
    return ChannelMove::Refused;
  llvm::sort(dims);
  attributes.set(getDimsAttrName(), DenseI64ArrayAttr::get(getContext(), dims));
  return ChannelMove::Stays;
}

//===----------------------------------------------------------------------===//
// Convolutions: operand 0 is an activation, operand 1 the filter
//===----------------------------------------------------------------------===//

/// N, C and the spatial dims in order.
static bool isChannelsFirst(StringRef layout) {
  if (layout.size() < 3 || !layout.starts_with("NC"))
    return false;
  for (size_t i = 2; i < layout.size(); ++i)
    if (layout[i] != char('0' + i - 2))
      return false;
  return true;
}

template <typename Op>
static ChannelMove moveLayouts(Op op, NamedAttrList &attributes) {
  if (!isChannelsFirst(op.getInputLayout()) ||
      !isChannelsFirst(op.getOutputLayout()))
    return ChannelMove::Refused;
  auto moved = [&](StringRef layout) {
    return StringAttr::get(op.getContext(),
                           "N" + layout.drop_front(2).str() + "C");
  };
  attributes.set(op.getInputLayoutAttrName(), moved(op.getInputLayout()));
  attributes.set(op.getOutputLayoutAttrName(), moved(op.getOutputLayout()));
  return ChannelMove::Follows;
}

bool ConvOp::wantsChannelsLast() { return true; }
bool ConvOp::hasChannels(unsigned operand) { return operand == 0; }
ChannelMove ConvOp::moveChannels(int64_t, NamedAttrList &attributes) {
  return moveLayouts(*this, attributes);
}
bool ConvInputGradOp::wantsChannelsLast() { return true; }
bool ConvInputGradOp::hasChannels(unsigned operand) { return operand == 0; }
ChannelMove ConvInputGradOp::moveChannels(int64_t, NamedAttrList &attributes) {
  return moveLayouts(*this, attributes);
}
