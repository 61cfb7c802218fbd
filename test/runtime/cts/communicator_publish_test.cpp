//===- communicator_publish_test.cpp - Buffers read where they lie --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/apart.h"
#include "test/runtime/cts/communicator_test.h"
#include <thread>

namespace dist::cts {

namespace {

using Kind = CollectiveKind;

class PublishTest : public CommunicatorTest {
protected:
  std::unique_ptr<World> world;

  void create(std::vector<int64_t> mesh, double timeout = 20) {
    ranks = 1;
    for (int64_t size : mesh)
      ranks *= size;
    world = GetParam().create(mesh, timeout);
    if (!world->rank(0).sharesMemory())
      GTEST_SKIP() << "its ranks share no memory";
  }
  /// Shares pieces of `bytes` from each place on; `addresses` come back.
  Status publish(int rank, Kind kind, std::vector<void *> from, int64_t bytes,
                 std::vector<int64_t> axes, std::vector<void *> *addresses,
                 int64_t fromPlace = 0, int64_t rows = 1) {
    std::vector<Piece> pieces(from.size());
    for (Piece &piece : pieces) {
      piece.type = manifest::F32;
      piece.outer = 1;
      piece.rows = rows;
      piece.bytes = bytes;
      piece.from_row = bytes;
      piece.from_place = fromPlace;
    }
    Collective what;
    what.kind = kind;
    what.op = 20;
    what.axes = {axes.data(), int64_t(axes.size())};
    what.pieces = {pieces.data(), int64_t(pieces.size())};
    addresses->assign(from.size() * ranks, nullptr);
    Status status =
        world->rank(rank).publishOnce(what, from.data(), addresses->data());
    // The caller uses its array for something else at once.
    from.assign(from.size(), nullptr);
    return status;
  }
  template <typename Body> void onAll(Body body) { onRanks(int(ranks), body); }

  int64_t ranks = 0;
};

// Each rank adds up what all have, round by round: none writes for the next
// before all have read, and everybody sees what was written before.
TEST_P(PublishTest, RanksReadEachOther) {
  for (int64_t n : {2, 3}) {
    create({n});
    if (IsSkipped())
      return;
    onAll([&](int rank) {
      std::vector<float> first(50), second(50);
      std::vector<void *> at;
      for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < 50; ++i) {
          first[i] = 1000 * round + 10 * rank + i;
          second[i] = -first[i];
        }
        Status status = publish(rank, Kind::AllReduce,
                                {first.data(), second.data()}, 200, {0}, &at);
        ASSERT_TRUE(status.ok()) << status.message();
        for (int64_t place = 0; place < n; ++place)
          for (int i = 0; i < 50; ++i) {
            float expected = 1000 * round + 10 * place + i;
            ASSERT_EQ(static_cast<float *>(at[place])[i], expected);
            ASSERT_EQ(static_cast<float *>(at[n + place])[i], -expected);
          }
        EXPECT_EQ(at[rank], first.data());
        status = world->rank(rank).barrier(20, 1);
        ASSERT_TRUE(status.ok()) << status.message();
      }
    });
  }
}

// Places count in the order of the axes, within the group; each rank gets its
// part of what the others have.
TEST_P(PublishTest, PlacesAndParts) {
  create({2, 3});
  if (IsSkipped())
    return;
  std::vector<std::vector<float>> data(6, std::vector<float>(60));
  onAll([&](int rank) {
    std::vector<void *> at;
    ASSERT_TRUE(publish(rank, Kind::ReduceScatter, {data[rank].data()}, 40,
                        {1, 0}, &at, 40)
                    .ok());
    int mine = rank % 3 * 2 + rank / 3;
    for (int place = 0; place < 6; ++place)
      EXPECT_EQ(at[place], data[place % 2 * 3 + place / 2].data() + 10 * mine);
    ASSERT_TRUE(world->rank(rank).barrier(20, 3).ok());
    ASSERT_TRUE(
        publish(rank, Kind::AllReduce, {data[rank].data()}, 40, {1}, &at).ok());
    for (int place = 0; place < 3; ++place)
      EXPECT_EQ(at[place], data[rank / 3 * 3 + place].data());
    ASSERT_TRUE(world->rank(rank).barrier(20, 2).ok());
  });
}

