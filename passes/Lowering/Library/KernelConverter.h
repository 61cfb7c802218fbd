//===- KernelConverter.h - Contractions become library kernels --*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_LIBRARY_KERNELCONVERTER_H
#define PASSES_LOWERING_LIBRARY_KERNELCONVERTER_H

#include "dialects/Graph/IR/Graph.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Winograd/Winograd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// What stands behind a forward contraction and can be part of it.
struct Epilogue {
  Value bias; // one element a channel; null if none
  bool relu = false;
  Value result; // what the kernel replaces
};

struct Product;

/// Puts the library's kernels in the place of one function's products and
/// convolutions.
class KernelConverter {
public:
  /// `widen`: contractions of narrow floats become f32 where the library has
  /// no fast kernel for them.
  KernelConverter(func::FuncOp func, const ConvolutionTarget &target,
                  bool widen, LibraryAnswers &answers)
      : func(func), target(target), threads(target.threads), widen(widen),
        answers(answers), b(func.getContext()) {}
  LogicalResult run();

private:
  void convertDot(graph::DotGeneralOp op);
  bool convertProduct(graph::DotGeneralOp op, const Product &product,
                      const Epilogue &epilogue, bool byLoops);
  void convertConv(graph::ConvOp op);
  void convertInputGrad(graph::ConvInputGradOp op);
  void convertFilterGrad(graph::ConvFilterGradOp op);
  Epilogue findEpilogue(Value contraction, int64_t channelDim);
  template <typename OpT>
  SmallVector<NamedAttribute> getConvAttributes(OpT op, bool widened);
  /// A convolution's kernel: with the filter as it lies, or in the library's
  /// own packing, of so many bytes.
  struct FilterKernel {
    DictionaryAttr kernel;
    DictionaryAttr plain, packed; // the filter's memories
    std::optional<int64_t> packedBytes;
    bool isReference = false;
    bool isDepthwise = false; // made for a filter a channel
  };
  std::optional<FilterKernel> makeFilterKernel(rt::LibraryKind kind,
                                               SmallVector<Attribute> memories,
                                               unsigned filter,
                                               ArrayRef<NamedAttribute> extra);
  DictionaryAttr makeKernel(rt::LibraryKind kind, ArrayRef<Attribute> memories,
                            ArrayRef<NamedAttribute> extra);
  /// The kernel with the mark that it is the library's plain loops.
  DictionaryAttr markReference(DictionaryAttr kernel);
  /// Makes a contraction of narrow floats one of f32, for which the library may
  /// have a fast kernel; false if it is none, or not to be.
  bool widenIfNarrow(Operation *op);
  Value reorderTo(Value plain, DictionaryAttr plainMemory,
                  DictionaryAttr kernel, unsigned memory, int64_t bytes);

  func::FuncOp func;
  const ConvolutionTarget &target;
  int64_t threads;
  bool widen;
  LibraryAnswers &answers;
  OpBuilder b;
};

/// Whether the library chose the layout that the tensor has anyway.
bool isPlain(const ::dist::cpu::LibraryKernelInfo::Memory &memory,
             DictionaryAttr plain);

/// Whether packing the value is paid once: see rt-hoist-preparation. A training
/// step's weights change, and products pack what they need of them themselves.
bool isPreparable(Value value);

inline RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

} // namespace mlir::dist

#endif // PASSES_LOWERING_LIBRARY_KERNELCONVERTER_H
