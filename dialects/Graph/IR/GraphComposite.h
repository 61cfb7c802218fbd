//===- GraphComposite.h - What composites share -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Normalizations and losses sum many elements: they compute in f32 at least.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHCOMPOSITE_H
#define DIALECTS_GRAPH_IR_GRAPHCOMPOSITE_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::dist::graph {

/// The float type in which statistics of `elementType` are computed: f64 for
/// f64, else f32.
inline Type getStatisticsType(Type elementType) {
  return elementType.isF64() ? elementType
                             : Float32Type::get(elementType.getContext());
}

inline ArrayRef<int64_t> getShape(Value x) {
  return cast<RankedTensorType>(x.getType()).getShape();
}

/// x in its statistics' type.
inline Value emitWide(GraphBuilder &g, Value x) {
  return g.convert(x, getStatisticsType(getElementTypeOrSelf(x.getType())));
}

/// `flopsAnElement` for each element of the first result.
inline OpCost getCompositeCost(Operation *op, double flopsAnElement) {
  OpCost cost = getElementwiseCost(op);
  cost.flops =
      flopsAnElement *
      cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  return cost;
}

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHCOMPOSITE_H
