//===- HostConvolution.h - Convolutions on the host -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of a convolution and of its gradients, whatever the layouts: what
// graph ops and calls of the library are evaluated by.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_HOSTCONVOLUTION_H
#define DIALECTS_INTERFACES_HOSTCONVOLUTION_H

#include "dialects/Interfaces/HostLoops.h"

namespace mlir::dist {

struct HostConvolution {
  /// How far apart neighbours are: images or output channels of a filter
  /// (`major`), channels, groups and places.
  struct Strides {
    int64_t major = 0, minor = 0, group = 0;
    SmallVector<int64_t> spatial;
  };

  /// Channels are those of one group.
  int64_t batch, groups, inputChannels, outputChannels;
  SmallVector<int64_t> inputSizes, filterSizes, outputSizes;
  SmallVector<int64_t> strides, padLow, dilations;
  Strides input, filter, output;

  unsigned getNumSpatial() const { return inputSizes.size(); }
};

/// Adds to the output input * filter; to the input's gradient that of the
/// output * filter; to the filter's gradient input * that of the output. A tap
/// in the padding takes no part (0 times infinity would be NaN).
void addConvolution(MLIRContext *context, const HostConvolution &c,
                    const double *input, const double *filter, double *output);
void addConvolutionInputGrad(MLIRContext *context, const HostConvolution &c,
                             const double *outputGrad, const double *filter,
                             double *inputGrad);
void addConvolutionFilterGrad(MLIRContext *context, const HostConvolution &c,
                              const double *input, const double *outputGrad,
                              double *filterGrad);

} // namespace mlir::dist

#endif // DIALECTS_INTERFACES_HOSTCONVOLUTION_H
