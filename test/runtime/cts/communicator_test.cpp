//===- communicator_test.cpp - Conformance of communicators ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/communicator_test.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace dist::cts {

namespace {

TEST_P(CommunicatorTest, OneRankNeedsNobody) {
  auto world = GetParam().create({}, 1);
  Communicator &alone = world->rank(0);
  float value = 3, gathered = 0;
  EXPECT_EQ(alone.ranks(), 1);
  EXPECT_OK(alone.allReduce(0, &value, 1, manifest::F32, Reduction::Sum, 0));
  EXPECT_OK(alone.allGather(1, &value, &gathered, 4, 0));
  EXPECT_OK(alone.barrier(2, 0));
  EXPECT_EQ(value, 3);
  EXPECT_EQ(gathered, 3);
}

// Sizes around the borders: of one publication, of cache lines, of parts.
TEST_P(CommunicatorTest, AllReduceSums) {
  for (int ranks : {2, 3, 5}) {
    auto world = GetParam().create({ranks}, 20);
    for (int64_t count : {0, 1, 7, 1023, 1024, 1025, 5000, 100003}) {
      std::vector<std::vector<float>> data(ranks);
      for (int rank = 0; rank < ranks; ++rank)
        for (int64_t i = 0; i < count; ++i)
          data[rank].push_back(float(i % 13) + rank * 0.5f);
      onRanks(ranks, [&](int rank) {
        EXPECT_OK(world->rank(rank).allReduce(
            7, data[rank].data(), count, manifest::F32, Reduction::Sum, first));
      });
      for (int rank = 0; rank < ranks; ++rank)
        for (int64_t i = 0; i < count; ++i)
          ASSERT_EQ(data[rank][i],
                    float(i % 13) * ranks + 0.25f * ranks * (ranks - 1))
              << "rank " << rank << " element " << i << " of " << count;
    }
  }
}

/// What a sum of four addends may be, one after another in float.
std::vector<float> sumsOf(const std::vector<float> &of, SumOrder order) {
  auto add = [](float a, float b) {
    volatile float sum = a + b;
    return float(sum);
  };
  if (order == SumOrder::InPairs)
    return {add(add(of[0], of[1]), add(of[2], of[3]))};
  std::vector<float> sums;
  for (size_t first = 0; first < (order == SumOrder::Around ? of.size() : 1);
       ++first) {
    sums.push_back(of[first]);
    for (size_t i = 1; i < of.size(); ++i)
      sums.back() = add(sums.back(), of[(first + i) % of.size()]);
  }
  return sums;
}

// Sums that depend on the order: every rank has the same bits, those of the
// backend's order, wherever the element lies and in whatever order ranks come.
// Without such a promise they are equal to it within roundings.
TEST_P(CommunicatorTest, AllReduceHasOneOrder) {
  const int ranks = 4;
  auto world = GetParam().create({ranks}, 20);
  for (int64_t count : {100, 40000}) {
    std::vector<std::vector<float>> data(ranks, std::vector<float>(count));
    std::vector<std::vector<float>> sums(count);
    std::vector<float> sizes(count), one(count);
    for (int64_t i = 0; i < count; ++i) {
      std::vector<float> addends;
      for (int rank = 0; rank < ranks; ++rank) {
        data[rank][i] =
            std::sin(float(i * 31 + rank * 17)) * (rank % 2 ? 1e4f : 1e-3f);
        addends.push_back(data[rank][i]);
        sizes[i] += std::abs(data[rank][i]);
      }
      sums[i] = sumsOf(addends, GetParam().order);
      one[i] = sums[i][0];
    }
    auto given = data;
    std::vector<float> before;
    for (int repeat = 0; repeat < 2; ++repeat) {
      data = given;
      onRanks(ranks, [&](int rank) {
        std::this_thread::sleep_for(std::chrono::milliseconds((ranks - rank)));
        EXPECT_OK(world->rank(rank).allReduce(
            1, data[rank].data(), count, manifest::F32, Reduction::Sum, first));
      });
      if (!GetParam().promisesBits) {
        for (int rank = 0; rank < ranks; ++rank)
          expectSum(data[rank], one, ranks, sizes);
        continue;
      }
      for (int rank = 1; rank < ranks; ++rank)
        EXPECT_EQ(std::memcmp(data[rank].data(), data[0].data(), count * 4), 0);
      if (repeat) {
        EXPECT_EQ(std::memcmp(data[0].data(), before.data(), count * 4), 0);
      }
      before = data[0];
    }
    for (int64_t i = 0; GetParam().promisesBits && i < count; ++i)
      ASSERT_TRUE(std::count(sums[i].begin(), sums[i].end(), data[0][i]))
          << "element " << i << " of " << count;
  }
}

// Each way to go about it, in place or not, whatever the communicator's own.
TEST_P(CommunicatorTest, AlgorithmsOfOneSum) {
  for (int ranks : {1, 2, 3, 5, 6, 8}) {
    auto world = GetParam().create({ranks}, 20);
    for (const AlgorithmFacts &algorithm : allAlgorithms)
      for (int64_t count : {1, 3, 17, 50000}) {
        Piece pieces[2] = {};
        pieces[0].type = pieces[1].type = manifest::I32;
        pieces[0].outer = pieces[0].rows = 1;
        pieces[1].outer = pieces[1].rows = 1;
        pieces[0].bytes = 4 * count;
        pieces[1].bytes = 8;
        int64_t axis = 0;
        Collective call;
        call.kind = CollectiveKind::AllReduce;
        call.algorithm = algorithm.algorithm;
        call.axes = {&axis, 1};
        call.pieces = {pieces, 2};
        onRanks(ranks, [&](int rank) {
          std::vector<int32_t> from(count), to(count);
          std::vector<int32_t> inPlace{rank, 7};
          for (int64_t i = 0; i < count; ++i)
            from[i] = int32_t(i) * (rank + 1);
          void *sources[2] = {from.data(), inPlace.data()};
          void *targets[2] = {to.data(), inPlace.data()};
          EXPECT_OK(world->rank(rank).runOnce(call, sources, targets));
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(to[i], int32_t(i) * ranks * (ranks + 1) / 2)
                << algorithm.name;
          EXPECT_EQ(inPlace[0], ranks * (ranks - 1) / 2);
          EXPECT_EQ(inPlace[1], 7 * ranks);
        });
      }
  }
}

// A 2 x 3 mesh: groups along each axis and both, in rank order.
TEST_P(CommunicatorTest, GroupsFollowTheMesh) {
  auto world = GetParam().create({2, 3}, 20);
  onRanks(6, [&](int rank) {
    Communicator &mine = world->rank(rank);
    EXPECT_EQ(mine.rank(), rank);
    EXPECT_EQ(mine.ranks(), 6);
    EXPECT_EQ(mine.groupSize(0), 1);
    EXPECT_EQ(mine.groupSize(1), 2);
    EXPECT_EQ(mine.groupSize(2), 3);
    EXPECT_EQ(mine.groupSize(3), 6);
    EXPECT_EQ(mine.groupRank(1), rank / 3);
    EXPECT_EQ(mine.groupRank(2), rank % 3);
    int32_t along[2], across[3], all[6];
    EXPECT_OK(mine.allGather(0, &rank, along, 4, 1));
    EXPECT_OK(mine.allGather(1, &rank, across, 4, 2));
    EXPECT_OK(mine.allGather(2, &rank, all, 4, 3));
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(along[i], i * 3 + rank % 3);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(across[i], rank / 3 * 3 + i);
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(all[i], i);
  });
}

TEST_P(CommunicatorTest, GatherScatterBroadcast) {
  const int ranks = 3;
  auto world = GetParam().create({ranks}, 20);
  for (int64_t count : {1, 100, 3000}) {
    onRanks(ranks, [&](int rank) {
      Communicator &mine = world->rank(rank);
      std::vector<int32_t> own(count, rank), gathered(count * ranks);
      EXPECT_OK(mine.allGather(0, own.data(), gathered.data(), count * 4, 1));
      for (int64_t i = 0; i < count * ranks; ++i)
        ASSERT_EQ(gathered[i], i / count);
      // In place: each rank's part already lies where it belongs.
      std::vector<int32_t> inPlace(count * ranks, -1);
      std::fill_n(inPlace.begin() + rank * count, count, rank);
      EXPECT_OK(mine.allGather(1, inPlace.data() + rank * count, inPlace.data(),
                               count * 4, 1));
      EXPECT_EQ(inPlace, gathered);
      std::vector<int32_t> parts(count * ranks), part(count);
      for (int64_t i = 0; i < count * ranks; ++i)
        parts[i] = i + rank;
      EXPECT_OK(mine.reduceScatter(2, parts.data(), part.data(), count,
                                   manifest::I32, Reduction::Sum, 1));
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(part[i], 3 * (rank * count + i) + 3);
      std::vector<int32_t> sent(count, rank == 2 ? 42 : 0);
      EXPECT_OK(mine.broadcast(3, sent.data(), count * 4, 2, 1));
      EXPECT_EQ(sent, std::vector<int32_t>(count, 42));
    });
  }
}

// Many collectives in a row, small and large by turns: nobody overtakes.
TEST_P(CommunicatorTest, ManyInARow) {
  const int ranks = 3;
  auto world = GetParam().create({ranks}, 60);
  onRanks(ranks, [&](int rank) {
    std::vector<int32_t> large(3000), gathered(ranks);
    for (int step = 0; step < 300; ++step) {
      int32_t small = step + rank;
      EXPECT_OK(world->rank(rank).allReduce(0, &small, 1, manifest::I32,
                                            Reduction::Sum, first));
      ASSERT_EQ(small, 3 * step + 3);
      std::fill(large.begin(), large.end(), step * rank);
      EXPECT_OK(world->rank(rank).allReduce(
          1, large.data(), large.size(), manifest::I32, Reduction::Max, first));
      ASSERT_EQ(large[step], 2 * step);
      ASSERT_EQ(large[2999], 2 * step);
      int32_t own = step * 10 + rank;
      EXPECT_OK(
          world->rank(rank).allGather(2, &own, gathered.data(), 4, first));
      ASSERT_EQ(gathered[(rank + 1) % ranks], step * 10 + (rank + 1) % ranks);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, CommunicatorTest,
                         testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
