//===- GraphIndex.cpp - Index ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

void GraphDialect::registerIndexOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphIndexOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphIndexOps.cpp.inc"
