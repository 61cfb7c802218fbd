//===- GraphState.cpp - State ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

LogicalResult VariableOp::verify() {
  if (getInitial().getType() != getType())
    return emitOpError(
               "expected the initial value to have the variable's type ")
           << getType() << ", but got " << getInitial().getType();
  auto type = cast<RankedTensorType>(getType());
  if (getTrainable() && !isa<FloatType>(type.getElementType()))
    return emitOpError(
               "expected a trainable variable to have a float type, but "
               "got ")
           << type;
  if (getAggregation() == Aggregation::Mean &&
      !isa<FloatType>(type.getElementType()))
    return emitOpError("expected a variable with MEAN aggregation to have a "
                       "float type, but got ")
           << type << "; aggregate integers by SUM or ONLY_FIRST_REPLICA";
  return success();
}

/// Finds the variable and compares its type with that of the op's tensor.
static LogicalResult verifyVariable(Operation *op, FlatSymbolRefAttr name,
                                    Type type, SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable)
    return op->emitOpError("expected ")
           << name << " to be a graph.variable, but found none of that name";
  if (variable.getType() != type)
    return op->emitOpError("expected the type ")
           << variable.getType() << " of " << name << ", but got " << type;
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, getVariableAttr(), getType(), symbols);
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, getVariableAttr(), getValue().getType(),
                        symbols);
}

void GraphDialect::registerStateOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphStateOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphStateOps.cpp.inc"
