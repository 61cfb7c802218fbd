//===- FatalErrors.h - Where the compiler cannot go on ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_FATALERRORS_H
#define TOOLS_DIST_OPT_FATALERRORS_H

namespace mlir::dist {

/// From here on, what LLVM gives up at and memory that cannot be had end the
/// process with an error line and exit code 3, not with a signal.
void endWithErrorLines();

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_FATALERRORS_H
