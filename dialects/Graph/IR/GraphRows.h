//===- GraphRows.h - Lookups in a table of numbered rows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from Graph.h: few files know that a table may stand in parts.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHROWS_H
#define DIALECTS_GRAPH_IR_GRAPHROWS_H

#include "dialects/Graph/IR/Graph.h"

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphRowOps.h.inc"

#endif // DIALECTS_GRAPH_IR_GRAPHROWS_H
