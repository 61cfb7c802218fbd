//===- sha256.cpp - Hashes of content -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/sha256.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace dist {

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

#if defined(__x86_64__)
static bool hasInstructions() {
  static const bool has = [] {
    unsigned a, b, c, d;
    return __builtin_cpu_supports("sse4.1") &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1);
  }();
  return has;
}

/// With the processor's own instructions: some six times as fast, which shows
/// where a model of gigabytes is hashed before each run.
__attribute__((target("sha,sse4.1"))) static void
fastBlocks(uint32_t *state, const unsigned char *bytes, size_t count) {
  const __m128i *k = reinterpret_cast<const __m128i *>(constants());
  const __m128i order =
      _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
  // The instructions want the words as (a, b, e, f) and (c, d, g, h).
  __m128i low = _mm_loadu_si128(reinterpret_cast<__m128i *>(state));
  __m128i high = _mm_loadu_si128(reinterpret_cast<__m128i *>(state + 4));
  low = _mm_shuffle_epi32(low, 0xb1);
  high = _mm_shuffle_epi32(high, 0x1b);
  __m128i abef = _mm_alignr_epi8(low, high, 8);
  __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);
  for (; count > 0; --count, bytes += 64) {
    __m128i before[2] = {abef, cdgh}, w[4];
    for (int i = 0; i < 16; ++i) {
      __m128i &word = w[i & 3];
      if (i < 4) {
        word = _mm_shuffle_epi8(
            _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes) + i),
            order);
      } else {
        __m128i last = w[(i + 3) & 3], middle = w[(i + 2) & 3];
        word = _mm_add_epi32(_mm_sha256msg1_epu32(word, w[(i + 1) & 3]),
                             _mm_alignr_epi8(last, middle, 4));
        word = _mm_sha256msg2_epu32(word, last);
      }
      __m128i sum = _mm_add_epi32(word, _mm_loadu_si128(k + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, before[0]);
    cdgh = _mm_add_epi32(cdgh, before[1]);
  }
  low = _mm_shuffle_epi32(abef, 0x1b);
  high = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state),
                   _mm_blend_epi16(low, high, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state + 4),
                   _mm_alignr_epi8(high, low, 8));
}
#endif

static void portableBlock(uint32_t *state, const unsigned char *bytes) {
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
  std::memcpy(v, state, 8 * sizeof *v);
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

void Sha256::blocks(const unsigned char *bytes, size_t count) {
#if defined(__x86_64__)
  if (hasInstructions())
    return fastBlocks(state, bytes, count);
#endif
  for (; count > 0; --count, bytes += 64)
    portableBlock(state, bytes);
}

void Sha256::add(std::string_view bytes) {
  total += bytes.size();
  while (!bytes.empty()) {
    if (used == 0 && bytes.size() >= 64) {
      size_t count = bytes.size() / 64;
      blocks(reinterpret_cast<const unsigned char *>(bytes.data()), count);
      bytes.remove_prefix(64 * count);
      continue;
    }
    size_t part = std::min(64 - used, bytes.size());
    std::memcpy(rest + used, bytes.data(), part);
    bytes.remove_prefix(part);
    used += part;
    if (used == 64) {
      blocks(rest, 1);
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

Status hashFile(const std::string &path, std::string *hex) {
  // Not blocking: a pipe has no content to hash, and is refused below.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  auto cannot = [&](const char *why) {
    if (file >= 0)
      ::close(file);
    return Status::error(StatusCode::InvalidInput, "cannot read file", path,
                         why, "check the name and its permissions");
  };
  if (file < 0 || fstat(file, &info) != 0)
    return cannot(std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return cannot("it is no regular file");
  Sha256 hash;
  std::vector<char> block(1 << 18);
  for (;;) {
    ssize_t got = ::read(file, block.data(), block.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return cannot(std::strerror(errno));
    if (got == 0)
      break;
    hash.add({block.data(), size_t(got)});
  }
  ::close(file);
  *hex = hash.hex();
  return Status();
}

} // namespace dist
