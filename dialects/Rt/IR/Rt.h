//===- Rt.h - The rt dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_RT_IR_RT_H
#define DIALECTS_RT_IR_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Rt/IR/RtDialect.h.inc"

#include "dialects/Rt/IR/RtEnums.h.inc"

namespace mlir::dist::rt {

/// On a function or program: the kind of the device that runs it.
constexpr llvm::StringLiteral kDeviceAttr = "rt.device";
/// The machine's own, which always is there.
constexpr llvm::StringLiteral kCpu = "cpu";

} // namespace mlir::dist::rt

#define GET_ATTRDEF_CLASSES
#include "dialects/Rt/IR/RtAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Rt/IR/RtTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Rt/IR/RtOps.h.inc"

namespace mlir::dist::rt {

/// The kind of a LibraryOp's kernel, or of one that such a kernel names.
LibraryKind getLibraryKind(DictionaryAttr kernel);

} // namespace mlir::dist::rt

#endif // DIALECTS_RT_IR_RT_H
