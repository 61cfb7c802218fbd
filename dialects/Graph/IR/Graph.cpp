//===- Graph.cpp - The graph dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/GraphOrder.h"

using namespace mlir;
using namespace mlir::dist::graph;

#include "dialects/Graph/IR/GraphDialect.cpp.inc"
#include "dialects/Graph/IR/GraphEnums.cpp.inc"

void GraphDialect::initialize() {
  registerMathOps();
  registerReduceOps();
  registerShapeOps();
  registerIndexOps();
  registerContractionOps();
  registerNNOps();
  registerStateOps();
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphOrderOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
