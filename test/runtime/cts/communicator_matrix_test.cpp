//===- communicator_matrix_test.cpp - Every call, type, group -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of three dims are cut, joined and reduced by definition, element by
// element, and compared with what a communicator makes of the same pieces.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/communicator_test.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

namespace dist::cts {
namespace {

using Kind = CollectiveKind;
using Dims = std::array<int64_t, 3>;
using Axes = std::vector<int64_t>;

/// Elements are as many bytes as their type has.
struct Array {
  Dims dims{};
  int64_t width = 1;
  std::vector<char> bytes;
  Array(Dims dims, int64_t width)
      : dims(dims), width(width), bytes(dims[0] * dims[1] * dims[2] * width) {}
  char *at(int64_t i, int64_t j, int64_t k) {
    return &bytes[((i * dims[1] + j) * dims[2] + k) * width];
  }
};

template <typename Fn> void forEach(const Dims &dims, Fn fn) {
  for (int64_t i = 0; i < dims[0]; ++i)
    for (int64_t j = 0; j < dims[1]; ++j)
      for (int64_t k = 0; k < dims[2]; ++k)
        fn(i, j, k);
}

Dims scaled(Dims dims, int dim, int64_t multiply, int64_t divide = 1) {
  dims[dim] = dims[dim] * multiply / divide;
  return dims;
}

/// Part `place` of `array` along `dim`.
Array cut(Array &array, int dim, int64_t place, int64_t size) {
  Array part(scaled(array.dims, dim, 1, size), array.width);
  forEach(part.dims, [&](int64_t i, int64_t j, int64_t k) {
    Dims from{i, j, k};
    from[dim] += place * part.dims[dim];
    std::memcpy(part.at(i, j, k), array.at(from[0], from[1], from[2]),
                array.width);
  });
  return part;
}

Array join(std::vector<Array> parts, int dim) {
  Array whole(scaled(parts[0].dims, dim, parts.size()), parts[0].width);
  int64_t size = parts[0].dims[dim];
  forEach(whole.dims, [&](int64_t i, int64_t j, int64_t k) {
    Dims from{i, j, k};
    Array &part = parts[from[dim] / size];
    from[dim] %= size;
    std::memcpy(whole.at(i, j, k), part.at(from[0], from[1], from[2]),
                whole.width);
  });
  return whole;
}

Piece partPiece(DataType type, const Dims &dims, int dim, int64_t size,
                bool joins) {
  Piece piece{};
  int64_t width = byteSize(type);
  piece.type = type;
  piece.outer = piece.rows = 1;
  for (int d = 0; d < dim; ++d)
    piece.outer *= dims[d];
  piece.bytes = width;
  for (int d = dim; d < 3; ++d)
    piece.bytes *= dims[d];
  int64_t wide = joins ? piece.bytes * size : piece.bytes;
  piece.bytes = joins ? piece.bytes : piece.bytes / size;
  (joins ? piece.to_outer : piece.from_outer) = wide;
  (joins ? piece.from_outer : piece.to_outer) = piece.bytes;
  (joins ? piece.to_place : piece.from_place) = piece.bytes;
  return piece;
}

Piece wholePiece(DataType type, int64_t bytes) {
  Piece piece{};
  piece.type = type;
  piece.outer = piece.rows = 1;
  piece.bytes = bytes;
  return piece;
}

/// What ranks have and should get.
struct Job {
  Kind kind;
  DataType type;
  Axes axes;
  int64_t peer = 0;
  std::vector<int64_t> sources;
  std::vector<Piece> pieces;
  std::vector<std::vector<Array>> from, expected; // by rank, by piece
};

class MatrixTest : public CommunicatorTest {
protected:
  std::vector<int64_t> mesh;
  int64_t ranks = 1;
  std::unique_ptr<World> world;

  void open(std::vector<int64_t> sizes) {
    mesh = std::move(sizes);
    ranks = 1;
    for (int64_t size : mesh)
      ranks *= size;
    world = GetParam().create(mesh, 60);
  }
  int64_t coordinate(int64_t rank, int64_t axis) const {
    for (int64_t a = mesh.size() - 1; a > axis; --a)
      rank /= mesh[a];
    return rank % mesh[axis];
  }
  int64_t placeOf(int64_t rank, const Axes &axes) const {
    int64_t place = 0;
    for (int64_t axis : axes)
      place = place * mesh[axis] + coordinate(rank, axis);
    return place;
  }
  /// The ranks of `rank`'s group, by place.
  std::vector<int> groupOf(int64_t rank, const Axes &axes) const {
    int64_t size = 1;
    for (int64_t axis : axes)
      size *= mesh[axis];
    std::vector<int> group(size, -1);
    for (int64_t other = 0; other < ranks; ++other) {
      bool together = true;
      for (int64_t axis = 0; axis < int64_t(mesh.size()); ++axis)
        together &= std::count(axes.begin(), axes.end(), axis) ||
                    coordinate(other, axis) == coordinate(rank, axis);
      if (together)
        group[placeOf(other, axes)] = other;
    }
    return group;
  }

