//===- ServerPart.h - Which rows of a variable a server holds ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables that parameter servers hold say who has which of their rows
// (`dist.server_parts`). A server's program has a variable for each part.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_SERVERPART_H
#define DIALECTS_DIST_IR_SERVERPART_H

#include "dialects/Interfaces/HostTensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

inline constexpr llvm::StringLiteral kServerPartsAttr = "dist.server_parts";

/// Rows of a variable along dim 0; of a scalar one.
struct ServerPart {
  int64_t server, begin, size;
};

/// The parts of a variable by their rows; none: no server holds it.
SmallVector<ServerPart> getServerParts(Operation *variable);
void setServerParts(Operation *variable, ArrayRef<ServerPart> parts);
/// What part `number` of `count` is called: the variable's own name where
/// there is but one.
std::string getPartName(StringRef variable, size_t number, size_t count);

/// The rows of a value from `begin` on, as many as `type` has.
HostTensor cutRows(const HostTensor &whole, RankedTensorType type,
                   int64_t begin);

/// Parts are dictionaries of three numbers, each with the rows behind those of
/// the one before.
LogicalResult verifyServerParts(Operation *op, Attribute attribute);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_SERVERPART_H
