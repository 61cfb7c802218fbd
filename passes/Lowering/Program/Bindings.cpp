//===- Bindings.cpp - What arguments of an entry stand for -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/Bindings.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/Graph.h"

using namespace mlir;
using namespace mlir::dist;

Attribute mlir::dist::getStateName(DictionaryAttr attributes) {
  if (!attributes)
    return nullptr;
  if (Attribute variable = attributes.get(kVariableAttr))
    return variable;
  auto role = attributes.getAs<StringAttr>(kRoleAttr);
  if (role && role.getValue() == "prepared")
    return attributes.get(kNameAttr);
  return nullptr;
}

bool mlir::dist::isUnchangedWeight(BlockArgument argument) {
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!func || !argument.getOwner()->isEntryBlock())
    return false;
  auto symbol = func.getArgAttrOfType<FlatSymbolRefAttr>(
      argument.getArgNumber(), kVariableAttr);
  if (!symbol)
    return false;
  auto variable =
      SymbolTable::lookupNearestSymbolFrom<graph::VariableOp>(func, symbol);
  if (!variable || !llvm::is_contained({"parameter", "buffer", "constant"},
                                       variable.getGroup()))
    return false;
  Operation *terminator = argument.getOwner()->getTerminator();
  for (OpOperand &result : terminator->getOpOperands())
    if (result.get() != argument &&
        func.getResultAttr(result.getOperandNumber(), kVariableAttr) == symbol)
      return false;
  return true;
}

void mlir::dist::setWhereItRuns(Operation *to, Operation *from) {
  for (StringRef name :
       {kStageAttr, kPortionAttr, kPlacementAttr, rt::kDeviceAttr})
    if (Attribute attribute = from->getAttr(name))
      to->setAttr(name, attribute);
}

rt::MemorySpace mlir::dist::getMemory(Operation *function) {
  return isOnHost(function) ? rt::MemorySpace::Host : rt::MemorySpace::Device;
}

int64_t mlir::dist::getThreads(func::FuncOp function, int64_t threads) {
  // A pass alone may be given a host's function without its mesh.
  MeshOp mesh = findMesh(function);
  return mesh && isOnHost(function) ? threads * mesh.getNumRanks() : threads;
}
