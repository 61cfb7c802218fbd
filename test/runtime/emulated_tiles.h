//===- emulated_tiles.h - Tile registers in memory --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included before all else where products on tile registers are compiled for a
// test: packing, blocks and threads are then tested on CPUs without AMX, too.
// What is left of AMX is AVX-512 with bf16. Each register is 16 rows of 64
// bytes, as the configuration makes it.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_EMULATED_TILES_H
#define TEST_RUNTIME_EMULATED_TILES_H

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dist::cpu {

inline bool hasEmulatedTiles() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

namespace emulation {

struct Tile {
  float sums[16][16];
};

inline Tile &tile(int number) {
  static thread_local Tile tiles[8];
  return tiles[number];
}

inline void load(int number, const void *from, int64_t rowBytes) {
  for (int64_t row = 0; row < 16; ++row)
    std::memcpy(tile(number).sums[row],
                static_cast<const char *>(from) + row * rowBytes, 64);
}

inline void store(int number, void *to, int64_t rowBytes) {
  for (int64_t row = 0; row < 16; ++row)
    std::memcpy(static_cast<char *>(to) + row * rowBytes,
                tile(number).sums[row], 64);
}

inline void zero(int number) { tile(number) = Tile(); }

/// One of the two bf16 that lie in the place of a float.
inline float half(float pair, int which) {
  uint32_t bits;
  std::memcpy(&bits, &pair, 4);
  bits = which == 0 ? bits << 16 : bits & 0xffff0000;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// sums[i][j] += left[i][k] * right[k][j], of pairs.
inline void multiply(int sums, int left, int right) {
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 16; ++j)
        for (int which = 0; which < 2; ++which)
          tile(sums).sums[i][j] += half(tile(left).sums[i][k], which) *
                                   half(tile(right).sums[k][j], which);
}

} // namespace emulation
} // namespace dist::cpu

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#define _tile_loadconfig(config) static_cast<void>(config)
#define _tile_release() static_cast<void>(0)
#define _tile_loadd(number, from, bytes)                                       \
  ::dist::cpu::emulation::load(number, from, bytes)
#define _tile_stored(number, to, bytes)                                        \
  ::dist::cpu::emulation::store(number, to, bytes)
#define _tile_zero(number) ::dist::cpu::emulation::zero(number)
#define _tile_dpbf16ps(sums, left, right)                                      \
  ::dist::cpu::emulation::multiply(sums, left, right)
#define hasTiles hasEmulatedTiles

#endif // TEST_RUNTIME_EMULATED_TILES_H