// More pieces than a publication holds the addresses of.
TEST_P(PublishTest, ManyPieces) {
  create({2});
  if (IsSkipped())
    return;
  constexpr int pieces = 700;
  std::vector<std::vector<float>> data(2, std::vector<float>(pieces));
  onAll([&](int rank) {
    for (int round = 0; round < 20; ++round) {
      std::vector<void *> from, at;
      for (float &value : data[rank])
        from.push_back(&value);
      ASSERT_TRUE(publish(rank, Kind::AllReduce, from, 4, {0}, &at).ok());
      for (int i = 0; i < pieces; ++i)
        for (int place = 0; place < 2; ++place)
          ASSERT_EQ(at[2 * i + place], &data[place][i]);
      ASSERT_TRUE(world->rank(rank).barrier(20, 1).ok());
    }
  });
}

// A rank finds its own part alone.
TEST_P(PublishTest, SlicesWaitForNone) {
  create({2});
  if (IsSkipped())
    return;
  float data[20];
  std::vector<void *> at;
  ASSERT_TRUE(publish(1, Kind::AllSlice, {data}, 40, {0}, &at, 40).ok());
  EXPECT_EQ(at[0], data + 10);
  ASSERT_TRUE(publish(0, Kind::AllSlice, {data}, 40, {0}, &at, 40).ok());
  EXPECT_EQ(at[0], data);
}

TEST_P(PublishTest, FailsAsCollectivesDo) {
  create({2}, 0.2);
  if (IsSkipped())
    return;
  float data[20] = {};
  std::vector<void *> at;
  Status late = publish(0, Kind::AllReduce, {data}, 40, {0}, &at);
  EXPECT_EQ(late.code(), StatusCode::Unavailable);
  EXPECT_NE(late.message().find("rank 1 did not arrive"), std::string::npos)
      << late.message();

  create({2});
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    world->rank(1).abort(0, "rank 1 has no more memory");
  });
  Status aborted = publish(0, Kind::AllReduce, {data}, 40, {0}, &at);
  other.join();
  EXPECT_NE(aborted.message().find("rank 1 has no more memory"),
            std::string::npos)
      << aborted.message();

  // The collective that moves the same is another call.
  create({2});
  Status status[2];
  float sums[10] = {};
  onAll([&](int rank) {
    std::vector<void *> addresses;
    status[rank] =
        rank == 0 ? publish(0, Kind::AllReduce, {data}, 40, {0}, &addresses)
                  : world->rank(1).allReduce(20, sums, 10, manifest::F32,
                                             Reduction::Sum, 1);
  });
  EXPECT_FALSE(status[0].ok());
  EXPECT_FALSE(status[1].ok());
  EXPECT_NE((status[0].message() + status[1].message())
                .find("ranks are at different collectives"),
            std::string::npos);

  create({2});
  Status rows = publish(0, Kind::AllReduce, {data}, 20, {0}, &at, 0, 2);
  EXPECT_NE(rows.message().find("not one block"), std::string::npos)
      << rows.message();
}

INSTANTIATE_TEST_SUITE_P(Backends, PublishTest, testing::ValuesIn(backends()),
                         [](const auto &info) { return info.param.name; });

TEST(Communicator, RefusesToShareWhatIsApart) {
  Apart apart;
  EXPECT_FALSE(apart.sharesMemory());
  Collective what;
  what.kind = Kind::AllReduce;
  what.op = 7;
  Status status = apart.publishOnce(what, nullptr, nullptr);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("do not share memory"), std::string::npos)
      << status.message();
}

} // namespace

} // namespace dist::cts
