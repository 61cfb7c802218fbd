//===- sha256.cpp - The compile cache's hash -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/sha256.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace dist::tools {

/// The first 32 bits of the fractional parts of the cube roots of the first 64
/// primes.
static const uint32_t *constants() {
  static uint32_t table[64];
  static const bool filled = [] {
    int found = 0;
    for (int n = 2; found < 64; ++n) {
      bool prime = true;
      for (int d = 2; d * d <= n; ++d)
        prime &= n % d != 0;
      if (!prime)
        continue;
      long double root = cbrtl(n);
      table[found++] = uint32_t((root - floorl(root)) * 4294967296.0L);
    }
    return true;
  }();
  (void)filled;
  return table;
}

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

void Sha256::block(const unsigned char *bytes) {
  const uint32_t *k = constants();
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(bytes[4 * i]) << 24 | uint32_t(bytes[4 * i + 1]) << 16 |
           uint32_t(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
           (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  std::memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; ++i) {
    uint32_t e = v[4], a = v[0];
    uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                  ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
    uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                  ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    std::memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (int i = 0; i < 8; ++i)
    state[i] += v[i];
}

void Sha256::add(std::string_view bytes) {
  total += bytes.size();
  while (!bytes.empty()) {
    if (used == 0 && bytes.size() >= 64) {
      block(reinterpret_cast<const unsigned char *>(bytes.data()));
      bytes.remove_prefix(64);
      continue;
    }
    size_t part = std::min(64 - used, bytes.size());
    std::memcpy(rest + used, bytes.data(), part);
    bytes.remove_prefix(part);
    used += part;
    if (used == 64) {
      block(rest);
      used = 0;
    }
  }
}

void Sha256::addPiece(std::string_view bytes) {
  uint64_t size = bytes.size();
  add({reinterpret_cast<const char *>(&size), sizeof size});
  add(bytes);
}

std::string Sha256::hex() {
  uint64_t bits = total * 8;
  add(std::string_view("\x80", 1));
  while (used != 56)
    add(std::string_view("\0", 1));
  char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = char(bits >> (56 - 8 * i));
  add({length, 8});
  std::string text;
  for (uint32_t word : state) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", word);
    text += digits;
  }
  return text;
}

} // namespace dist::tools
