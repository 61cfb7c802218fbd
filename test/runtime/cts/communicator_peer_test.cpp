//===- communicator_peer_test.cpp - Send, recv, and what goes wrong -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/communicator_test.h"
#include <numeric>
#include <thread>

namespace dist::cts {

namespace {

using Kind = CollectiveKind;

class PeerTest : public CommunicatorTest {
protected:
  std::unique_ptr<World> world;

  /// A call of one dense piece on a rank.
  Status call(int rank, Kind kind, int64_t peer, int64_t tag, void *data,
              int64_t bytes, std::vector<int64_t> axes = {0},
              std::vector<int64_t> sources = {}) {
    Piece piece{};
    piece.type = manifest::I32;
    piece.outer = piece.rows = 1;
    piece.bytes = bytes;
    Collective what;
    what.kind = kind;
    what.op = 20 + rank; // the two ends are different ops
    what.peer = peer;
    what.tag = tag;
    what.axes = {axes.data(), int64_t(axes.size())};
    what.sources = {sources.data(), int64_t(sources.size())};
    what.pieces = {&piece, 1};
    return world->rank(rank).runOnce(what, &data, &data);
  }
  void expectOk(const Status &status) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
};

// Both send first; tags may be taken in another order than they were sent in,
// equal tags in the same.
TEST_P(PeerTest, SendsDoNotWait) {
  world = GetParam().create({2}, 20);
  for (int64_t count : {1, 5000}) {
    auto body = [&](int rank) {
      std::vector<int32_t> first(count), second(count), third(count);
      std::iota(first.begin(), first.end(), 100 * rank);
      std::iota(second.begin(), second.end(), 100 * rank + 7);
      for (auto *data : {&first, &second})
        expectOk(call(rank, Kind::Send, 1 - rank, 5, data->data(), 4 * count));
      std::fill(third.begin(), third.end(), rank);
      expectOk(call(rank, Kind::Send, 1 - rank, 6, third.data(), 4 * count));
      // A buffer is free once it is sent.
      for (auto *data : {&first, &second, &third})
        std::fill(data->begin(), data->end(), -1);
      expectOk(call(rank, Kind::Recv, 1 - rank, 6, third.data(), 4 * count));
      expectOk(call(rank, Kind::Recv, 1 - rank, 5, first.data(), 4 * count));
      expectOk(call(rank, Kind::Recv, 1 - rank, 5, second.data(), 4 * count));
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(first[i], 100 * (1 - rank) + i);
        ASSERT_EQ(second[i], 100 * (1 - rank) + 7 + i);
        ASSERT_EQ(third[i], 1 - rank);
      }
    };
    std::thread other(body, 1);
    body(0);
    other.join();
  }
}

// Along one axis of a mesh the peer has the other coordinates of the sender.
TEST_P(PeerTest, PeersAreInTheGroup) {
  world = GetParam().create({2, 3}, 20);
  onRanks(6, [&](int rank) {
    int32_t value = rank;
    if (rank < 3)
      expectOk(call(rank, Kind::Send, 1, 0, &value, 4, {0}));
    else
      expectOk(call(rank, Kind::Recv, 0, 0, &value, 4, {0}));
    EXPECT_EQ(value, rank % 3);
  });
}

TEST_P(PeerTest, MissingSendsAreNamed) {
  world = GetParam().create({3}, 0.5);
  int32_t value = 0;
  Status status = call(0, Kind::Recv, 2, 9, &value, 4);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(
      status.message().find("rank 2 sent nothing with tag 9 within 0.5 s"),
      std::string::npos)
      << status.message();
  // The others hear of it.
  EXPECT_EQ(call(1, Kind::Recv, 0, 0, &value, 4).code(),
            StatusCode::Unavailable);
  world->reset();
  expectOk(call(1, Kind::Send, 0, 9, &value, 4));
  expectOk(call(0, Kind::Recv, 1, 9, &value, 4));
}

TEST_P(PeerTest, WrongMessagesAreRefused) {
  world = GetParam().create({2}, 20);
  int32_t value[2] = {};
  expectOk(call(0, Kind::Send, 1, 0, value, 8));
  Status status = call(1, Kind::Recv, 0, 0, value, 4);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("rank 0 sent 2 elements of op 20"),
            std::string::npos)
      << status.message();
  // What was left over does not outlive a reset.
  world->reset();
  expectOk(call(0, Kind::Send, 1, 0, value, 8));
  world->reset();
  value[0] = 42;
  expectOk(call(0, Kind::Send, 1, 0, value, 8));
  value[0] = 0;
  expectOk(call(1, Kind::Recv, 0, 0, value, 8));
  EXPECT_EQ(value[0], 42);
}

