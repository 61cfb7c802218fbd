//===- tile_blocks.cpp - Blocks of products on tile registers -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/tile_blocks.h"
#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
// Some of gcc 12's own intrinsics begin with a vector that is its own value.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace dist::cpu {

#if defined(__x86_64__)

// Compiled for CPUs that have them, and called on no others.
#define DIST_TILES                                                             \
  __attribute__((target(                                                       \
      "avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-bf16,prfchw")))

namespace {

/// The operand of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

/// The low `count` bits of 32.
uint32_t firstOf(int64_t count) {
  return count >= 32 ? ~0u : count <= 0 ? 0 : (1u << count) - 1;
}

/// Dword i of vector j to dword j of vector i: pairs of vectors, then pairs of
/// those, within 128 bits; then the 128-bit parts.
DIST_TILES inline void transposeDwords(__m512i v[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

/// Which words make pairs of the same place of two rows: the first 16 places,
/// and the others.
struct Pairing {
  alignas(64) uint16_t low[32] = {}, high[32] = {};
  constexpr Pairing() {
    for (int i = 0; i < 32; ++i) {
      low[i] = i / 2 + (i % 2 ? 32 : 0);
      high[i] = low[i] + 16;
    }
  }
};
constexpr Pairing pairing;

/// The first `count` of 32 numbers as bf16, zeros behind them.
template <bool wide>
DIST_TILES inline __m512i loadNumbers(const char *at, int64_t count) {
  if (!wide)
    return _mm512_maskz_loadu_epi16(firstOf(count), at);
  __m512 low = _mm512_maskz_loadu_ps(firstOf(std::min<int64_t>(count, 16)), at);
  __m512 high = _mm512_maskz_loadu_ps(firstOf(count - 16), at + 64);
  __m512bh both = _mm512_cvtne2ps_pbh(high, low);
  __m512i bits;
  std::memcpy(&bits, &both, sizeof bits);
  return bits;
}

/// Pairs of rows `row` and the next one, 32 columns from `column` on; zeros
/// outside of the matrix, whose rows end at `end`.
template <bool wide>
DIST_TILES inline void pairRows(const TileSource &from, int64_t row,
                                int64_t end, int64_t column, __m512i *low,
                                __m512i *high) {
  const char *at = from.at(row, column);
  int64_t rowBytes = from.rowStride * from.elementBytes();
  int64_t columns = from.columns - column;
  // The next step's rows are on their way meanwhile.
  if (row + tileWidth + 1 < from.rows)
    for (int64_t part = 0; part < (wide ? 128 : 64); part += 64) {
      _mm_prefetch(at + tileWidth * rowBytes + part, _MM_HINT_T1);
      _mm_prefetch(at + (tileWidth + 1) * rowBytes + part, _MM_HINT_T1);
    }
  __m512i a = loadNumbers<wide>(at, row < end ? columns : 0);
  __m512i b = loadNumbers<wide>(at + rowBytes, row + 1 < end ? columns : 0);
  *low = _mm512_permutex2var_epi16(a, _mm512_load_si512(pairing.low), b);
  *high = _mm512_permutex2var_epi16(a, _mm512_load_si512(pairing.high), b);
}

/// 32 numbers each of 16 rows; zeros outside of the matrix.
template <bool wide>
DIST_TILES inline void loadRows(const TileSource &from, int64_t row,
                                int64_t column, int64_t end, __m512i to[16]) {
  const char *at = from.at(row, column);
  int64_t rowBytes = from.rowStride * from.elementBytes();
  for (int64_t i = 0; i < 16; ++i, at += rowBytes) {
    to[i] = loadNumbers<wide>(at, row + i < from.rows ? end - column : 0);
    // Two steps on: too few lines follow each other for the CPU to see.
    for (int64_t part = 0; part < (wide ? 128 : 64); part += 64)
      _mm_prefetch(at + (wide ? 256 : 128) + part, _MM_HINT_T0);
  }
}

DIST_TILES inline void storeTile(const __m512i rows[16], uint16_t *to) {
  for (int i = 0; i < 16; ++i)
    _mm512_store_si512(to + i * 32, rows[i]);
}

/// The matrix with rows as columns.
TileSource transposed(const TileSource &from) {
  return {from.data,         from.columns,   from.rows,
          from.columnStride, from.rowStride, from.wide};
}

/// Packs rows of `from` as the terms of a step lie in them (the left side), or
/// as pairs of terms, row by row (the right side, transposed).
template <bool wide>
DIST_TILES void packRows(const TileSource &from, bool pairs, int64_t row,
                         int64_t panels, int64_t begin, int64_t end,
                         int64_t panelElements, uint16_t *to) {
  __m512i low[16], high[16];
  bool byRows = from.columnStride == 1;
  TileSource turned = transposed(from);
  for (int64_t step = begin; step < end;
       step += tileWidth, to += stepElements) {
    if (!byRows && pairs) {
      // All columns of a pair of rows, which are next to each other.
      for (int pair = 0; pair < 16; ++pair)
        for (int64_t panel = 0; panel < panels; ++panel) {
          uint16_t *tiles = to + panel * panelElements + pair * 32;
          pairRows<wide>(turned, step + 2 * pair, end, row + panel * tileWidth,
                         &low[0], &high[0]);
          _mm512_store_si512(tiles, low[0]);
          _mm512_store_si512(tiles + stepElements / 2, high[0]);
        }
      continue;
    }
    for (int64_t panel = 0; panel < panels; ++panel) {
      int64_t first = row + panel * tileWidth;
      if (byRows) {
        loadRows<wide>(from, first, step, end, low);
        loadRows<wide>(from, first + 16, step, end, high);
      } else {
        for (int pair = 0; pair < 16; ++pair)
          pairRows<wide>(turned, step + 2 * pair, end, first, &low[pair],
                         &high[pair]);
      }
      if (byRows == pairs) {
        transposeDwords(low);
        transposeDwords(high);
      }
      storeTile(low, to + panel * panelElements);
      storeTile(high, to + panel * panelElements + stepElements / 2);
    }
  }
}

} // namespace

void packLeft(const TileSource &from, int64_t row, int64_t panels,
              int64_t begin, int64_t end, int64_t panelElements, uint16_t *to) {
  (from.wide ? packRows<true> : packRows<false>)(from, /*pairs=*/false, row,
                                                 panels, begin, end,
                                                 panelElements, to);
}

void packRight(const TileSource &from, int64_t column, int64_t panels,
               int64_t begin, int64_t end, int64_t panelElements,
               uint16_t *to) {
  (from.wide ? packRows<true> : packRows<false>)(transposed(from),
                                                 /*pairs=*/true, column, panels,
                                                 begin, end, panelElements, to);
}

DIST_TILES void multiplyPanels(const LeftPanel &left, const uint16_t *right,
                               int64_t steps, bool add, float *sums,
                               const char *target, int64_t targetRowBytes) {
  if (add) {
    _tile_loadd(0, sums, 64);
    _tile_loadd(1, sums + 256, 64);
    _tile_loadd(2, sums + 512, 64);
    _tile_loadd(3, sums + 768, 64);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const char *a = left.data;
  const char *b = reinterpret_cast<const char *>(right);
  const char *ahead = left.ahead;
  // Rows of where the sums will go, spread over the steps.
  int64_t rowsLeft = target ? tileWidth : 0;
  int64_t rowsOfStep = (tileWidth + steps - 1) / steps;
  for (int64_t step = 0; step < steps; ++step) {
    _tile_loadd(4, a, left.rowBytes);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + tileBytes, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, a + left.halfBytes, left.rowBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    if (ahead) {
      for (int64_t row = 0; row < tileWidth; ++row)
        _mm_prefetch(ahead + row * left.rowBytes, _MM_HINT_T1);
      ahead += left.stepBytes;
    }
    for (int64_t row = 0; row < rowsOfStep && rowsLeft > 0; ++row) {
      __builtin_prefetch(target, 1, 2);
      target += targetRowBytes;
      --rowsLeft;
    }
    a += left.stepBytes;
    b += 2 * tileBytes;
  }
  _tile_stored(0, sums, 64);
  _tile_stored(1, sums + 256, 64);
  _tile_stored(2, sums + 512, 64);
  _tile_stored(3, sums + 768, 64);
}

DIST_TILES void storeSums(const float *sums, int64_t rows, int64_t columns,
                          uint16_t *to, int64_t rowStride) {
  for (int64_t row = 0; row < rows; ++row) {
    const float *from = sums + row / 16 * 512 + row % 16 * 16;
    __m512bh both =
        _mm512_cvtne2ps_pbh(_mm512_load_ps(from + 256), _mm512_load_ps(from));
    __m512i bits;
    std::memcpy(&bits, &both, sizeof bits);
    _mm512_mask_storeu_epi16(to + row * rowStride, firstOf(columns), bits);
  }
}

DIST_TILES void storeSums(const float *sums, int64_t rows, int64_t columns,
                          float *to, int64_t rowStride) {
  for (int64_t row = 0; row < rows; ++row) {
    const float *from = sums + row / 16 * 512 + row % 16 * 16;
    float *at = to + row * rowStride;
    _mm512_mask_storeu_ps(at, firstOf(std::min<int64_t>(columns, 16)),
                          _mm512_load_ps(from));
    if (columns > 16)
      _mm512_mask_storeu_ps(at + 16, firstOf(columns - 16),
                            _mm512_load_ps(from + 256));
  }
}

DIST_TILES void beginTiles() {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.rowBytes[tile] = 64;
    config.rows[tile] = 16;
  }
  // gcc 12 takes the instruction to read 8 bytes, and drops the other stores.
  __asm__ __volatile__("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

DIST_TILES void endTiles() { _tile_release(); }

#else

void packLeft(const TileSource &, int64_t, int64_t, int64_t, int64_t, int64_t,
              uint16_t *) {}
void packRight(const TileSource &, int64_t, int64_t, int64_t, int64_t, int64_t,
               uint16_t *) {}
void multiplyPanels(const LeftPanel &, const uint16_t *, int64_t, bool, float *,
                    const char *, int64_t) {}
void storeSums(const float *, int64_t, int64_t, uint16_t *, int64_t) {}
void storeSums(const float *, int64_t, int64_t, float *, int64_t) {}
void beginTiles() {}
void endTiles() {}

#endif

} // namespace dist::cpu
