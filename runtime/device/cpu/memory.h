//===- memory.h - One allocation of a device --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_MEMORY_H
#define RUNTIME_DEVICE_CPU_MEMORY_H

#include "runtime/core/status.h"
#include <cstddef>
#include <cstdint>

namespace dist {

/// A block of zeroed pages, large ones where that pays.
class Block {
public:
  Block() = default;
  ~Block();
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  Status allocate(int64_t bytes, const char *what);
  char *data() const { return start; }
  int64_t size() const { return length; }

private:
  char *start = nullptr;
  int64_t length = 0;
  size_t mapped = 0;
};

} // namespace dist

#endif // RUNTIME_DEVICE_CPU_MEMORY_H
