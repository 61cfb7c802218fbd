//===- Diagnostics.cpp - Diagnostics as the tool's one-line errors --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "passes/Lowering/Package/FileError.h"
#include "runtime/core/one_line.h"
#include "tools/options/interrupt.h"
#include "tools/options/options.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

std::string mlir::dist::describeLocation(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string text = "node '" + name.getName().str() + "'";
    std::string child = describeLocation(name.getChildLoc());
    return child.empty() ? text : text + " of " + child;
  }
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    std::string text = file.getFilename().str();
    if (file.getLine())
      text += ":" + std::to_string(file.getLine()) + ":" +
              std::to_string(file.getColumn());
    return text;
  }
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (std::string text = describeLocation(part); !text.empty())
        return text;
    return "";
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return describeLocation(call.getCallee());
  return "";
}

ErrorPrinter::ErrorPrinter(MLIRContext *context, std::string *text)
    : text(text),
      handler(context, [this](Diagnostic &d) { return handle(d); }) {}

void ErrorPrinter::keep(const std::string &message) {
  if (text && !printed)
    *text = message;
  printed = true;
}

LogicalResult ErrorPrinter::handle(Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if (isError && printed)
    return success();
  ofFiles |= isError && isFileError(diagnostic);
  StringRef kind = isError ? "error"
                   : diagnostic.getSeverity() == DiagnosticSeverity::Warning
                       ? "warning"
                       : "note";
  if (text) {
    if (isError)
      keep(diagnostic.str());
    return success();
  }
  std::string text = diagnostic.str();
  std::string where = describeLocation(diagnostic.getLocation());
  if (!where.empty() && text.find(where) == std::string::npos) {
    auto [what, rest] = StringRef(text).split(": ");
    std::string joined = what.str() + " (" + where + ")";
    text = rest.empty() ? joined : joined + ": " + rest.str();
  }
  ::dist::tools::waitIfEnding();
  // One line: what follows a line break is a note.
  llvm::errs() << "dist-opt: " << kind << ": "
               << ::dist::onOneLine(StringRef(text).rtrim().str()) << "\n";
  for (Diagnostic &note : diagnostic.getNotes()) {
    llvm::errs() << "  note: ";
    // One that shows an op has lines of its own.
    const std::string lines = note.str();
    for (StringRef line : llvm::split(lines, '\n'))
      llvm::errs() << ::dist::onOneLine(line.str()) << "\n";
  }
  printed |= isError;
  return success();
}
