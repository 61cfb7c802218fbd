//===- link_times_test.cpp - What collectives take over links -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/schedule/links.h"
#include "runtime/formats/file.h"
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

namespace dist {
namespace {

using Kind = CollectiveKind;
using message::Sending;

/// Pairs of ranks, and four of them.
LinkTable readLinks(const std::string &more = "") {
  char path[] = "/tmp/link_times_XXXXXX";
  int descriptor = mkstemp(path);
  EXPECT_GE(descriptor, 0);
  close(descriptor);
  Status status = writeFile(path, R"({"version": 1, "cores": 2, "levels": [
    {"level": "pair", "ranks": 2, "bytes_per_second": 1e3,)" +
                                      more +
                                      R"(
     "latency_seconds": 1, "message_seconds": 0.5},
    {"level": "all", "ranks": 4, "bytes_per_second": 1e2,
     "latency_seconds": 10, "message_seconds": 2}]})");
  EXPECT_TRUE(status.ok()) << status.message();
  LinkTable links;
  status = LinkTable::read(path, &links);
  EXPECT_TRUE(status.ok()) << status.message();
  unlink(path);
  return links;
}

/// A dense one of so many bytes.
struct Dense {
  Dense(Kind kind, int64_t bytes, Algorithm algorithm = Algorithm::Auto) {
    piece.type = manifest::F32;
    piece.outer = piece.rows = 1;
    piece.bytes = bytes;
    call.kind = kind;
    call.algorithm = algorithm;
    call.pieces = {&piece, 1};
  }
  Dense(const Dense &) = delete;
  Dense &operator=(const Dense &) = delete;
  Piece piece{};
  Collective call;
};

/// The seconds of 512 bytes, which are cut into 2 or 4 parts of equal size.
struct LinkTimes : testing::Test {
  const LinkTable links = readLinks();

  double of(Kind kind, const std::vector<std::vector<int64_t>> &groups,
            Algorithm algorithm = Algorithm::Auto) {
    return links.getSeconds(Dense(kind, 512, algorithm).call, groups);
  }
  double sum(Algorithm algorithm, const std::vector<int64_t> &group) {
    return of(Kind::AllReduce, {group}, algorithm);
  }
  const std::vector<int64_t> two{0, 1}, three{0, 1, 2}, four{0, 1, 2, 3};
  // A message of all bytes, of a half and of a quarter, until it has left: in a
  // pair, where it is there 1 s later, and to the other pair, 10 s.
  const double near = 0.5 + 0.512, nearHalf = 0.5 + 0.256,
               nearQuarter = 0.5 + 0.128, far = 2 + 5.12, farHalf = 2 + 2.56,
               farQuarter = 2 + 1.28;
};

TEST_F(LinkTimes, LevelsAreByRank) {
  EXPECT_EQ(links.cores(), 2);
  EXPECT_EQ(links.ranks(), 4);
  EXPECT_EQ(links.levelBetween(0, 1), 0U);
  EXPECT_EQ(links.levelBetween(1, 2), 1U);
  EXPECT_EQ(links.levelBetween(2, 3), 0U);
}

TEST_F(LinkTimes, TheSlowestGroupCounts) {
  EXPECT_NEAR(of(Kind::AllGather, {{0, 1}, {2, 3}}), near + 1, 1e-9);
  EXPECT_NEAR(of(Kind::AllGather, {{0, 1}, {1, 2}}), far + 10, 1e-9);
  EXPECT_NEAR(of(Kind::AllGather, {{0}}), 0, 1e-9);
}

// What two send each other at once takes no longer than what one sends.
TEST_F(LinkTimes, OfTwoRanks) {
  EXPECT_NEAR(sum(Algorithm::Exchange, two), near + 1, 1e-9);
  EXPECT_NEAR(sum(Algorithm::Gather, two), near + 1, 1e-9);
  for (Algorithm inHalves :
       {Algorithm::Parts, Algorithm::Ring, Algorithm::HalvingDoubling})
    EXPECT_NEAR(sum(inHalves, two), 2 * (nearHalf + 1), 1e-9) << name(inHalves);
  // The result leaves when the addends are there.
  EXPECT_NEAR(sum(Algorithm::ReduceToOne, two), 2 * (near + 1), 1e-9);
  EXPECT_NEAR(of(Kind::Broadcast, {two}), near + 1, 1e-9);
  EXPECT_NEAR(of(Kind::ReduceScatter, {two}), near + 1, 1e-9);
  EXPECT_NEAR(of(Kind::AllToAll, {two}), near + 1, 1e-9);
}

