//===- parameter_server_losses_test.cpp - Who is lost, and frozen ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/parameter_server_fixture.h"
#include <algorithm>

namespace dist::ps {
namespace {

TEST(ParameterServer, LostServerIsNamed) {
  Cluster cluster(2, 2);
  cluster.startServer(0);
  cluster.startWorker(0);
  cluster.startWorker(1);
  cluster.schedule(0, 4);
  cluster.kill(cluster.cast().server(1));
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("ps 1 is lost"), std::string::npos)
      << status.message();
  cluster.coordinator->end(status);
  cluster.join();
  for (int worker : {0, 1})
    EXPECT_NE(cluster.results[cluster.cast().worker(worker)].message().find(
                  "ps 1 is lost"),
              std::string::npos);
}

/// A state that cannot be read is one that is not saved, and the run goes on
/// behind it: to its end.
TEST(ParameterServer, AServerThatIsLostAsAStateIsReadEndsTheRun) {
  Cluster cluster(2, 2);
  cluster.startServer(0);
  cluster.startWorker(0);
  cluster.startWorker(1);
  cluster.kill(cluster.cast().server(1));
  auto expectLost = [](const Status &status) {
    EXPECT_NE(status.message().find("ps 1 is lost"), std::string::npos)
        << status.message();
  };
  Buffer state;
  expectLost(cluster.coordinator->readState(1, &state));
  expectLost(cluster.coordinator->readState(0, &state));
  cluster.schedule(0, 4);
  std::optional<Completion> none;
  expectLost(cluster.tryNext(&none));
}

TEST(ParameterServer, TheLastWorkerThatIsLostAsAStateIsReadEndsTheRun) {
  Cluster cluster(1, 1); // whose server does not answer
  cluster.kill(cluster.cast().worker(0));
  Buffer state;
  Status status = cluster.coordinator->readState(0, &state);
  EXPECT_NE(status.message().find("no worker is left"), std::string::npos);
  cluster.schedule(0, 4);
  std::optional<Completion> none;
  EXPECT_EQ(cluster.tryNext(&none).message(), status.message());
}

TEST(ParameterServer, LostCoordinatorIsNamed) {
  Cluster cluster(1, 1);
  cluster.startAll();
  cluster.kill(Cast::coordinator);
  cluster.join();
  for (int rank : {1, 2}) {
    EXPECT_EQ(cluster.results[rank].code(), StatusCode::Unavailable);
    EXPECT_NE(cluster.results[rank].message().find("chief 0 is lost"),
              std::string::npos);
  }
  // What ~Cluster tells of needs an end.
  cluster.mails[0] = std::make_unique<Mail>(
      std::move(makeMemoryTransports(cluster.cast().ranks())[0]), kLargest);
  cluster.coordinator =
      std::make_unique<Coordinator>(*cluster.mails[0], cluster.options);
}

TEST(ParameterServer, ALateClosureIsRunByAnotherToo) {
  Cluster cluster(2, 1);
  cluster.setPatience(Mail::Clock::duration::zero());
  cluster.startServer(0);
  cluster.schedule(0, 3);
  cluster.move();
  // Worker 0 has pushed, and shows no result.
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).closure, 0);
  cluster.push(0, 0, 0);
  cluster.take(cluster.cast().worker(0));
  cluster.startWorker(1);
  EXPECT_EQ(cluster.finish(), (std::vector<int64_t>{1, 2, 0}));
  // It wakes up: nothing of it counts a second time.
  cluster.push(0, 0, 0);
  Letter applied = cluster.take(cluster.cast().worker(0));
  AppliedBody body;
  ASSERT_TRUE(unpack(applied.bytes, &body));
  EXPECT_TRUE(body.isRepeated);
  Letter report;
  report.kind = Kind::Report;
  report.closure = 0;
  report.bytes = pack(ReportBody());
  cluster.mails[cluster.cast().worker(0)]->send(Cast::coordinator,
                                                std::move(report));
  cluster.coordinator->schedule(3);
  EXPECT_EQ(cluster.finish(), (std::vector<int64_t>{3}));
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_EQ(cluster.shards[0].order, (std::vector<int64_t>{0, 1, 2, 3}));
  ASSERT_FALSE(cluster.notes.empty());
  EXPECT_NE(cluster.notes[0].find("shows no result"), std::string::npos);
}

TEST(ParameterServer, WithoutWorkersTheRunEnds) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  cluster.schedule(0, 4);
  cluster.move();
  cluster.kill(cluster.cast().worker(0));
  cluster.move();
  cluster.kill(cluster.cast().worker(1));
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("no worker is left"), std::string::npos);
  EXPECT_NE(status.message().find("worker 1"), std::string::npos);
}

TEST(ParameterServer, WhoIsFrozenIsLostOnceTheWatchTells) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  cluster.schedule(0, 3);
  cluster.move();
  // Worker 0 has closure 0, and its connection stays open.
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).closure, 0);
  std::vector<std::pair<int, std::string>> known;
  cluster.mails[0]->setWatch([&] { return known; });
  known = {{cluster.cast().worker(0), "it is stopped"}};
  cluster.startWorker(1);
  std::vector<int64_t> done = cluster.finish();
  std::sort(done.begin(), done.end());
  EXPECT_EQ(done, (std::vector<int64_t>{0, 1, 2}));
  ASSERT_EQ(cluster.notes.size(), 1u);
  EXPECT_NE(cluster.notes[0].find("worker 0 is lost (it is stopped): the run "
                                  "goes on with 1 worker, one of which runs "
                                  "its step 1 again"),
            std::string::npos)
      << cluster.notes[0];
}

TEST(ParameterServer, WithoutWorkersThatMoveTheRunEnds) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  cluster.schedule(0, 3);
  cluster.mails[0]->setWatch([&] {
    return std::vector<std::pair<int, std::string>>{
        {cluster.cast().worker(0), "it is stopped"},
        {cluster.cast().worker(1), "it is stopped, too"}};
  });
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find(
                "no worker is left: the last one, worker 1, is lost: it is "
                "stopped, too"),
            std::string::npos)
      << status.message();
}

/// A worker is late with a closure that an error has ended, and wakes up when
/// servers have another state.
TEST(ParameterServer, WhatIsLateChangesNoStateThatWasWrittenSince) {
  Cluster cluster(1, 1);
  cluster.startServer(0);
  cluster.schedule(0, 1);
  cluster.move();
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).closure, 0);
  cluster.coordinator->begin(1);
  Numbers numbers;
  numbers.number[0] = 7;
  ASSERT_TRUE(cluster.coordinator->writeState(0, numbers.bytes()).ok());
  cluster.push(0, 0, 0);
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).kind, Kind::Applied);
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_TRUE(cluster.shards[0].order.empty());
  EXPECT_EQ(cluster.shards[0].numbers.number[0], 7);
}

TEST(ParameterServer, AFrozenServerIsNamed) {
  Cluster cluster(1, 1);
  cluster.startWorker(0);
  cluster.schedule(0, 1);
  cluster.mails[0]->setWatch([&] {
    return std::vector<std::pair<int, std::string>>{
        {cluster.cast().server(0), "it is stopped"}};
  });
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("ps 0 is lost: it is stopped"),
            std::string::npos)
      << status.message();
  // What it was sent and never takes holds no one up.
  cluster.coordinator->end(status);
  cluster.join();
  EXPECT_NE(
      cluster.results[cluster.cast().worker(0)].message().find("ps 0 is lost"),
      std::string::npos);
}

} // namespace
} // namespace dist::ps
