//===- parameter_server_returns_test.cpp - Workers that come back ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/parameter_server_fixture.h"
#include <algorithm>

namespace dist::ps {
namespace {

bool hasNote(const Cluster &cluster, const std::string &text) {
  return std::any_of(cluster.notes.begin(), cluster.notes.end(),
                     [&](const std::string &note) {
                       return note.find(text) != std::string::npos;
                     });
}

/// Worker 0 has begun the first of so many closures, and is lost; lost ones may
/// come back.
void beginAndLoseWorker(Cluster &cluster, int64_t closures) {
  cluster.takeBack();
  for (int server = 0; server < cluster.cast().servers; ++server)
    cluster.startServer(server);
  cluster.schedule(0, closures);
  cluster.move();
  cluster.take(cluster.cast().worker(0));
  cluster.kill(cluster.cast().worker(0));
  cluster.listenUntil([&] { return hasNote(cluster, "worker 0 is lost"); });
}

TEST(ParameterServerReturns, ALostWorkerRunsClosuresAgain) {
  Cluster cluster(2, 2);
  beginAndLoseWorker(cluster, 6);
  cluster.returning = {{0, "once", "somewhere"}};
  cluster.listenUntil([&] { return cluster.ranks.count("once") > 0; });
  EXPECT_EQ(cluster.ranks["once"], 5);
  EXPECT_FALSE(hasNote(cluster, "is back"));
  cluster.startReturned(5, 0);
  cluster.listenUntil([&] { return hasNote(cluster, "is back"); });
  EXPECT_TRUE(
      hasNote(cluster, "worker 0 is back: the run goes on with 2 workers"));
  // Worker 1 has one that it never ends, and is lost, too: all are worker 0's.
  cluster.take(cluster.cast().worker(1));
  cluster.kill(cluster.cast().worker(1));
  std::vector<int64_t> done;
  while (!cluster.coordinator->isDone()) {
    Completion one = cluster.next();
    EXPECT_EQ(one.worker, 0);
    done.push_back(one.closure);
  }
  std::sort(done.begin(), done.end());
  EXPECT_EQ(done, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_TRUE(cluster.results[5].ok()) << cluster.results[5].message();
  for (CountingShard &shard : cluster.shards)
    EXPECT_EQ(shard.numbers.number[1], 6);
}

/// The only worker, within the first of three closures.
void loseOnlyWorker(Cluster &cluster) {
  cluster.startServer(0);
  cluster.schedule(0, 3);
  cluster.move();
  cluster.take(cluster.cast().worker(0));
  cluster.kill(cluster.cast().worker(0));
  cluster.listenUntil(
      [&] { return hasNote(cluster, "the run waits for a worker"); });
}

TEST(ParameterServerReturns, NoneIsWaitedForThatIsNotStartedAgain) {
  bool noneReturns = false;
  Cluster cluster(1, 1);
  cluster.waitForReturns([&] { return noneReturns; });
  loseOnlyWorker(cluster);
  noneReturns = true;
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("the last one, worker 0, is lost: "),
            std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find(", and none is started again"),
            std::string::npos)
      << status.message();
}

/// To end in order it would have to run what worker 0 had begun: the next one
/// is done.
TEST(ParameterServerReturns, WhoIsToldToEndWaitsForNobody) {
  Cluster cluster(2, 1);
  cluster.waitForReturns();
  cluster.startServer(0);
  cluster.schedule(0, 2);
  cluster.move();
  Letter letter = cluster.take(cluster.cast().worker(1));
  EXPECT_EQ(letter.closure, 1);
  letter.kind = Kind::Report;
  letter.bytes = pack(ReportBody());
  cluster.mails[cluster.cast().worker(1)]->send(Cast::coordinator,
                                                std::move(letter));
  EXPECT_EQ(cluster.next().closure, 1);
  for (int worker : {0, 1})
    cluster.kill(cluster.cast().worker(worker));
  cluster.listenUntil(
      [&] { return hasNote(cluster, "the run waits for a worker"); });
  cluster.coordinator->cancel();
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_NE(status.message().find(", and the run ends before one could come "
                                  "back"),
            std::string::npos)
      << status.message();
}

TEST(ParameterServerReturns, TheRankBeforeIsFencedForGood) {
  Cluster cluster(2, 1);
  cluster.takeBack();
  cluster.startServer(0);
  cluster.schedule(0, 3);
  cluster.move();
  // It is frozen: the server does not know, and its end stays open.
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).closure, 0);
  cluster.mails[0]->setWatch([&] {
    return std::vector<std::pair<int, std::string>>{
        {cluster.cast().worker(0), "it is stopped"}};
  });
  cluster.returning = {{0, "once", ""}};
  cluster.listenUntil([&] { return cluster.ranks.count("once") > 0; });
  // It wakes up. What it sends is before the work of who has its place.
  cluster.push(0, 0, 0);
  cluster.startReturned(cluster.ranks["once"], 0);
  cluster.startWorker(1);
  cluster.finish();
  cluster.coordinator->end(Status());
  cluster.join();
  std::vector<int64_t> applied = cluster.shards[0].order;
  std::sort(applied.begin(), applied.end());
  EXPECT_EQ(applied, (std::vector<int64_t>{0, 1, 2}));
  Letter none;
  EXPECT_NE(cluster.mails[cluster.cast().worker(0)]->wait(
                Transport::Clock::now() + std::chrono::milliseconds(1), &none),
            Mail::Event::Letter);
}

