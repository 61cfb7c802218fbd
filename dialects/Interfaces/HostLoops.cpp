//===- HostLoops.cpp - Loops over whole host tensors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/HostLoops.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;

SmallVector<int64_t> mlir::dist::getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * std::max<int64_t>(shape[dim + 1], 1);
  return strides;
}

std::vector<int64_t> mlir::dist::listOffsets(ArrayRef<StridedRange> box,
                                             int64_t base) {
  std::vector<int64_t> offsets = {base};
  for (const StridedRange &range : box) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * range.count);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < range.count; ++i)
        next.push_back(offset + (range.first + i) * range.stride);
    offsets = std::move(next);
  }
  return offsets;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

void mlir::dist::forEachRow(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                            llvm::function_ref<void(int64_t, int64_t)> fn) {
  int64_t rowSize = shape.empty() ? 1 : shape.back();
  if (!shape.empty()) {
    shape = shape.drop_back();
    strides = strides.drop_back();
  }
  int64_t position = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t offset = 0;
    for (auto [i, stride] : llvm::zip(index, strides))
      offset += i * stride;
    fn(offset, position);
    position += rowSize;
  });
}

template <typename T>
static void gather(ArrayRef<int64_t> shape, const T *from, T *to,
                   ArrayRef<int64_t> strides) {
  int64_t rowSize = shape.empty() ? 1 : shape.back();
  int64_t step = shape.empty() ? 0 : strides.back();
  forEachRow(shape, strides, [&](int64_t offset, int64_t position) {
    for (int64_t i = 0; i < rowSize; ++i)
      to[position + i] = from[offset + i * step];
  });
}

template <typename T>
static void scatter(ArrayRef<int64_t> shape, const T *from, T *to,
                    ArrayRef<int64_t> strides) {
  int64_t rowSize = shape.empty() ? 1 : shape.back();
  int64_t step = shape.empty() ? 0 : strides.back();
  forEachRow(shape, strides, [&](int64_t offset, int64_t position) {
    for (int64_t i = 0; i < rowSize; ++i)
      to[offset + i * step] = from[position + i];
  });
}

HostTensor mlir::dist::gatherStrided(RankedTensorType type,
                                     const HostTensor &source,
                                     ArrayRef<int64_t> strides, int64_t base) {
  HostTensor result(type);
  if (type.getNumElements() == 0)
    return result;
  if (result.isFloat())
    gather(type.getShape(), source.getFloats().data() + base,
           result.writeFloats().data(), strides);
  else
    gather(type.getShape(), source.getInts().data() + base,
           result.writeInts().data(), strides);
  // The source may have been made before an ExactFloats ended.
  result.adjust(0, type.getNumElements());
  return result;
}

void mlir::dist::scatterStrided(const HostTensor &source, HostTensor &result,
                                ArrayRef<int64_t> strides, int64_t base) {
  if (source.getNumElements() == 0)
    return;
  if (result.isFloat())
    scatter(source.getShape(), source.getFloats().data(),
            result.writeFloats().data() + base, strides);
  else
    scatter(source.getShape(), source.getInts().data(),
            result.writeInts().data() + base, strides);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void mlir::dist::forEachPart(MLIRContext *context, int64_t count,
                             llvm::function_ref<void(int64_t, int64_t)> fn) {
  constexpr int64_t partSize = 1 << 15;
  int64_t parts = (count + partSize - 1) / partSize;
  parallelFor(context, 0, parts, [&](size_t part) {
    int64_t begin = int64_t(part) * partSize;
    fn(begin, std::min(begin + partSize, count));
  });
}

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

namespace {
/// Rows and columns of a tile whose sums stay in registers; rows, terms and
/// columns of the blocks that stay in caches (L2: 96 KiB and 512 KiB).
constexpr int64_t kTileRows = 6, kTileColumns = 8;
constexpr int64_t kBlockRows = 48, kBlockTerms = 256, kBlockColumns = 256;

/// tile[m][n] += packedLhs[k][m] * packedRhs[k][n] for all k in order.
template <typename T>
using TileFunction = void (*)(const T *lhs, const T *rhs, int64_t terms,
                              T *tile);
} // namespace

template <typename T>
[[gnu::always_inline]] static inline void
addTileBody(const T *lhs, const T *rhs, int64_t terms, T *tile) {
  typedef T Row __attribute__((vector_size(kTileColumns * sizeof(T)),
                               aligned(8), may_alias));
  Row sums[kTileRows];
  for (int64_t m = 0; m < kTileRows; ++m)
    sums[m] = *reinterpret_cast<const Row *>(tile + m * kTileColumns);
  for (int64_t k = 0; k < terms; ++k) {
    Row right = *reinterpret_cast<const Row *>(rhs + k * kTileColumns);
    for (int64_t m = 0; m < kTileRows; ++m)
      sums[m] += lhs[k * kTileRows + m] * right;
  }
  for (int64_t m = 0; m < kTileRows; ++m)
    *reinterpret_cast<Row *>(tile + m * kTileColumns) = sums[m];
}

template <typename T>
static void addTile(const T *lhs, const T *rhs, int64_t terms, T *tile) {
  addTileBody(lhs, rhs, terms, tile);
}
#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2,fma")]] static void addTileAvx2(const T *lhs, const T *rhs,
                                                    int64_t terms, T *tile) {
  addTileBody(lhs, rhs, terms, tile);
}
template <typename T>
[[gnu::target("avx512f,avx512dq,fma")]] static void
addTileAvx512(const T *lhs, const T *rhs, int64_t terms, T *tile) {
  addTileBody(lhs, rhs, terms, tile);
}
#endif

