//===- sha256.h - The compile cache's hash -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_SHA256_H
#define TOOLS_DIST_RUN_SHA256_H

#include <cstdint>
#include <string>
#include <string_view>

namespace dist::tools {

/// SHA-256 (FIPS 180-4) of all that is added.
class Sha256 {
public:
  void add(std::string_view bytes);
  /// A piece with its length, so that neighbours cannot run into each other.
  void addPiece(std::string_view bytes);
  /// Ends it; hexadecimal.
  std::string hex();

private:
  void block(const unsigned char *bytes);
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char rest[64];
  size_t used = 0;
  uint64_t total = 0;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_SHA256_H
