//===- Annotations.h - All shardings of a module -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_INTERCHANGE_ANNOTATIONS_H
#define PASSES_INTERCHANGE_ANNOTATIONS_H

#include "dialects/Dist/IR/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// What an annotated module says, and where.
struct Annotations {
  MeshOp mesh;
  struct OfValue {
    Value value;
    ShardingAttr sharding;
  };
  SmallVector<OfValue> values; // arguments and results of ops
  struct OfResult {
    func::FuncOp function;
    unsigned result;
    ShardingAttr sharding;
  };
  SmallVector<OfResult> results; // of functions
  SmallVector<ReshardOp> reshards;

  /// All of a module; an error if it has no mesh or is partitioned.
  static FailureOr<Annotations> collect(ModuleOp module, StringRef pass);
  /// Takes our attributes away; reshards and mesh stay.
  void strip();
};

/// Replaces a mesh under another dialect's name by one of ours.
FailureOr<MeshOp> createMesh(Operation *other, StringRef name,
                             ArrayAttr axisNames, ArrayRef<int64_t> axisSizes);

} // namespace mlir::dist

#endif // PASSES_INTERCHANGE_ANNOTATIONS_H
