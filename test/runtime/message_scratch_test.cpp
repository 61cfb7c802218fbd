//===- message_scratch_test.cpp - Memory of many ranks' messages ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is told of all ranks by some of them is what each one's communicator
// reserves.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "runtime/comm/message/positions.h"
#include "runtime/comm/message/scratch.h"
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace dist::message {
namespace {

using Kind = CollectiveKind;

/// Over some axes, of pieces of so many floats, each in `rows` blocks.
struct Call {
  Call(Kind kind, std::vector<int64_t> axes, const std::vector<int64_t> &counts,
       Algorithm algorithm = Algorithm::Auto, int64_t rows = 1)
      : axes(std::move(axes)) {
    for (int64_t count : counts) {
      Piece piece{};
      piece.type = manifest::F32;
      piece.outer = 1;
      piece.rows = rows;
      piece.bytes = count * 4;
      // Blocks of a row do not follow each other.
      piece.from_row = piece.to_row = rows > 1 ? 2 * piece.bytes : 0;
      if (kind == Kind::ReduceScatter || kind == Kind::AllToAll)
        piece.from_place = piece.bytes;
      if (kind == Kind::AllGather || kind == Kind::AllToAll)
        piece.to_place = piece.bytes;
      pieces.push_back(piece);
    }
    call.kind = kind;
    call.algorithm = algorithm;
    call.axes = {this->axes.data(), int64_t(this->axes.size())};
    call.pieces = {pieces.data(), int64_t(pieces.size())};
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  std::vector<int64_t> axes, sources;
  std::vector<Piece> pieces;
  Collective call;
};

struct MessageScratch : testing::Test {
  std::vector<std::unique_ptr<Call>> calls;

  template <typename... Args> Collective &add(Args... args) {
    calls.push_back(std::make_unique<Call>(std::move(args)...));
    return calls.back()->call;
  }
  /// By rank, of all calls together.
  static std::vector<int64_t> ask(const std::vector<int64_t> &mesh,
                                  const std::vector<const Collective *> &of) {
    MessageOptions options;
    options.mesh = mesh;
    MeshGroups groups;
    EXPECT_TRUE(MeshGroups::create(mesh, false, &groups).ok());
    std::vector<int> ranks(groups.ranks());
    std::iota(ranks.begin(), ranks.end(), 0);
    Scratch scratch(options, groups);
    for (const Collective *call : of) {
      Status status = scratch.add(*call, ranks);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    std::vector<int64_t> bytes;
    for (int rank : ranks)
      bytes.push_back(scratch.bytesOf(rank));
    return bytes;
  }
  static std::vector<int64_t>
  reserve(const std::vector<int64_t> &mesh,
          const std::vector<const Collective *> &of) {
    MessageOptions options;
    options.mesh = mesh;
    int ranks = 1;
    for (int64_t axis : mesh)
      ranks *= int(axis);
    std::unique_ptr<MessageWorld> world;
    Status status =
        MessageWorld::create(options, makeMemoryTransports(ranks), &world);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<int64_t> bytes(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::unique_ptr<CollectivePlan>> plans;
      std::set<const PlanMemory *> counted;
      for (const Collective *call : of) {
        status = world->rank(rank).prepare(*call, &plans.emplace_back());
        EXPECT_TRUE(status.ok()) << status.message();
      }
      for (const auto &plan : plans)
        if (plan->memory && plan->call.kind != Kind::Send &&
            counted.insert(plan->memory.get()).second)
          bytes[rank] += plan->memory->bytes();
    }
    return bytes;
  }
  /// One by one, and all of them.
  void expectSame(const std::vector<int64_t> &mesh) {
    std::vector<const Collective *> all;
    for (const auto &one : calls) {
      SCOPED_TRACE(std::string(name(one->call.kind)) + " by " +
                   name(one->call.algorithm));
      all.push_back(&one->call);
      EXPECT_EQ(ask(mesh, {all.back()}), reserve(mesh, {all.back()}));
    }
    EXPECT_EQ(ask(mesh, all), reserve(mesh, all));
  }
};

/// Of small pieces many share a part, or a slice; of large ones some parts have
/// an end of one.
const std::vector<std::vector<int64_t>> sizes = {
    {1}, {100003}, {1, 7, 130, 64, 2000, 5, 5, 90}, {300000, 7, 1, 100001, 33}};

TEST_F(MessageScratch, IsThatOfEveryRankOfAllReduces) {
  for (const AlgorithmFacts &one : allAlgorithms)
    for (const std::vector<int64_t> &counts : sizes)
      add(Kind::AllReduce, std::vector<int64_t>{0}, counts, one.algorithm);
  expectSame({96});
}

// Parts of 4 MB and more, each of several slices.
TEST_F(MessageScratch, IsThatOfEveryRankOfManySlices) {
  for (const AlgorithmFacts &one : allAlgorithms)
    add(Kind::AllReduce, std::vector<int64_t>{0},
        std::vector<int64_t>{9000000, 3, 1000003, 77, 400000}, one.algorithm);
  expectSame({13});
}

TEST_F(MessageScratch, IsThatOfEveryRankOfOthers) {
  for (Kind kind : {Kind::AllGather, Kind::AllToAll, Kind::ReduceScatter})
    for (int64_t rows : {1, 3})
      add(kind, std::vector<int64_t>{0}, std::vector<int64_t>{5, 40000, 1},
          Algorithm::Auto, rows);
  for (int64_t root : {0, 50})
    add(Kind::Broadcast, std::vector<int64_t>{0},
        std::vector<int64_t>{300000, 1}, Algorithm::Auto, int64_t(3))
        .peer = root;
  // Some tell several, some take nothing, and some have their own.
  Collective &permute =
      add(Kind::Permute, std::vector<int64_t>{0}, std::vector<int64_t>{70, 1},
          Algorithm::Auto, int64_t(2));
  std::vector<int64_t> &sources = calls.back()->sources;
  for (int64_t rank = 0; rank < 96; ++rank)
    sources.push_back(rank % 5 == 0 ? rank : rank % 5 == 1 ? -1 : rank / 7);
  permute.sources = {sources.data(), 96};
  for (Kind kind : {Kind::Send, Kind::Recv})
    add(kind, std::vector<int64_t>{0}, std::vector<int64_t>{70000, 3},
        Algorithm::Auto, int64_t(2))
        .peer = 3;
  expectSame({96});
}

// Groups over one axis, over both, and over both in the other order: a rank has
// memory for each.
TEST_F(MessageScratch, IsThatOfEveryRankOfAMesh) {
  for (const std::vector<int64_t> &axes :
       {std::vector<int64_t>{0}, {1}, {0, 1}, {1, 0}})
    for (Algorithm algorithm :
         {Algorithm::Parts, Algorithm::Ring, Algorithm::HalvingDoubling,
          Algorithm::ReduceToOne})
      add(Kind::AllReduce, axes, sizes.back(), algorithm);
  expectSame({16, 8});
}

// What is asked is not every rank.
TEST(Positions, OfManyRanksFewDiffer) {
  auto count = [](Algorithm algorithm, const std::vector<int64_t> &counts) {
    Call sum(Kind::AllReduce, {0}, counts, algorithm);
    Positions positions(sum.call, algorithm, 1024);
    std::set<Positions::Key> keys;
    for (int position = 0; position < 1024; ++position)
      keys.insert(positions.keyOf(position));
    return keys.size();
  };
  EXPECT_EQ(count(Algorithm::Exchange, {1000}), 1U);
  EXPECT_EQ(count(Algorithm::Gather, {1000}), 1U);
  EXPECT_EQ(count(Algorithm::Parts, {1 << 20}), 1U);
  // Of one line of the cache more, and with an end of a piece.
  EXPECT_EQ(count(Algorithm::Parts, {100000, 1, 1000000, 64}), 4U);
  EXPECT_EQ(count(Algorithm::Ring, {1 << 20}), 1U);
  // In a tree each of ten levels, and the root.
  EXPECT_EQ(count(Algorithm::ReduceToOne, {1000}), 11U);
}

} // namespace
} // namespace dist::message
