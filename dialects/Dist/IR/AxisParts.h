//===- AxisParts.h - Axes of the mesh in parts -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dim may be split over a part of an axis only (Shardy's sub-axes): the mesh
// is then refined, the axis `model` of 8 becomes `model:(1)2`, `model:(2)2`,
// `model:(4)2`, and everything that names it lists its parts. Passes see
// nothing but axes; what a part belongs to stands in its name, which is what
// users write and read.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_AXISPARTS_H
#define DIALECTS_DIST_IR_AXISPARTS_H

#include "dialects/Dist/IR/Dist.h"

namespace mlir::dist {

/// `axis:(before)size`: of the ranks of `axis`, taken as a grid, those along
/// `size`, with `before` such groups in front (major) of it.
struct AxisPart {
  std::string axis;
  int64_t before = 1, size = 1;

  std::string getName() const;
  /// None if `name` is that of an axis of its own.
  static std::optional<AxisPart> parse(StringRef name);
};

/// The axis that one of the mesh belongs to; its own name if it is no part.
StringRef getWholeAxis(StringRef name);

/// Whether axis `a` is `b` or a part of it.
bool isAxisWithin(StringAttr a, StringAttr b);

/// The axes of the mesh that `name` (of an axis, or of a part) stands for,
/// major to minor. Empty if there is none of it, or the mesh is not cut there.
SmallVector<StringAttr> findAxes(MeshOp mesh, StringRef name);

/// Axes one after another that make up a larger part, or all, of an axis of the
/// mesh as that one.
SmallVector<StringAttr> mergeParts(MeshOp mesh, ArrayRef<StringAttr> axes);

/// The mesh's axes, those in parts as a whole.
SmallVector<std::pair<StringAttr, int64_t>> getWholeAxes(MeshOp mesh);

/// Cuts axes so that the mesh has each part that `names` or a sharding in the
/// module names, and writes all shardings anew, over the parts. Axes that the
/// mesh does not have are left to the verifier. True if the mesh has changed.
FailureOr<bool> refineMesh(ModuleOp module, ArrayRef<std::string> names,
                           llvm::function_ref<InFlightDiagnostic()> emitError);

/// (C3) of dist.mesh.
LogicalResult verifyParts(MeshOp mesh);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_AXISPARTS_H
