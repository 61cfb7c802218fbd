//===- Dist.h - The dist dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_DIST_H
#define DIALECTS_DIST_IR_DIST_H

#include "dialects/Interfaces/HostTensor.h"
#include "dialects/Interfaces/Ports.h"
#include "dialects/Interfaces/Reduction.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include "dialects/Dist/IR/DistDialect.h.inc"
#include "dialects/Dist/IR/CollectiveCall.h"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/IR/DistAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/IR/DistTypes.h.inc"

#include "dialects/Dist/IR/Collective.h.inc"

namespace mlir::dist {
/// The one verifier of all collectives: mesh, axes, reason, origin, shapes.
LogicalResult verifyCollective(Operation *op, SymbolTableCollection &tables);
/// Whether it is a collective of that kind, started or not.
bool isOfKind(Operation *op, CollectiveKind kind);
/// Whether the op starts a collective whose results its wait gives.
bool isStart(Operation *op);
/// What began the transfer that the op waits for, or the op itself; null stays.
Operation *getStart(Operation *op);
/// The op's name without its dialect; of a start, that of what it starts.
StringRef getUnstartedName(Operation *op);
/// The tensors that a collective gives: of one that is started, its wait's.
ResultRange getCollectiveResults(Operation *op);
} // namespace mlir::dist

#define GET_OP_CLASSES
#include "dialects/Dist/IR/DistOps.h.inc"

#endif // DIALECTS_DIST_IR_DIST_H