TEST_F(LinkTimes, WhatARankSendsToAllLeavesOneByOne) {
  double seconds = near + 2 * far + 10;
  for (Kind kind : {Kind::AllGather, Kind::AllToAll, Kind::ReduceScatter})
    EXPECT_NEAR(of(kind, {four}), seconds, 1e-9) << name(kind);
  EXPECT_NEAR(sum(Algorithm::Exchange, four), seconds, 1e-9);
  // Twice so for a part. Rank 1, which has its addends last, tells the other
  // pair first.
  EXPECT_NEAR(sum(Algorithm::Parts, four),
              (nearQuarter + 2 * farQuarter + 10) + 2 * farQuarter + 10, 1e-9);
}

// The far one is told first, and tells its neighbour.
TEST_F(LinkTimes, ABroadcastGoesOn) {
  EXPECT_NEAR(of(Kind::Broadcast, {four}), far + 10 + near + 1, 1e-9);
  // Of three the last one is told first.
  EXPECT_NEAR(of(Kind::Broadcast, {{0, 1, 2}}), far + 10, 1e-9);
  EXPECT_NEAR(of(Kind::Broadcast, {{0, 2, 1}}), near + far + 10, 1e-9);
}

// Addends of the other pair come one behind the other, and then two are told
// before the last one is.
TEST_F(LinkTimes, ReduceToOneIsASumAndThenABroadcast) {
  double summed = std::max(far + 10, 1 + near + 2 * far);
  EXPECT_NEAR(sum(Algorithm::ReduceToOne, four), summed + far + 10 + near + 1,
              1e-9);
}

// A round leaves when the one before has come; the second one is of twice as
// many bytes, to the other pair.
TEST_F(LinkTimes, GatherIsRoundByRound) {
  EXPECT_NEAR(sum(Algorithm::Gather, four), far + 10 + (2 + 10.24) + 10, 1e-9);
}

TEST_F(LinkTimes, HalvingAndDoublingIsRoundByRound) {
  EXPECT_NEAR(sum(Algorithm::HalvingDoubling, four),
              2 * (nearHalf + 1 + farQuarter + 10), 1e-9);
  // Rank 1 gives rank 0 all, which is late for its round with rank 2, and so
  // is that one back; at last rank 1 gets the result.
  EXPECT_NEAR(sum(Algorithm::HalvingDoubling, three),
              2 * (near + 1) + 2 * (farHalf + 10), 1e-9);
}

// Six rounds, each of which goes to the next rank when the one before has come
// from the other side. So a part passes a far way in every other round.
TEST_F(LinkTimes, ARingIsRoundByRound) {
  double nearRound = nearQuarter + 1, farRound = farQuarter + 10;
  EXPECT_NEAR(sum(Algorithm::Ring, four),
              3 * (nearRound + farRound) + farQuarter - nearRound, 1e-9);
}

TEST_F(LinkTimes, OneMessageOfAPermute) {
  Dense permute(Kind::Permute, 512);
  const int64_t sources[] = {1, -1, 0, 3};
  permute.call.sources = {sources, 4};
  EXPECT_NEAR(links.getSeconds(permute.call, {four}), far + 10, 1e-9);
}

