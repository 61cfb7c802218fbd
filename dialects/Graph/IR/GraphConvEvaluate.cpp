//===- GraphConvEvaluate.cpp - Convolutions: evaluation -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphConv.h"
#include "dialects/Interfaces/HostConvolution.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Where a tensor's elements are; `groupOfMinor` tells which of its channels
/// the groups divide, and how many of them each has.
static HostConvolution::Strides getStrides(const LayoutDims &dims,
                                           ArrayRef<int64_t> shape,
                                           bool groupOfMinor,
                                           int64_t channelsAGroup) {
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  HostConvolution::Strides result;
  result.major = strides[dims.major];
  result.minor = strides[dims.minor];
  result.group = (groupOfMinor ? result.minor : result.major) * channelsAGroup;
  for (unsigned dim : dims.spatial)
    result.spatial.push_back(strides[dim]);
  return result;
}

static HostConvolution getHostConvolution(const ConvShape &c) {
  int64_t inputs = c.getInputChannelsAGroup();
  int64_t outputs = c.getOutputChannelsAGroup();
  return {
      c.batch,
      c.groups,
      inputs,
      outputs,
      c.inputSizes,
      c.filterSizes,
      c.outputSizes,
      c.strides,
      c.padLow,
      c.dilations,
      getStrides(c.input,
                 c.input.pack<int64_t>(c.batch, c.inputChannels, c.inputSizes),
                 true, inputs),
      getStrides(
          c.filter,
          c.filter.pack<int64_t>(c.outputChannels, inputs, c.filterSizes),
          false, outputs),
      getStrides(
          c.output,
          c.output.pack<int64_t>(c.batch, c.outputChannels, c.outputSizes),
          true, outputs)};
}

/// The op's sums of products, rounded once.
template <typename OpT, typename AddT>
static LogicalResult evaluateConv(OpT op, AddT add,
                                  ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  HostTensor result(op.getType());
  add(op.getContext(), getHostConvolution(ConvShape::get(op)),
      operands[0].getFloats().data(), operands[1].getFloats().data(),
      result.writeFloats().data());
  result.adjust(0, result.getNumElements());
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConvOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  return evaluateConv(*this, addConvolution, operands, results);
}
LogicalResult ConvInputGradOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  return evaluateConv(*this, addConvolutionInputGrad, operands, results);
}
LogicalResult ConvFilterGradOp::evaluate(ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  return evaluateConv(*this, addConvolutionFilterGrad, operands, results);
}
