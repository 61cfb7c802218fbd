//===- crc32c.h - The checksum of TensorFlow's records ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_CRC32C_H
#define RUNTIME_FORMATS_CRC32C_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dist {

/// CRC-32C (Castagnoli's polynomial) of a block.
uint32_t crc32cOf(const void *data, size_t size);

/// The same as TensorFlow's records mask it: tensorflow/core/lib/hash/crc32c.h.
uint32_t maskedCrc32c(const void *data, size_t size);

/// Whether one of these records starts here: a length and its checksum.
bool isTfRecord(std::string_view bytes);

} // namespace dist

#endif // RUNTIME_FORMATS_CRC32C_H
