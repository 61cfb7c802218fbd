//===- Winograd.h - Which convolutions are Winograd's -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRAD_WINOGRAD_H
#define PASSES_LOWERING_WINOGRAD_WINOGRAD_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::dist {

enum class ConvolutionKernel { Auto, Direct, Winograd };

/// `auto`, `direct` or `winograd`.
std::optional<ConvolutionKernel> parseConvolutionKernel(StringRef name);

/// How convolutions are computed on a device.
struct ConvolutionTarget {
  ConvolutionKernel kernel = ConvolutionKernel::Auto;
  int64_t threads = 1;
  /// Of a vector register.
  int64_t vectorBits = 512;
  /// How fast the library multiplies bf16 and f16 beside f32; 0: as this
  /// machine's does.
  double narrowSpeed = 0;
};

/// Bits of this machine's vector registers.
int64_t getHostVectorBits();

/// A 3x3 convolution of stride 1 over channels-last images, or the gradient of
/// its input, which is one too. All of f32, bf16 or f16; what is computed
/// between reading and writing is f32.
struct WinogradConvolution {
  Value input, filter;
  Value bias; // null if none
  RankedTensorType output;
  /// Of the filter, in elements: of what are the output's channels, the input's
  /// channels, rows and columns.
  SmallVector<int64_t> filterStrides;
  bool rotate = false;
  SmallVector<int64_t> padLow;
  bool relu = false;
  /// The filter is transformed once, not at every step.
  bool isPrepared = false;
};

/// Kernels that transform the filter and convolve, and their result; null where
/// the target computes the convolution otherwise.
Value createWinograd(OpBuilder &b, Location loc,
                     const WinogradConvolution &convolution,
                     const ConvolutionTarget &target);

/// The same for the gradient of the filter, of type `filter`, of a convolution
/// whose result has the cotangent `grad`: `filter` and `output` are not set.
Value createWinogradFilterGrad(OpBuilder &b, Location loc,
                               const WinogradConvolution &convolution,
                               Value grad, RankedTensorType filter,
                               const ConvolutionTarget &target);

} // namespace mlir::dist

#endif // PASSES_LOWERING_WINOGRAD_WINOGRAD_H
