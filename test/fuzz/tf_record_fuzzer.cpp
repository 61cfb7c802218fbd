//===- tf_record_fuzzer.cpp - libFuzzer target of TFRecords -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/crc32c.h"
#include "runtime/formats/tf_record.h"
#include <cstring>

/// Checksums that fit: they would keep nearly all changed inputs out.
static std::string sealed(std::string bytes) {
  for (size_t at = 0; at + 12 <= bytes.size();) {
    uint64_t size;
    std::memcpy(&size, &bytes[at], sizeof size);
    uint32_t crc = dist::maskedCrc32c(&bytes[at], 8);
    std::memcpy(&bytes[at + 8], &crc, sizeof crc);
    at += 12;
    if (size > bytes.size() - at || bytes.size() - at - size < 4)
      break;
    crc = dist::maskedCrc32c(bytes.data() + at, size);
    std::memcpy(&bytes[at + size], &crc, sizeof crc);
    at += size + 4;
  }
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string raw(reinterpret_cast<const char *>(data), size);
  for (const std::string &bytes : {raw, sealed(raw)}) {
    std::vector<dist::NamedArray> arrays;
    if (!dist::parseTfRecord(bytes, "fuzz", dist::ArrayDemand(), &arrays).ok())
      continue;
    volatile char last = 0;
    // An accepted array has all the bytes it claims.
    for (const dist::NamedArray &item : arrays)
      for (size_t i = 0; i < item.array.view().bytes(); ++i)
        last = item.array.data[i];
    (void)last;
  }
  return 0;
}