  /// Runs the job on all ranks, which come in another order each time.
  void run(const Job &job, const std::string &what) {
    std::vector<std::vector<Array>> got(ranks);
    std::vector<Status> status(ranks);
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < ranks; ++i) {
      int64_t rank = (i * 3 + turn) % ranks;
      if (ranks % 3 == 0)
        rank = ranks - 1 - i;
      for (const Array &array : job.expected[rank]) {
        got[rank].emplace_back(array.dims, array.width);
        std::fill(got[rank].back().bytes.begin(), got[rank].back().bytes.end(),
                  char(0x5a));
      }
      threads.emplace_back([&, rank] {
        std::vector<void *> from, to;
        for (const Array &array : job.from[rank])
          from.push_back(const_cast<char *>(array.bytes.data()));
        for (Array &array : got[rank])
          to.push_back(array.bytes.data());
        Collective call;
        call.kind = job.kind;
        call.op = 11;
        call.peer = job.peer;
        call.axes = {job.axes.data(), int64_t(job.axes.size())};
        call.sources = {job.sources.data(), int64_t(job.sources.size())};
        call.pieces = {job.pieces.data(), int64_t(job.pieces.size())};
        status[rank] = world->rank(rank).runOnce(call, from.data(), to.data());
      });
    }
    ++turn;
    for (std::thread &thread : threads)
      thread.join();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(status[rank].ok()) << what << ": " << status[rank].message();
      for (size_t i = 0; i < got[rank].size(); ++i)
        ASSERT_EQ(got[rank][i].bytes, job.expected[rank][i].bytes)
            << what << ", rank " << rank << ", piece " << i;
    }
  }
  int64_t turn = 0;

  /// Two tensors on each rank, of other bytes everywhere.
  void fill(Job &job, const Dims &first, const Dims &second) const {
    int64_t width = byteSize(job.type);
    job.from.resize(ranks);
    job.expected.assign(ranks, {});
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (const Dims &dims : {first, second}) {
        Array array(dims, width);
        for (size_t b = 0; b < array.bytes.size(); ++b)
          array.bytes[b] = char(b * 7 + rank * 31 + (b >> 8));
        job.from[rank].push_back(array);
      }
  }

  /// All calls that copy, on two tensors whose dims the group divides.
  void checkAll(const Axes &axes, DataType type, const Dims &first,
                const Dims &second);
};

void MatrixTest::checkAll(const Axes &axes, DataType type, const Dims &first,
                          const Dims &second) {
  int64_t n = groupOf(0, axes).size();
  std::string where = std::string(name(type)) + " in groups of " +
                      std::to_string(n) + " of " + toString(mesh) + " along " +
                      toString(axes);
  auto start = [&](Kind kind) {
    Job job;
    job.kind = kind;
    job.type = type;
    job.axes = axes;
    fill(job, first, second);
    return job;
  };
  auto finish = [&](Job &job, const std::string &detail, auto expect) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<int> group = groupOf(rank, axes);
      for (int i = 0; i < 2; ++i) {
        std::vector<Array> parts;
        for (int member : group)
          parts.push_back(job.from[member][i]);
        job.expected[rank].push_back(expect(parts, placeOf(rank, axes)));
      }
    }
    run(job, name(job.kind) + (" " + detail + " of ") + where);
  };

  for (int dim = 0; dim < 3; ++dim) {
    std::string along = "along " + std::to_string(dim);
    Job gather = start(Kind::AllGather), slice = start(Kind::AllSlice);
    for (const Dims &dims : {first, second}) {
      gather.pieces.push_back(partPiece(type, dims, dim, n, true));
      slice.pieces.push_back(partPiece(type, dims, dim, n, false));
    }
    finish(gather, along,
           [&](std::vector<Array> parts, int64_t) { return join(parts, dim); });
    finish(slice, along, [&](std::vector<Array> parts, int64_t place) {
      return cut(parts[place], dim, place, n);
    });
  }
  Job broadcast = start(Kind::Broadcast), permute = start(Kind::Permute);
  broadcast.peer = n - 1;
  for (int64_t i = 0; i < n; ++i) // a reversal with a hole
    permute.sources.push_back(i == n / 2 ? -1 : n - 1 - i);
  for (const Dims &dims : {first, second}) {
    Piece piece = wholePiece(type, Array(dims, byteSize(type)).bytes.size());
    broadcast.pieces.push_back(piece);
    permute.pieces.push_back(piece);
  }
  finish(broadcast, "",
         [&](std::vector<Array> parts, int64_t) { return parts[n - 1]; });
  finish(permute, "", [&](std::vector<Array> parts, int64_t place) {
    int64_t source = permute.sources[place];
    return source < 0 ? Array(parts[0].dims, parts[0].width) : parts[source];
  });
  // Split along 0, put together along 2, and back: rows on either side.
  for (bool back : {false, true}) {
    Job exchange = start(Kind::AllToAll);
    for (const Dims &dims : {first, second}) {
      Piece piece{};
      int64_t width = byteSize(type);
      piece.type = type;
      piece.outer = 1;
      piece.rows = (back ? dims[0] : dims[0] / n) * dims[1];
      piece.bytes = (back ? dims[2] / n : dims[2]) * width;
      int64_t block = piece.rows * piece.bytes, row = piece.bytes;
      (back ? piece.from_row : piece.to_row) = n * row;
      (back ? piece.from_place : piece.to_place) = row;
      (back ? piece.to_row : piece.from_row) = row;
      (back ? piece.to_place : piece.from_place) = block;
      exchange.pieces.push_back(piece);
    }
    finish(exchange, back ? "2 to 0" : "0 to 2",
           [&](std::vector<Array> parts, int64_t place) {
             std::vector<Array> mine;
             for (Array &part : parts)
               mine.push_back(cut(part, back ? 2 : 0, place, n));
             return join(mine, back ? 0 : 2);
           });
  }
}