// Both halves pass at once at the rate of both; what one rank alone sends
// passes at the other one.
TEST(LinkTimesOfOneWay, AreThoseOfWhatIsAlone) {
  const LinkTable links = readLinks(R"("one_way_bytes_per_second": 2e3,)");
  auto seconds = [&](Kind kind, Algorithm algorithm) {
    return links.getSeconds(Dense(kind, 512, algorithm).call, {{0, 1}});
  };
  EXPECT_NEAR(seconds(Kind::AllReduce, Algorithm::Exchange), 1.5 + 0.512, 1e-9);
  EXPECT_NEAR(seconds(Kind::AllReduce, Algorithm::Parts), 2 * (1.5 + 0.256),
              1e-9);
  EXPECT_NEAR(seconds(Kind::AllReduce, Algorithm::ReduceToOne),
              2 * (1.5 + 0.256), 1e-9);
  EXPECT_NEAR(seconds(Kind::Broadcast, Algorithm::Auto), 1.5 + 0.256, 1e-9);
}

int64_t countRounds(Kind kind, Algorithm algorithm, int size) {
  int64_t rounds = 0;
  message::visitSent(Dense(kind, 8, algorithm).call, size,
                     [&](const Sending &one) { rounds = one.round + 1; });
  return rounds;
}

TEST(Rounds, AreThoseThatWaitForEachOther) {
  auto ofSum = [](Algorithm algorithm, int size) {
    return countRounds(Kind::AllReduce, algorithm, size);
  };
  EXPECT_EQ(ofSum(Algorithm::Exchange, 9), 1);
  EXPECT_EQ(ofSum(Algorithm::Gather, 9), 4);
  EXPECT_EQ(ofSum(Algorithm::Parts, 9), 2);
  EXPECT_EQ(ofSum(Algorithm::Ring, 9), 16);
  EXPECT_EQ(ofSum(Algorithm::HalvingDoubling, 2), 2);
  EXPECT_EQ(ofSum(Algorithm::HalvingDoubling, 8), 6);
  EXPECT_EQ(ofSum(Algorithm::HalvingDoubling, 9), 8);
  EXPECT_EQ(ofSum(Algorithm::Auto, 1), 0);
  // Of 0..8 those with three bits, 7, hear it last.
  EXPECT_EQ(countRounds(Kind::Broadcast, Algorithm::Auto, 9), 3);
  EXPECT_EQ(ofSum(Algorithm::ReduceToOne, 9), 4);
}

/// By each algorithm every rank hears of every other one's addend, by what it
/// sends when it has heard: none sends what it cannot know yet.
TEST(Rounds, BringAllAddendsToAll) {
  for (const AlgorithmFacts &one : allAlgorithms)
    for (int size : {2, 3, 4, 5, 8, 9, 12}) {
      SCOPED_TRACE(one.name + std::string(" of ") + std::to_string(size));
      std::vector<uint32_t> knows(size), hears(size);
      for (int rank = 0; rank < size; ++rank)
        knows[rank] = hears[rank] = 1u << rank;
      int64_t round = 0;
      Dense sum(Kind::AllReduce, 100000, one.algorithm);
      message::visitSent(sum.call, size, [&](const Sending &sending) {
        ASSERT_NE(sending.from, sending.to);
        ASSERT_GE(sending.round, round) << "rounds come in order";
        if (sending.round > round)
          knows = hears;
        round = sending.round;
        hears[sending.to] |= knows[sending.from];
      });
      for (uint32_t heard : hears)
        EXPECT_EQ(heard, (1u << size) - 1);
    }
}

/// What is sent arrives, and is what is counted.
TEST(Sent, GoesToSomebody) {
  constexpr int size = 5;
  for (const AlgorithmFacts &one : allAlgorithms) {
    Dense sum(Kind::AllReduce, 100000, one.algorithm);
    std::vector<int64_t> taken(size), sent(size);
    message::visitSent(sum.call, size, [&](const Sending &sending) {
      sent[sending.from] += sending.traffic.bytes;
      taken[sending.to] += sending.traffic.bytes;
    });
    std::vector<Traffic> counted = message::countSent(sum.call, size);
    int64_t difference = 0;
    for (int i = 0; i < size; ++i) {
      EXPECT_EQ(sent[i], counted[i].bytes);
      EXPECT_GT(taken[i], 0) << one.name;
      difference += taken[i] - sent[i];
    }
    EXPECT_EQ(difference, 0);
  }
}

} // namespace
} // namespace dist