/// The same for the machine that it runs on.
template <typename T> static TileFunction<T> chooseTile() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return addTileAvx512<T>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return addTileAvx2<T>;
#endif
  return addTile<T>;
}

/// Packs [outer, inner] elements so that tiles of `inner` follow each other,
/// the last filled up with zeros (whose sums are not read).
template <typename T>
static void pack(const T *from, ArrayRef<int64_t> outer,
                 ArrayRef<int64_t> inner, int64_t tileSize, T *to) {
  for (size_t first = 0; first < inner.size(); first += tileSize) {
    int64_t size = std::min<int64_t>(tileSize, inner.size() - first);
    for (int64_t offset : outer) {
      for (int64_t i = 0; i < size; ++i)
        to[i] = from[offset + inner[first + i]];
      for (int64_t i = size; i < tileSize; ++i)
        to[i] = T(0);
      to += tileSize;
    }
  }
}

/// One job on one thread.
template <typename T>
static void addBlocks(const ProductSums<T> &job, TileFunction<T> addTile) {
  auto part = [](ArrayRef<int64_t> list, int64_t first, int64_t size) {
    return list.slice(first, std::min<int64_t>(size, list.size() - first));
  };
  int64_t rows = job.lhsRows.size(), terms = job.lhsTerms.size();
  int64_t columns = job.rhsColumns.size();
  // Jobs may be many and small: no larger than they need.
  int64_t depth = std::min(terms, kBlockTerms);
  std::vector<T> lhs(depth *
                     llvm::alignTo(std::min(rows, kBlockRows), kTileRows));
  std::vector<T> rhs(
      depth * llvm::alignTo(std::min(columns, kBlockColumns), kTileColumns));
  for (int64_t n = 0; n < columns; n += kBlockColumns)
    for (int64_t k = 0; k < terms; k += kBlockTerms) {
      auto blockColumns = part(job.rhsColumns, n, kBlockColumns);
      auto lhsTerms = part(job.lhsTerms, k, kBlockTerms);
      depth = lhsTerms.size();
      pack(job.rhs, part(job.rhsTerms, k, kBlockTerms), blockColumns,
           kTileColumns, rhs.data());
      for (int64_t m = 0; m < rows; m += kBlockRows) {
        auto blockRows = part(job.lhsRows, m, kBlockRows);
        pack(job.lhs, lhsTerms, blockRows, kTileRows, lhs.data());
        for (int64_t j = 0, je = blockColumns.size(); j < je; j += kTileColumns)
          for (int64_t i = 0, ie = blockRows.size(); i < ie; i += kTileRows) {
            alignas(64) T tile[kTileRows * kTileColumns] = {};
            auto sumRows = part(job.sumRows, m + i, kTileRows);
            auto sumColumns = part(job.sumColumns, n + j, kTileColumns);
            for (auto [row, rowOffset] : llvm::enumerate(sumRows))
              for (auto [column, offset] : llvm::enumerate(sumColumns))
                tile[row * kTileColumns + column] =
                    job.sums[rowOffset + offset];
            addTile(lhs.data() + i * depth, rhs.data() + j * depth, depth,
                    tile);
            for (auto [row, rowOffset] : llvm::enumerate(sumRows))
              for (auto [column, offset] : llvm::enumerate(sumColumns))
                job.sums[rowOffset + offset] =
                    tile[row * kTileColumns + column];
          }
      }
    }
}

template <typename T>
static void addAll(MLIRContext *context, ArrayRef<ProductSums<T>> jobs) {
  static_assert(kBlockRows % kTileRows == 0 &&
                    kBlockColumns % kTileColumns == 0,
                "blocks are whole tiles");
  TileFunction<T> addTile = chooseTile<T>();
  // Large jobs are cut along rows or columns, so that threads have as much to
  // do; never along terms, whose order is the sum's.
  constexpr double leastWork = 1 << 21;
  constexpr int64_t most = 16;
  std::vector<ProductSums<T>> parts;
  for (const ProductSums<T> &job : jobs) {
    int64_t rows = job.lhsRows.size(), columns = job.rhsColumns.size();
    double work = double(rows) * columns * job.lhsTerms.size();
    if (work == 0)
      continue;
    bool byRows = rows >= columns;
    int64_t size = byRows ? rows : columns;
    int64_t unit = byRows ? kBlockRows : kTileColumns;
    int64_t count = std::clamp<int64_t>(int64_t(work / leastWork), 1, most);
    int64_t step = (size + count - 1) / count;
    step = (step + unit - 1) / unit * unit;
    for (int64_t first = 0; first < size; first += step) {
      int64_t length = std::min(step, size - first);
      ProductSums<T> &part = parts.emplace_back(job);
      if (byRows) {
        part.lhsRows = job.lhsRows.slice(first, length);
        part.sumRows = job.sumRows.slice(first, length);
      } else {
        part.rhsColumns = job.rhsColumns.slice(first, length);
        part.sumColumns = job.sumColumns.slice(first, length);
      }
    }
  }
  parallelFor(context, 0, parts.size(),
              [&](size_t i) { addBlocks(parts[i], addTile); });
}

void mlir::dist::addProducts(MLIRContext *context,
                             ArrayRef<ProductSums<double>> jobs) {
  addAll(context, jobs);
}
void mlir::dist::addProducts(MLIRContext *context,
                             ArrayRef<ProductSums<uint64_t>> jobs) {
  addAll(context, jobs);
}
