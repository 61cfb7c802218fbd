//===- output.h - The trained model as a file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_OUTPUT_H
#define TOOLS_DIST_RUN_OUTPUT_H

#include "runtime/core/session.h"

namespace dist::tools {

/// Writes the variables of a session by the target's ending: `.onnx` (the
/// imported model with new weights), `.safetensors`, else a package folder.
Status writeModel(const std::string &package, Session &session,
                  const std::string &target);

/// Finds out before a long run whether a file can be written; empty: fine.
Status checkWritable(const std::string &path);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_OUTPUT_H
