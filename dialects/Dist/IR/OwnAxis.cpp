//===- OwnAxis.cpp - Steps without a word to others -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/OwnAxis.h"
#include "dialects/Dist/IR/Mesh.h"

using namespace mlir;
using namespace mlir::dist;

LogicalResult mlir::dist::verifyOwnAxis(Operation *op, Attribute attribute) {
  auto axis = dyn_cast<StringAttr>(attribute);
  if (!axis)
    return op->emitOpError()
           << "expected a text as dist.own_axis, but got " << attribute;
  MeshOp mesh = findMesh(op);
  if (!mesh || mesh.getAxisSize(axis) == 0)
    return op->emitOpError() << "expected dist.own_axis to be an axis of the "
                                "mesh, but got "
                             << axis;
  WalkResult found = op->walk([&](CollectiveOpInterface collective) {
    // A position's part of a value that all have is its own.
    if (collective.isLocal() ||
        !llvm::is_contained(collective.getGroupAxes(), axis))
      return WalkResult::advance();
    InFlightDiagnostic error = collective->emitOpError()
                               << "is along " << axis
                               << ", over which each position's values are "
                                  "its own";
    error.attachNote(op->getLoc()) << "by dist.own_axis of this function";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}
