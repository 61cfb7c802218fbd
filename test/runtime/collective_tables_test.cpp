//===- collective_tables_test.cpp - Times between those of a table --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/schedule/links.h"
#include "runtime/comm/schedule/times.h"
#include "runtime/formats/file.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <unistd.h>

namespace dist {
namespace {

using Kind = CollectiveKind;

constexpr LinkClass process = LinkClass::Process;

TimedCall ask(int64_t ranks, int64_t bytes,
              Algorithm algorithm = Algorithm::Parts) {
  return {Kind::AllReduce, algorithm, process, ranks, bytes};
}

CollectiveTable makeTable() {
  CollectiveTable table;
  table.add({Kind::AllReduce, Algorithm::Parts, process, 2, 100, 1});
  table.add({Kind::AllReduce, Algorithm::Parts, process, 2, 200, 3});
  table.add({Kind::AllReduce, Algorithm::Parts, process, 4, 100, 5});
  table.add({Kind::AllReduce, Algorithm::Exchange, process, 2, 100, 0.5});
  table.add({Kind::AllReduce, Algorithm::Ring, process, 2, 100, 0.1});
  table.add({Kind::AllReduce, Algorithm::Ring, process, 2, 200, 0.1});
  table.add(
      {Kind::AllReduce, Algorithm::HalvingDoubling, process, 2, 200, 0.1});
  return table;
}

TEST(CollectiveTable, FindsBetweenRows) {
  CollectiveTable table = makeTable();
  EXPECT_EQ(table.find(ask(2, 100)), 1);
  EXPECT_EQ(table.find(ask(2, 150)), 2);
  // What is smaller waits as long; what is larger moves as fast.
  EXPECT_EQ(table.find(ask(2, 8)), 1);
  EXPECT_EQ(table.find(ask(2, 400)), 6);
  EXPECT_EQ(table.find(ask(3, 100)), 3);
  EXPECT_EQ(table.find(ask(4, 200)), 10);
}

TEST(CollectiveTable, FindsNothingBeyondThem) {
  CollectiveTable table = makeTable();
  EXPECT_FALSE(table.find(ask(5, 100)));
  EXPECT_FALSE(table.find(ask(3, 100, Algorithm::Exchange)));
  TimedCall network = ask(2, 100);
  network.link = LinkClass::Network;
  EXPECT_FALSE(table.find(network));
  EXPECT_EQ(table.describeMissing(ask(5, 100)),
            "all_reduce by parts of 5 ranks over process; of that collective "
            "and link it has those of 2, 4 ranks");
}

TEST(CollectiveTable, ChoosesByTimeAndOrderOfSums) {
  CollectiveTable table = makeTable();
  EXPECT_EQ(table.chooseAllReduce(ask(2, 100)), Algorithm::Exchange);
  // Larger than an exchange was measured for; what is faster has other bits.
  EXPECT_EQ(table.chooseAllReduce(ask(2, 101)), Algorithm::Parts);
  EXPECT_EQ(table.chooseAllReduce(ask(9, 100)), Algorithm::Auto);
}

/// A file that is gone with the object.
struct File {
  explicit File(const std::string &text) {
    int descriptor = mkstemp(path);
    EXPECT_GE(descriptor, 0);
    close(descriptor);
    Status status = writeFile(path, text);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~File() { unlink(path); }
  char path[32] = "/tmp/collective_tables_XXXXXX";
};

TEST(CollectiveTable, ReadsWhatIsWritten) {
  File file("");
  CollectiveTimes times = {
      {Kind::AllReduce, Algorithm::Parts, process, 2, 8, 1e-6},
      {Kind::Permute, Algorithm::Auto, LinkClass::Network, 8, 16, 2e-6}};
  Status status = writeCollectiveTimes(file.path, times);
  ASSERT_TRUE(status.ok()) << status.message();
  CollectiveTable table;
  status = CollectiveTable::read(file.path, &table);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(table.find(ask(2, 8)), 1e-6);
  EXPECT_EQ(
      table.find({Kind::Permute, Algorithm::Auto, LinkClass::Network, 8, 16}),
      2e-6);
}

TEST(CollectiveTable, HasNoFieldsBeyondThoseOfATime) {
  File file(R"({"version": 1, "collectives": [
    {"collective": "permute", "algorithm": "auto", "link": "network",
     "ranks": 8, "bytes": 16, "second": 2e-6}]})");
  CollectiveTable table;
  const std::string message =
      CollectiveTable::read(file.path, &table).message();
  EXPECT_NE(message.find("line 3): there is no 'second'; did you mean "
                         "'seconds'?"),
            std::string::npos)
      << message;
}

/// Pairs of ranks, and four of them.
LinkTable readLinks() {
  File file(R"({"version": 1, "cores": 2, "levels": [
    {"level": "pair", "ranks": 2, "bytes_per_second": 1e3,
     "latency_seconds": 1, "message_seconds": 0.5},
    {"level": "all", "ranks": 4, "bytes_per_second": 1e2,
     "latency_seconds": 10, "message_seconds": 2}]})");
  LinkTable links;
  Status status = LinkTable::read(file.path, &links);
  EXPECT_TRUE(status.ok()) << status.message();
  return links;
}

