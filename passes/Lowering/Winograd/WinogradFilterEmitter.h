//===- WinogradFilterEmitter.h - Loops over Winograd's filters -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRAD_WINOGRADFILTEREMITTER_H
#define PASSES_LOWERING_WINOGRAD_WINOGRADFILTEREMITTER_H

#include "passes/Lowering/Winograd/WinogradEmitter.h"
#include "passes/Lowering/Winograd/WinogradTransforms.h"

namespace mlir::dist {

/// Reads a 3x3 filter as the factors of F(4x4, 3x3), or writes the filter that
/// sums become. Made before the loops that it is used in: it has memory of its
/// own.
class FilterEmitter : WinogradTransforms {
public:
  /// `strides` are the filter's, in elements: of output channels, input
  /// channels, rows and columns.
  FilterEmitter(Location loc, int64_t lanes, Value filter,
                ArrayRef<int64_t> strides, OpBuilder &b);

  /// Takes the factor of a matrix: of `input`, counted from the first, and a
  /// vector of output channels from `column`, counted from the first.
  using Put = llvm::function_ref<void(Value factor, int64_t matrix, Value input,
                                      Value column)>;
  /// The factors of `lanes` input channels and `width` output channels.
  void emitFactors(Value firstOutput, int64_t width, Value firstInput,
                   bool rotate, Put put);
  /// Writes the window of an input channel and a vector of output channels,
  /// whose sums `get` gives by matrix.
  void emitWindow(Value output, Value input,
                  llvm::function_ref<Value(int64_t matrix)> get);
  /// The same of `lanes` input channels, `get` taking which: whole lines of the
  /// filter are written where windows lie side by side.
  void emitWindows(Value output, Value firstInput,
                   llvm::function_ref<Value(Value input, int64_t matrix)> get);

private:
  /// How a vector of output channels lies in memory.
  enum class Layout {
    Together,     // it is one (HWIO)
    InputWindows, // each has the windows of all inputs (OIHW)
    Windows,      // windows are side by side (OIHW, turned)
    Apart,
  };
  Layout findLayout() const;
  SmallVector<Value> transpose(SmallVector<Value> rows);
  /// `windows` of a vector of output channels and one of input channels.
  void loadWindows(Value start);
  void storeWindows(Value start);
  /// The vectors of a window, of the input channel `input` of those that
  /// `start` is the first of.
  SmallVector<Value> loadTaps(Value start, Value input);
  SmallVector<Value> makeTaps(llvm::function_ref<Value(int64_t matrix)> get);
  void storeTap(Value value, Value place);
  Value at(Value start, int64_t tap);

  ArrayRef<int64_t> strides;
  Layout layout;
  Value flat; // the filter as one dim
  /// With InputWindows: [windows of `lanes` input channels, lanes].
  Value windows;
  /// Of a vector of output channels, where they lie apart.
  Value places, mask;
};

void emitWinogradFilter(rt::WinogradFilterOp op, const KernelBuffers &buffers,
                        OpBuilder &b);
void emitWinogradFilter(rt::WinogradFilterGradOp op,
                        const KernelBuffers &buffers, OpBuilder &b);

} // namespace mlir::dist

#endif // PASSES_LOWERING_WINOGRAD_WINOGRADFILTEREMITTER_H
