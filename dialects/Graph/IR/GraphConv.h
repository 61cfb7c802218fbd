//===- GraphConv.h - Sizes of convolutions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout letters and lists of a convolution, read once into named sizes and
// dims: what its verifier, rule, evaluator, scalar code and library kernel all
// start from.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHCONV_H
#define DIALECTS_GRAPH_IR_GRAPHCONV_H

#include "dialects/Graph/IR/Graph.h"
#include <optional>

namespace mlir::dist::graph {

/// The attributes that `conv` and its gradients share.
struct ConvAttributes {
  ArrayRef<int64_t> strides, padLow, padHigh, dilations;
  int64_t groups;
  StringRef inputLayout, filterLayout, outputLayout;

  /// From an op or an adaptor.
  template <typename OpT> static ConvAttributes get(OpT op) {
    return {op.getStrides(),
            op.getPadLow(),
            op.getPadHigh(),
            op.getDilations(),
            static_cast<int64_t>(op.getGroups()),
            op.getInputLayout(),
            op.getFilterLayout(),
            op.getOutputLayout()};
  }
};

/// Where a layout puts its dims: N and C of activations, O and I of filters.
struct LayoutDims {
  unsigned major = 0, minor = 0;
  SmallVector<unsigned> spatial;
  unsigned getRank() const { return spatial.size() + 2; }
  /// The tensor index of (major, minor, spatial...).
  template <typename T>
  SmallVector<T> pack(T majorIndex, T minorIndex,
                      ArrayRef<T> spatialIndex) const {
    SmallVector<T> index(getRank());
    index[major] = majorIndex;
    index[minor] = minorIndex;
    for (auto [dim, value] : llvm::zip(spatial, spatialIndex))
      index[dim] = value;
    return index;
  }
};

/// Nothing if a letter is missing, repeated or unknown.
std::optional<LayoutDims> parseLayout(StringRef layout, char major, char minor);

struct ConvShape {
  LayoutDims input, filter, output;
  int64_t batch, inputChannels, outputChannels, groups;
  SmallVector<int64_t> inputSizes, filterSizes, outputSizes;
  SmallVector<int64_t> strides, padLow, padHigh, dilations;

  unsigned getNumSpatial() const { return inputSizes.size(); }
  int64_t getInputChannelsAGroup() const { return inputChannels / groups; }
  int64_t getOutputChannelsAGroup() const { return outputChannels / groups; }
  /// Whether spatial dim `d` is untouched: one tap, no stride, no padding.
  bool isPointwise(unsigned d) const {
    return filterSizes[d] == 1 && strides[d] == 1 && padLow[d] == 0 &&
           padHigh[d] == 0;
  }
  RankedTensorType getOutputType(Type elementType) const;

  /// From the types of the conv's two operands; calls `fail` with what is
  /// wrong.
  static FailureOr<ConvShape>
  get(const ConvAttributes &attributes, RankedTensorType input,
      RankedTensorType filter,
      llvm::function_ref<LogicalResult(const Twine &)> fail);
  /// Of a verified op.
  static ConvShape get(ConvOp op);
  static ConvShape get(ConvInputGradOp op);
  static ConvShape get(ConvFilterGradOp op);
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHCONV_H
