//===- Compression.h - Fewer bytes for a gradient -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The methods of --compress, one row each: what a rank sends of a gradient, and
// what the sum over all ranks is then. dist-compress-collectives finds the
// gradients and keeps what was not sent for the next step.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_COMPRESSION_H
#define PASSES_PARTITION_COMPRESSION_H

#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Analysis/CheckCompression.h"

namespace mlir::dist {

/// On a gather that is worth a place in a bucket, though it is computed with.
inline constexpr llvm::StringLiteral kOfGradients = "of_gradients";

/// One gradient on one rank, while it is compressed.
class GradientCompression {
public:
  GradientCompression(graph::GraphBuilder &g, Operation *collective,
                      int64_t ranks, double parameter)
      : g(g), collective(collective), ranks(ranks), parameter(parameter) {}
  virtual ~GradientCompression() = default;

  /// State of this gradient that is the same on all ranks: its value, from the
  /// step before or `initial`, and what becomes of it.
  virtual Value getState(StringRef name, DenseElementsAttr initial) = 0;
  virtual void setState(StringRef name, Value value) = 0;

  /// `value` reduced (and scattered) as the gradient was to be.
  Value reduceAlike(Value value);
  /// `value` summed over the group.
  Value allReduce(Value value);
  /// Parts of all ranks along `dims`.
  SmallVector<Value> allGather(ValueRange values, ArrayRef<int64_t> dims);
  /// The gradient and what was left of it: what is to be sent.
  Value addLeft();
  /// For --check: of the gradient, the op's first operand, nothing is lost.
  void note(Operation *op) { op->setAttr(kCompressedAttr, keeper); }

  graph::GraphBuilder &g;
  Operation *collective; // all_reduce or reduce_scatter of one operand
  int64_t ranks;         // of a group
  double parameter;      // of the method
  Value gradient, left;  // floats of 32 or more bits
  Attribute keeper;      // the variable that keeps what is left
};

struct CompressedGradient {
  Value sum;  // of what the ranks have sent
  Value left; // of this rank's gradient, which it has not sent
};

struct CompressionMethod {
  StringRef name;
  /// Its parameter, which must be given, and what that may be; empty: none.
  StringRef key;
  int64_t least, most;
  bool integer;
  /// Whether a reduce-scatter can be compressed, too.
  bool scatters;
  StringRef what; // for tables
  /// Bytes that a rank sends of such a gradient, of which it would send `sent`.
  double (*getBytes)(RankedTensorType type, int64_t ranks, double parameter,
                     double sent);
  CompressedGradient (*compress)(GradientCompression &one);
};

ArrayRef<CompressionMethod> getCompressionMethods();

/// `NAME` or `NAME:key=value`.
struct CompressionSpec {
  const CompressionMethod *method = nullptr;
  double parameter = 0;
  static FailureOr<CompressionSpec>
  parse(StringRef text, function_ref<InFlightDiagnostic()> emitError);
};

} // namespace mlir::dist

#endif // PASSES_PARTITION_COMPRESSION_H