// Groups of 1 to 8 ranks, along one axis.
TEST_P(MatrixTest, GroupsOfAllSizes) {
  for (int64_t size = 1; size <= 8; ++size) {
    open({size});
    checkAll({0}, manifest::F32, {size, 3 * size, 2 * size},
             {size, 2 * size, size});
    // Beyond one publication.
    checkAll({0}, manifest::I16, {size, 20 * size, 4 * size},
             {size, size, size});
  }
}

// All subsets of a mesh's axes in all orders.
TEST_P(MatrixTest, AxesInAllOrders) {
  open({2, 1, 3});
  for (uint32_t mask = 0; mask < 8; ++mask) {
    Axes axes;
    for (int64_t axis = 0; axis < 3; ++axis)
      if (mask >> axis & 1)
        axes.push_back(axis);
    do
      checkAll(axes, manifest::F64, {6, 12, 6}, {12, 6, 6});
    while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST_P(MatrixTest, TypesOfAllWidths) {
  open({2, 2});
  for (int type = manifest::F32; type <= manifest::U64; ++type)
    checkAll({1, 0}, static_cast<DataType>(type), {4, 8, 8}, {4, 64, 8});
}

// All types, buckets of two types, all dims; the places' order decides.
template <typename T>
void checkReductions(World &world, DataType type, int64_t size,
                     const Backend &backend) {
  bool hasBits = backend.promisesBits,
       sumsInOrder = hasBits && backend.order == SumOrder::OfPlaces;
  const int64_t outer = 3, block = 5;
  for (int64_t inner : {1, 700}) { // in a publication, and not
    int64_t count = outer * size * block * inner;
    std::vector<std::vector<T>> data(size, std::vector<T>(count));
    for (int64_t rank = 0; rank < size; ++rank)
      for (int64_t i = 0; i < count; ++i)
        data[rank][i] = T((i * 5 + rank * 3) % 11) / (rank % 2 ? T(3) : T(1));
    std::vector<T> sum = data[0];
    for (int64_t rank = 1; rank < size; ++rank)
      for (int64_t i = 0; i < count; ++i)
        sum[i] = T(sum[i] + data[rank][i]);
    Piece whole = wholePiece(type, count * sizeof(T));
    Piece part = partPiece(type, {outer, size * block, inner}, 1, size, false);
    std::vector<std::vector<T>> all(size, std::vector<T>(count)),
        mine(size, std::vector<T>(count / size));
    std::vector<std::vector<int64_t>> counts(size, std::vector<int64_t>(3, 1));
    onRanks(int(size), [&](int rank) {
      int64_t axis = 0;
      Piece bucket[2] = {whole, wholePiece(manifest::I64, 24)};
      void *from[2] = {data[rank].data(), counts[rank].data()};
      void *to[2] = {all[rank].data(), counts[rank].data()};
      Collective call;
      call.kind = Kind::AllReduce;
      call.axes = {&axis, 1};
      call.pieces = {bucket, 2};
      Status status = world.rank(rank).runOnce(call, from, to);
      EXPECT_TRUE(status.ok()) << status.message();
      call.kind = Kind::ReduceScatter;
      call.pieces = {&part, 1};
      to[0] = mine[rank].data();
      status = world.rank(rank).runOnce(call, from, to);
      EXPECT_TRUE(status.ok()) << status.message();
    });
    for (int64_t rank = 0; rank < size; ++rank) {
      if (hasBits) {
        EXPECT_EQ(all[rank], all[0]) << name(type);
      }
      expectSum(all[rank], sum, sumsInOrder ? 0 : size);
      EXPECT_EQ(counts[rank], std::vector<int64_t>(3, size));
      std::vector<T> part;
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < block * inner; ++i)
          part.push_back(sum[(o * size + rank) * block * inner + i]);
      expectSum(mine[rank], part, hasBits ? 0 : size);
    }
  }
}

TEST_P(MatrixTest, ReductionsOfBuckets) {
  for (int64_t size : {1, 2, 3, 8}) {
    open({size});
    checkReductions<float>(*world, manifest::F32, size, GetParam());
    checkReductions<double>(*world, manifest::F64, size, GetParam());
    checkReductions<int8_t>(*world, manifest::I8, size, GetParam());
    checkReductions<int32_t>(*world, manifest::I32, size, GetParam());
    checkReductions<uint16_t>(*world, manifest::U16, size, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, MatrixTest, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
