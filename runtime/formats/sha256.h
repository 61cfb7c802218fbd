//===- sha256.h - Hashes of content -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_SHA256_H
#define RUNTIME_FORMATS_SHA256_H

#include "runtime/core/status.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace dist {

/// SHA-256 (FIPS 180-4) of all that is added.
class Sha256 {
public:
  void add(std::string_view bytes);
  /// A piece with its length, so that neighbours cannot run into each other.
  void addPiece(std::string_view bytes);
  /// Ends it; hexadecimal.
  std::string hex();

private:
  /// Whole blocks of 64 bytes.
  void blocks(const unsigned char *bytes, size_t count);
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char rest[64];
  size_t used = 0;
  uint64_t total = 0;
};

/// The hash of a regular file's content, read from its start to its end.
Status hashFile(const std::string &path, std::string *hex);

} // namespace dist

#endif // RUNTIME_FORMATS_SHA256_H
