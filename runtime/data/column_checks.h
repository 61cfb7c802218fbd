//===- column_checks.h - What a program can take of data --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_COLUMN_CHECKS_H
#define RUNTIME_DATA_COLUMN_CHECKS_H

#include "runtime/core/status.h"
#include "runtime/data/dataset.h"

namespace dist {

/// The error of data that a program cannot take: `name` is the argument.
Status unfit(const std::string &what, const std::string &name,
             const std::string &why, const std::string &todo);

/// Labels must be classes, indices rows of their table, and integers within
/// what the argument's type holds. For files when they are opened, so that an
/// error names the example; what apps give is checked in each step (indices.h).
Status checkValues(const Column &column, const manifest::Binding &binding);

} // namespace dist

#endif // RUNTIME_DATA_COLUMN_CHECKS_H
