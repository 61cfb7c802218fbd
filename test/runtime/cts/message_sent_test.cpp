//===- message_sent_test.cpp - What is counted before, and when sent ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "gtest/gtest.h"
#include <thread>

namespace dist {
namespace {

using Kind = CollectiveKind;

/// A collective over all ranks, with memory for what any rank has of it.
struct Case {
  Case(Kind kind, std::vector<int64_t> counts,
       Algorithm algorithm = Algorithm::Auto)
      : kind(kind), counts(std::move(counts)), algorithm(algorithm) {}

  Kind kind;
  std::vector<int64_t> counts; // floats of each piece that one rank gives one
  Algorithm algorithm;

  int64_t axis = 0;
  std::vector<int64_t> sources;
  std::vector<Piece> pieces;

  Collective make(int ranks) {
    pieces.clear();
    for (int64_t count : counts) {
      Piece piece{};
      piece.type = manifest::F32;
      piece.outer = piece.rows = 1;
      piece.bytes = count * int64_t(sizeof(float));
      if (kind == Kind::ReduceScatter || kind == Kind::AllToAll)
        piece.from_place = piece.bytes;
      if (kind == Kind::AllGather || kind == Kind::AllToAll)
        piece.to_place = piece.bytes;
      pieces.push_back(piece);
    }
    sources.clear();
    for (int rank = 0; kind == Kind::Permute && rank < ranks; ++rank)
      sources.push_back(rank == 0 ? 0 : rank == 1 ? -1 : rank - 1);
    Collective call;
    call.kind = kind;
    call.algorithm = algorithm;
    call.peer = kind == Kind::Broadcast ? ranks - 1 : 0;
    call.axes = {&axis, 1};
    call.sources = {sources.data(), int64_t(sources.size())};
    call.pieces = {pieces.data(), int64_t(pieces.size())};
    return call;
  }
};

/// What each rank counts when it has sent.
std::vector<Traffic> sendAll(const Collective &call, int ranks) {
  MessageOptions options;
  options.mesh = {ranks};
  options.spinMicroseconds = 0;
  std::unique_ptr<MessageWorld> world;
  Status status =
      MessageWorld::create(options, makeMemoryTransports(ranks), &world);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<std::vector<float>> from, to;
      std::vector<void *> sources, targets;
      for (const Piece &piece : call.pieces) {
        from.emplace_back(bytesFrom(piece, ranks) / sizeof(float) + 1);
        to.emplace_back(bytesTo(piece, ranks) / sizeof(float) + 1);
        sources.push_back(from.back().data());
        targets.push_back(to.back().data());
      }
      statuses[rank] =
          world->rank(rank).runOnce(call, sources.data(), targets.data());
    });
  for (std::thread &thread : threads)
    thread.join();
  std::vector<Traffic> sent;
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_TRUE(statuses[rank].ok()) << statuses[rank].message();
    sent.push_back(world->traffic(rank));
  }
  return sent;
}

void expectCounted(Case one) {
  for (int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    Collective call = one.make(ranks);
    std::vector<Traffic> counted = message::countSent(call, ranks),
                         sent = sendAll(call, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(counted[rank].messages, sent[rank].messages)
          << name(one.kind) << " rank " << rank << " of " << ranks << ", "
          << name(one.algorithm);
      EXPECT_EQ(counted[rank].bytes, sent[rank].bytes)
          << name(one.kind) << " rank " << rank << " of " << ranks << ", "
          << name(one.algorithm);
    }
  }
}

// By default, by the bytes: at once, in rounds, in parts.
TEST(MessageSent, IsWhatAllReducesSend) {
  for (const AlgorithmFacts &algorithm : allAlgorithms)
    for (const std::vector<int64_t> &counts :
         {std::vector<int64_t>{1}, {3, 1, 200}, {70001, 7, 1}, {0}, {5, 0, 3}})
      expectCounted({Kind::AllReduce, counts, algorithm.algorithm});
}

TEST(MessageSent, IsWhatAllReducesOfManySlicesSend) {
  for (Algorithm algorithm :
       {Algorithm::Auto, Algorithm::Ring, Algorithm::HalvingDoubling})
    expectCounted({Kind::AllReduce, {700000, 7, 1, 100001}, algorithm});
}

TEST(MessageSent, IsWhatOthersSend) {
  for (Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllToAll,
                    Kind::Permute, Kind::Broadcast})
    for (const std::vector<int64_t> &counts :
         {std::vector<int64_t>{1}, {40000, 7, 1}, {0}})
      expectCounted({kind, counts});
  expectCounted({Kind::Barrier, {}});
}

// A send leaves as one run, of which the receiver sends nothing.
TEST(MessageSent, IsWhatOneSends) {
  for (int64_t count : {0, 1, 300000}) {
    Case one{Kind::Send, {count, 5}};
    Collective send = one.make(2), receive = send;
    send.peer = 1;
    receive.kind = Kind::Recv;
    MessageOptions options;
    options.mesh = {2};
    options.spinMicroseconds = 0;
    std::unique_ptr<MessageWorld> world;
    ASSERT_TRUE(
        MessageWorld::create(options, makeMemoryTransports(2), &world).ok());
    std::vector<float> large(count + 1), small(5);
    void *buffers[] = {large.data(), small.data()};
    ASSERT_TRUE(world->rank(0).runOnce(send, buffers, buffers).ok());
    ASSERT_TRUE(world->rank(1).runOnce(receive, buffers, buffers).ok());
    Traffic counted = message::countSent(send, 2)[0];
    EXPECT_EQ(counted.messages, world->traffic(0).messages);
    EXPECT_EQ(counted.bytes, world->traffic(0).bytes);
    EXPECT_EQ(message::countSent(receive, 2)[1].messages, 0);
    EXPECT_EQ(world->traffic(1).messages, 0);
  }
}

} // namespace
} // namespace dist
