//===- Diagnostics.h - Diagnostics as the tool's one-line errors ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_DIAGNOSTICS_H
#define TOOLS_DIST_OPT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::dist {

/// Prints the first error of a run as `dist-opt: error: WHAT (WHERE): WHY` on
/// stderr, its notes below it, and nothing of the errors that follow from it.
/// Warnings and remarks are printed as they come.
class ErrorPrinter {
public:
  /// Into `text`, if that is not null, goes the first error instead.
  explicit ErrorPrinter(MLIRContext *context, std::string *text = nullptr);
  bool hadError() const { return printed; }
  /// The exit code for what it printed: 3 when the file system failed.
  int exitCode() const { return ofFiles ? 3 : 1; }
  /// An error that is no diagnostic, kept as one.
  void keep(const std::string &message);

private:
  LogicalResult handle(Diagnostic &diagnostic);
  bool printed = false, ofFiles = false;
  std::string *text;
  ScopedDiagnosticHandler handler;
};

/// Where a location points to, for users: the model's node name or file:line.
std::string describeLocation(Location loc);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_DIAGNOSTICS_H
