//===- message_slices_test.cpp - How bytes are cut into messages ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/schedule/stream.h"
#include "gtest/gtest.h"
#include <random>

using namespace dist::message;

namespace {

using Bounds = std::vector<std::pair<int64_t, int64_t>>;

/// A stream of dense parts, none of which follows another in memory.
class Parts {
public:
  explicit Parts(const std::vector<int64_t> &sizes) {
    int64_t sum = 0;
    for (int64_t size : sizes)
      sum += size + 128;
    memory.resize(sum);
    char *at = memory.data();
    for (size_t i = 0; i < sizes.size(); ++i) {
      stream.add({at, 1, 1, sizes[i], 0, 0, static_cast<int64_t>(i)});
      at += sizes[i] + 128;
    }
  }

  Stream stream;

private:
  std::vector<char> memory;
};

Bounds boundsOf(const Slices &slices) {
  Bounds bounds;
  for (int64_t i = 0; i < slices.count(); ++i)
    bounds.emplace_back(slices.begin(i), slices.end(i));
  return bounds;
}

constexpr int64_t KiB = 1 << 10;

TEST(MessageSlices, HaveNothingButALargePart) {
  // 4 MiB in all: slices of 512 KiB.
  Parts parts({900 * KiB, 300 * KiB, 2800 * KiB});
  Slices slices(parts.stream, 0, parts.stream.size());
  EXPECT_EQ(boundsOf(slices), (Bounds{{0, 512 * KiB},
                                      {512 * KiB, 900 * KiB},
                                      {900 * KiB, 1200 * KiB},
                                      {1200 * KiB, 1712 * KiB},
                                      {1712 * KiB, 2224 * KiB},
                                      {2224 * KiB, 2736 * KiB},
                                      {2736 * KiB, 3248 * KiB},
                                      {3248 * KiB, 4000 * KiB}}));
  EXPECT_EQ(slices.most(), 752 * KiB);
  for (int64_t i = 0; i < slices.count(); ++i)
    EXPECT_NE(parts.stream.findRun(slices.begin(i), slices.end(i)), nullptr);
}

TEST(MessageSlices, GatherSmallPartsThatFollowEachOther) {
  // The third has a size that the next one's place is rounded up from.
  Parts parts({1000 * KiB, 1 * KiB, 1021, 2 * KiB, 1000 * KiB});
  Slices slices(parts.stream, 1000 * KiB - 64, parts.stream.size());
  EXPECT_EQ(boundsOf(slices)[0],
            (std::pair<int64_t, int64_t>(1000 * KiB - 64, 1004 * KiB)));
  EXPECT_EQ(slices.begin(1), 1004 * KiB);
}

TEST(MessageSlices, AreNoneTwiceAndLeaveNothingOut) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> sizes(random() % 9);
    for (int64_t &size : sizes)
      size = random() % (random() % 2 ? 5000 : 700000);
    Parts parts(sizes), elsewhere(sizes);
    int64_t total = parts.stream.size(), covered = 0, real = 0;
    for (int64_t size : sizes)
      real += size;
    for (int part = 0; part < 3; ++part) {
      Slices slices, others;
      slices.cutParts(parts.stream, part, 1, 3);
      others.cutParts(elsewhere.stream, part, 1, 3);
      EXPECT_EQ(boundsOf(slices), boundsOf(others));
      int64_t last = 0;
      for (int64_t i = 0; i < slices.count(); ++i) {
        EXPECT_GE(slices.begin(i), last);
        last = slices.end(i);
        EXPECT_LE(last, total);
        parts.stream.walk(
            slices.begin(i), slices.end(i),
            [&](int64_t, char *, int64_t, int64_t bytes) { covered += bytes; });
      }
    }
    EXPECT_EQ(covered, real);
  }
}

TEST(MessageSlices, AreOneIfThereIsNothing) {
  Slices none(Stream(), 0, 0);
  EXPECT_EQ(boundsOf(none), (Bounds{{0, 0}}));
  EXPECT_EQ(boundsOf(Slices(0, 0)), (Bounds{{0, 0}}));
  EXPECT_EQ(boundsOf(Slices(0, 200 * KiB)),
            (Bounds{{0, 128 * KiB}, {128 * KiB, 200 * KiB}}));
}

} // namespace
