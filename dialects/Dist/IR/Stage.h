//===- Stage.h - Names of attributes of programs that differ -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What they mean stands in the dialect's description (DistBase.td).
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_STAGE_H
#define DIALECTS_DIST_IR_STAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::dist {

inline constexpr llvm::StringLiteral kStageAttr = "dist.stage";
inline constexpr llvm::StringLiteral kMicrobatchAttr = "dist.microbatch";
inline constexpr llvm::StringLiteral kPlacementAttr = "dist.placement";
inline constexpr llvm::StringLiteral kEntryAttr = "dist.entry";
inline constexpr llvm::StringLiteral kEntryIndexAttr = "dist.entry_index";

/// The mesh with the axis that became copies, which shardings of the copies
/// still name.
inline constexpr llvm::StringLiteral kMicrobatchMesh = "microbatches";
/// The mesh axis along which ranks run different programs.
inline constexpr llvm::StringLiteral kStageAxis = "stage";

/// Notes why programs differ: by placement (`host`) or along an axis (`stage`),
/// for the explanations and errors of passes that do not know the strategy.
void setProgramReason(ModuleOp module, StringRef key, const Twine &reason);
/// What was noted in the op's module; else, that it is annotated so.
std::string getProgramReason(Operation *op, StringRef key);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_STAGE_H
