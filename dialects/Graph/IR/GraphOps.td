//===- GraphOps.td - All ops, for the generated documentation -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
include "dialects/Graph/IR/GraphMathOps.td"
include "dialects/Graph/IR/GraphReduceOps.td"
include "dialects/Graph/IR/GraphShapeOps.td"
include "dialects/Graph/IR/GraphIndexOps.td"
include "dialects/Graph/IR/GraphRowOps.td"
include "dialects/Graph/IR/GraphContractionOps.td"
include "dialects/Graph/IR/GraphNNOps.td"
include "dialects/Graph/IR/GraphStateOps.td"
include "dialects/Graph/IR/GraphOrderOps.td"
