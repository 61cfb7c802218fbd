//===- stored_examples.h - Examples left in their files ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_STORED_EXAMPLES_H
#define RUNTIME_FORMATS_STORED_EXAMPLES_H

#include <cstdint>

namespace dist {

/// Examples in a form that must be decoded, which is done when they are asked
/// for: memory is that of an index of them. Threads may use it at once.
class StoredExamples {
public:
  virtual ~StoredExamples() = default;
  /// Writes the values of these examples one after the other.
  virtual void read(const int64_t *indices, int64_t count, char *out) const = 0;
};

} // namespace dist

#endif // RUNTIME_FORMATS_STORED_EXAMPLES_H
