//===- mlir_file.h - Telling MLIR from model formats ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module's shapes are as they are, where a model format may leave its batch
// open: the compiler and who calls it ask the same of the same file.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_MLIR_FILE_H
#define RUNTIME_FORMATS_MLIR_FILE_H

#include <string_view>

namespace dist {

/// Whether a model file of that name is MLIR, as text or as bytecode.
bool isMlirFile(std::string_view bytes, std::string_view name);

} // namespace dist

#endif // RUNTIME_FORMATS_MLIR_FILE_H
