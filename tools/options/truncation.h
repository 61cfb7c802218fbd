//===- truncation.h - Mapped files that are cut short -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_TRUNCATION_H
#define TOOLS_OPTIONS_TRUNCATION_H

namespace dist::tools {

/// The tools map models and data instead of copying them. From now on, a file
/// that someone else cuts short while it is in use ends the process with one
/// line that names it, and exit code 3, instead of a signal.
void guardMappedFiles(const char *tool);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_TRUNCATION_H
