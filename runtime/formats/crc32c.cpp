//===- crc32c.cpp - The checksum of TensorFlow's records ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/crc32c.h"
#include <array>
#include <cstring>

namespace dist {

/// Byte by byte, where the CPU has no instruction for it.
static uint32_t addBytes(uint32_t crc, const unsigned char *bytes,
                         size_t size) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> rows{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t row = i;
      for (int bit = 0; bit < 8; ++bit)
        row = row & 1 ? row >> 1 ^ 0x82f63b78 : row >> 1;
      rows[i] = row;
    }
    return rows;
  }();
  for (size_t i = 0; i < size; ++i)
    crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
addWords(uint32_t crc, const unsigned char *bytes, size_t words) {
  uint64_t sum = crc;
  for (size_t i = 0; i < words; ++i) {
    uint64_t word;
    std::memcpy(&word, bytes + 8 * i, sizeof word);
    sum = __builtin_ia32_crc32di(sum, word);
  }
  return uint32_t(sum);
}
#endif

uint32_t crc32cOf(const void *data, size_t size) {
  const unsigned char *bytes = static_cast<const unsigned char *>(data);
  uint32_t crc = 0xffffffff;
  size_t done = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    crc = addWords(crc, bytes, size / 8);
    done = size / 8 * 8;
  }
#endif
  return ~addBytes(crc, bytes + done, size - done);
}

uint32_t maskedCrc32c(const void *data, size_t size) {
  uint32_t crc = crc32cOf(data, size);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

bool isTfRecord(std::string_view bytes) {
  uint32_t crc;
  if (bytes.size() < 8 + sizeof crc)
    return false;
  std::memcpy(&crc, bytes.data() + 8, sizeof crc);
  return maskedCrc32c(bytes.data(), 8) == crc;
}

} // namespace dist
