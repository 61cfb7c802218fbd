//===- InitAllDialects.h - The one header that sees every dialect ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INITALLDIALECTS_H
#define DIALECTS_INITALLDIALECTS_H

#include "dialects/Dist/IR/Sdy.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Rt/IR/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace mlir::dist {

inline void registerAllDialects(DialectRegistry &registry) {
  registry.insert<rt::RtDialect, DistDialect, graph::GraphDialect,
                  arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, SdyDialect,
                  shard::ShardDialect, vector::VectorDialect>();
  func::registerInlinerExtension(registry);
}

} // namespace mlir::dist

#endif // DIALECTS_INITALLDIALECTS_H