TEST(ParameterServerReturns, WhoIsThereGivesItsPlaceToNobody) {
  Cluster cluster(1, 1);
  cluster.takeBack();
  cluster.startAll();
  cluster.returning = {{0, "another", ""}, {7, "no worker", ""}};
  cluster.schedule(0, 40);
  EXPECT_EQ(cluster.finish().size(), 40u);
  for (auto end = Transport::Clock::now() + 3 * kLook;
       Transport::Clock::now() < end;)
    cluster.move();
  EXPECT_TRUE(cluster.ranks.empty());
  EXPECT_TRUE(cluster.released.empty());
}

/// One of them was started twice, which is no matter of the other's.
TEST(ParameterServerReturns, WhoWaitsInVainKeepsNobodyWaiting) {
  Cluster cluster(2, 1);
  beginAndLoseWorker(cluster, 4);
  cluster.returning = {{1, "another", ""}, {0, "once", ""}};
  cluster.listenUntil([&] { return cluster.ranks.count("once") > 0; });
  EXPECT_EQ(cluster.ranks.size(), 1u);
  cluster.startReturned(4, 0);
  cluster.startWorker(1);
  EXPECT_EQ(cluster.finish().size(), 4u);
}

TEST(ParameterServerReturns, OneThatNeverComesIsReplacedByTheNext) {
  Cluster cluster(2, 1);
  beginAndLoseWorker(cluster, 4);
  cluster.returning = {{0, "first", ""}};
  cluster.listenUntil([&] { return cluster.ranks.count("first") > 0; });
  cluster.returning.push_back({0, "second", ""});
  cluster.listenUntil([&] { return cluster.ranks.count("second") > 0; });
  EXPECT_TRUE(hasNote(cluster,
                      "worker 0 has not come back: another process has "
                      "come in its place"));
  EXPECT_EQ(cluster.ranks["first"], 4);
  EXPECT_EQ(cluster.ranks["second"], 5);
  cluster.startReturned(5, 0);
  cluster.startWorker(1);
  EXPECT_EQ(cluster.finish().size(), 4u);
  // Each of them was taken once, and the one that is there keeps its place.
  EXPECT_EQ(cluster.released, std::vector<std::string>{"first"});
  EXPECT_EQ(cluster.ranks.size(), 2u);
}

TEST(ParameterServerReturns, WhoCannotBeReachedIsNotAdmitted) {
  Cluster cluster(2, 1);
  beginAndLoseWorker(cluster, 4);
  cluster.returning = {{0, "1", ""}, {0, "2", ""}, {0, "3", ""}};
  // There is no room for a third one.
  cluster.listenUntil([&] { return hasNote(cluster, "cannot come back"); });
  EXPECT_EQ(cluster.ranks.size(), 2u);
  EXPECT_EQ(cluster.released, (std::vector<std::string>{"1", "2", "3"}));
  cluster.startWorker(1);
  EXPECT_EQ(cluster.finish().size(), 4u);
}

/// Only the coordinator says who is admitted, and only the next rank.
TEST(ParameterServerReturns, ServersRefuseWhatIsNoAdmission) {
  for (int from : {0, 1}) {
    Cluster cluster(1, 1);
    cluster.startServer(0);
    Letter letter;
    letter.kind = Kind::Admit;
    letter.bytes = pack(AdmitBody{0, 0, 1, from == 0 ? 17 : 3});
    Mail &mail = *cluster.mails[from];
    mail.send(cluster.cast().server(0), std::move(letter));
    if (from == 0) {
      // For want of a coordinator.
      cluster.join();
      EXPECT_NE(cluster.results[2].message().find("chief 0 is lost"),
                std::string::npos);
      continue;
    }
    cluster.schedule(0, 1);
    cluster.startWorker(0);
    std::optional<Completion> none;
    Status status = cluster.coordinator->next(
        Transport::Clock::now() + std::chrono::milliseconds(100), &none);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_FALSE(none.has_value());
    EXPECT_TRUE(cluster.shards[0].order.empty());
  }
}

} // namespace
} // namespace dist::ps
