//===- text_file.h - Texts that options name --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_TEXT_FILE_H
#define RUNTIME_FORMATS_TEXT_FILE_H

#include "runtime/core/status.h"
#include <string>

namespace dist {

/// What people and tools write for this program as text: a plan, a table of
/// numbers, a description of a cluster. A file of more than 64 MiB is none, nor
/// is a pipe, at whose second opening who reads it would wait for ever.
/// Errors besides: as FileBytes::open has them.
Status readText(const std::string &path, std::string *out);

} // namespace dist

#endif // RUNTIME_FORMATS_TEXT_FILE_H
