//===- GraphMovement.cpp - How elements move -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Graph/IR/GraphRows.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

Movement ConstantOp::getMovement() {
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  return dense && dense.isSplat() ? Movement::Generate : Movement::Load;
}
Movement IotaOp::getMovement() { return Movement::Generate; }
Movement ReshapeOp::getMovement() { return Movement::View; }
Movement AfterOp::getMovement() { return Movement::Order; }
Movement BroadcastOp::getMovement() { return Movement::Repeat; }
Movement TransposeOp::getMovement() { return Movement::Permute; }
Movement SliceOp::getMovement() { return Movement::Slice; }
Movement GatherOp::getMovement() { return Movement::Select; }
Movement GatherElementsOp::getMovement() { return Movement::Select; }
Movement GatherNDOp::getMovement() { return Movement::Select; }
Movement GatherRowsOp::getMovement() { return Movement::Select; }
