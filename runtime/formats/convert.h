//===- convert.h - Elements of one type to another -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_CONVERT_H
#define RUNTIME_FORMATS_CONVERT_H

#include "runtime/core/half.h"
#include "runtime/core/types.h"

namespace dist {

/// Converts `count` elements; float to integer truncates.
void convertElements(DataType from, const void *in, DataType to, void *out,
                     size_t count);
/// One element as a double (64-bit integers beyond 2^53 are rounded).
double elementAsDouble(DataType type, const void *data, size_t index);

bool isFloat(DataType type);

} // namespace dist

#endif // RUNTIME_FORMATS_CONVERT_H
