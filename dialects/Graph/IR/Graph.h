//===- Graph.h - The graph dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPH_H
#define DIALECTS_GRAPH_IR_GRAPH_H

#include "dialects/Interfaces/ChannelsLast.h"
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/Decomposable.h"
#include "dialects/Interfaces/Differentiable.h"
#include "dialects/Interfaces/Elemental.h"
#include "dialects/Interfaces/Indexing.h"
#include "dialects/Interfaces/Movement.h"
#include "dialects/Interfaces/Ports.h"
#include "dialects/Interfaces/Reference.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Graph/IR/GraphDialect.h.inc"
#include "dialects/Graph/IR/GraphEnums.h.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphMathOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphReduceOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphShapeOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphIndexOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphContractionOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphNNOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphStateOps.h.inc"

#endif // DIALECTS_GRAPH_IR_GRAPH_H