/// A dense sum of so many bytes.
struct Sum {
  Sum(int64_t bytes, Algorithm algorithm) {
    piece.type = manifest::F32;
    piece.outer = piece.rows = 1;
    piece.bytes = bytes;
    call.kind = Kind::AllReduce;
    call.algorithm = algorithm;
    call.pieces = {&piece, 1};
  }
  Piece piece{};
  Collective call;
};

TEST(LinkTable, HasLevelsByRank) {
  LinkTable links = readLinks();
  EXPECT_EQ(links.cores(), 2);
  EXPECT_EQ(links.ranks(), 4);
  EXPECT_EQ(links.levelBetween(0, 1), 0U);
  EXPECT_EQ(links.levelBetween(1, 2), 1U);
  EXPECT_EQ(links.levelBetween(2, 3), 0U);
}

TEST(LinkTable, AddsUpWhatARankSendsAndTakes) {
  LinkTable links = readLinks();
  Sum exchange(800, Algorithm::Exchange);
  // Within a pair: a message, its bytes and the way.
  EXPECT_NEAR(links.getSeconds(exchange.call, {{0, 1}, {2, 3}}), 0.5 + 0.8 + 1,
              1e-9);
  // The slowest group counts; of all four, two messages go to the other pair.
  EXPECT_NEAR(links.getSeconds(exchange.call, {{0, 1}, {1, 2}}), 2 + 8 + 10,
              1e-9);
  EXPECT_NEAR(links.getSeconds(exchange.call, {{0, 1, 2, 3}}),
              1.3 + 2 * (2 + 8) + 10, 1e-9);
  // Who sums for all takes as much as three send, and then tells two at once
  // and, a round later, one of them.
  Sum toOne(800, Algorithm::ReduceToOne);
  EXPECT_NEAR(links.getSeconds(toOne.call, {{0, 1, 2, 3}}),
              1.3 + 2 * (2 + 8) + 3 * 10, 1e-9);
}

TEST(Rounds, AreThoseThatWaitForEachOther) {
  EXPECT_EQ(message::countRounds(Sum(8, Algorithm::Exchange).call, 9), 1);
  EXPECT_EQ(message::countRounds(Sum(8, Algorithm::Gather).call, 9), 4);
  EXPECT_EQ(message::countRounds(Sum(8, Algorithm::Parts).call, 9), 2);
  EXPECT_EQ(message::countRounds(Sum(8, Algorithm::Ring).call, 9), 16);
  EXPECT_EQ(message::countRounds(Sum(8, Algorithm::ReduceToOne).call, 9), 5);
  Sum halves(8, Algorithm::HalvingDoubling);
  EXPECT_EQ(message::countRounds(halves.call, 2), 2);
  EXPECT_EQ(message::countRounds(halves.call, 8), 6);
  EXPECT_EQ(message::countRounds(halves.call, 9), 8);
  EXPECT_EQ(message::countRounds(Sum(8, Algorithm::Auto).call, 1), 0);
}

/// By each algorithm every rank hears, and what is sent arrives.
TEST(Sent, GoesToSomebody) {
  constexpr int size = 5;
  for (const AlgorithmFacts &one : allAlgorithms) {
    Sum sum(100000, one.algorithm);
    std::vector<int64_t> taken(size), sent(size);
    message::visitSent(sum.call, size,
                       [&](int from, int to, const Traffic &traffic) {
                         EXPECT_NE(from, to);
                         sent[from] += traffic.bytes;
                         taken[to] += traffic.bytes;
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