TEST_P(PeerTest, AbortEndsARecv) {
  world = GetParam().create({2}, 60);
  Status status;
  std::thread waiting([&] {
    int32_t value;
    status = call(0, Kind::Recv, 1, 0, &value, 4);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  world->rank(1).abort(0, "rank 1 met a label out of range");
  waiting.join();
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("label out of range"), std::string::npos);
}

// One that comes late, of a generation that is over, ends nothing; the next
// one's does.
TEST_P(PeerTest, AbortIsOfItsGeneration) {
  world = GetParam().create({2}, 60);
  int32_t value = 42;
  auto pass = [&] {
    Status status = call(0, Kind::Send, 1, 0, &value, 4);
    return status.ok() ? call(1, Kind::Recv, 0, 0, &value, 4) : status;
  };
  uint32_t before = world->rank(1).generation();
  world->rank(1).abort(before, "rank 1 was cancelled");
  EXPECT_FALSE(call(1, Kind::Recv, 0, 0, &value, 4).ok());
  world->reset();
  uint32_t now = world->rank(1).generation();
  EXPECT_NE(now, before);
  world->rank(1).abort(before, "too late");
  expectOk(pass());
  world->rank(1).abort(now, "rank 1 was cancelled again");
  Status status = call(1, Kind::Recv, 0, 0, &value, 4);
  EXPECT_NE(status.message().find("cancelled again"), std::string::npos)
      << status.message();
}

// Ranks whose descriptions differ in anything are told so.
TEST_P(PeerTest, DifferentDescriptionsDoNotMeet) {
  world = GetParam().create({2, 2}, 20);
  std::vector<Status> status(4);
  onRanks(4, [&](int rank) {
    std::vector<int32_t> data(4);
    // The same group, but places in another order on one rank.
    std::vector<int64_t> axes =
        rank == 3 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 1};
    Piece piece{};
    piece.type = manifest::I32;
    piece.outer = piece.rows = 1;
    piece.bytes = 4;
    piece.to_place = 4;
    Collective what;
    what.kind = Kind::AllGather;
    what.axes = {axes.data(), 2};
    what.pieces = {&piece, 1};
    int32_t own = rank;
    void *from = &own, *to = data.data();
    status[rank] = world->rank(rank).runOnce(what, &from, &to);
  });
  for (const Status &s : status)
    EXPECT_FALSE(s.ok());
}

TEST_P(PeerTest, WrongDescriptionsAreErrors) {
  world = GetParam().create({2, 2}, 1);
  int32_t value = 0;
  auto code = [&](Kind kind, int64_t peer, std::vector<int64_t> axes,
                  std::vector<int64_t> sources = {}) {
    return call(0, kind, peer, 0, &value, 4, axes, sources).code();
  };
  EXPECT_EQ(code(Kind::AllReduce, 0, {2}), StatusCode::Internal);
  EXPECT_EQ(code(Kind::AllReduce, 0, {-1}), StatusCode::Internal);
  EXPECT_EQ(code(Kind::AllReduce, 0, {1, 1}), StatusCode::Internal);
  EXPECT_EQ(code(Kind::Send, 2, {0}), StatusCode::InvalidArgument);
  EXPECT_EQ(code(Kind::Recv, -1, {0}), StatusCode::InvalidArgument);
  EXPECT_EQ(code(Kind::Permute, 0, {0}, {0}), StatusCode::InvalidArgument);
  EXPECT_EQ(code(Kind::Permute, 0, {0}, {0, 2}), StatusCode::InvalidArgument);
  EXPECT_EQ(code(Kind::Permute, 0, {0}, {0, -2}), StatusCode::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Backends, PeerTest, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
