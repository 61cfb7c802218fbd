//===- CheckElements.h - Scalar code against the evaluator -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_LIB_CHECKELEMENTS_H
#define TEST_LIB_CHECKELEMENTS_H

#include "dialects/Interfaces/Elemental.h"
#include "dialects/Interfaces/HostTensor.h"

namespace mlir::dist {

/// The dialects that scalar code is made of.
void registerScalarDialects(DialectRegistry &registry);

/// Interprets the op's scalar code (`emitElement` at every index, or
/// `emitLoops`) on `operands`. A load or store out of bounds is an error on the
/// op. Gives nothing for what has no scalar code: composites and constants that
/// are data.
FailureOr<SmallVector<HostTensor>>
interpretScalarCode(Operation *op, ArrayRef<HostTensor> operands);

} // namespace mlir::dist

#endif // TEST_LIB_CHECKELEMENTS_H
