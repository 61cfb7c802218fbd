//===- FileError.h - Errors of the file system -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A full disk is not the model's fault: exit codes tell the two apart, by the
// diagnostic's metadata.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PACKAGE_FILEERROR_H
#define PASSES_LOWERING_PACKAGE_FILEERROR_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::dist {

inline constexpr llvm::StringLiteral kFileError = "file-system";

/// Says that the cause is a file or the disk.
inline void markFileError(InFlightDiagnostic &error) {
  if (Diagnostic *diagnostic = error.getUnderlyingDiagnostic())
    diagnostic->getMetadata().push_back(
        DiagnosticArgument(llvm::StringRef(kFileError)));
}

/// An error of `op` whose cause is a file or the disk.
inline InFlightDiagnostic emitFileError(Operation *op,
                                        const Twine &message = {}) {
  InFlightDiagnostic error = op->emitError(message);
  markFileError(error);
  return error;
}

inline bool isFileError(Diagnostic &diagnostic) {
  return llvm::any_of(
      diagnostic.getMetadata(), [](DiagnosticArgument &argument) {
        return argument.getKind() ==
                   DiagnosticArgument::DiagnosticArgumentKind::String &&
               argument.getAsString() == kFileError;
      });
}

} // namespace mlir::dist

#endif // PASSES_LOWERING_PACKAGE_FILEERROR_H
