//===- varint.h - Protocol Buffers' integers --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_VARINT_H
#define RUNTIME_FORMATS_VARINT_H

#include <cstdint>
#include <string_view>

namespace dist {

/// Takes a varint off the front; false where the bytes end in its middle.
inline bool takeVarint(std::string_view *bytes, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    uint8_t byte = bytes->front();
    bytes->remove_prefix(1);
    *out |= uint64_t(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

} // namespace dist

#endif // RUNTIME_FORMATS_VARINT_H
