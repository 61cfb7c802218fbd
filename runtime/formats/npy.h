//===- npy.h - NumPy's array files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_NPY_H
#define RUNTIME_FORMATS_NPY_H

#include "runtime/formats/file.h"

namespace dist {

/// What an array's file says of it, in front of its elements.
struct ArrayHeader {
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  std::vector<int64_t> shape;
  size_t start = 0, bytes = 0; // of the elements
  size_t end() const { return start + bytes; }
};

bool isNpy(std::string_view bytes);
/// Of a file's start. Object and structured arrays are refused.
Status parseNpyHeader(std::string_view start, const std::string &where,
                      ArrayHeader *out);
/// Parses an array; its data point into `bytes`, which `owner` keeps, unless
/// byte or dim order had to change.
Status parseNpy(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, HostArray *out);
/// Types that NumPy lacks are written as float32.
Status writeNpy(const std::string &path, const TensorView &tensor,
                bool durable = false);

} // namespace dist

#endif // RUNTIME_FORMATS_NPY_H
