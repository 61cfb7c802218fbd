//===- Graph.cpp - The graph dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::dist::graph;

#include "dialects/Graph/IR/GraphDialect.cpp.inc"
#include "dialects/Graph/IR/GraphEnums.cpp.inc"

namespace {
/// Ops are what they are in any function.
struct GraphInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void GraphDialect::initialize() {
  addInterfaces<GraphInlinerInterface>();
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

/// The role must be one that Role lists: passes ask for roles by name.
static LogicalResult verifyPort(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != mlir::dist::kRoleAttr)
    return success();
  auto role = dyn_cast<StringAttr>(attribute.getValue());
  if (role && symbolizeRole(role.getValue()))
    return success();
  return op->emitOpError("expected graph.role to be a role of entries' "
                         "arguments and results (input, label, mask, count, "
                         "variable, output, loss, learning_rate, prepared, "
                         "finite, metric or gradient), but got ")
         << attribute.getValue();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute attribute) {
  return verifyPort(op, attribute);
}

LogicalResult
GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                          NamedAttribute attribute) {
  return verifyPort(op, attribute);
}
