//===- parameter_server_test.cpp - Closures, pushes and their ends --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/parameter_server_fixture.h"
#include <algorithm>
#include <numeric>

namespace dist::ps {
namespace {

std::vector<int64_t> upTo(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(ParameterServer, OneWorkerSeesEachUpdate) {
  Cluster cluster(1, 2);
  cluster.startAll();
  cluster.schedule(0, 20);
  for (int64_t closure = 0; closure < 20; ++closure) {
    Completion done = cluster.next();
    EXPECT_EQ(done.closure, closure);
    EXPECT_EQ(done.report.loss, float(closure));
    EXPECT_EQ(done.report.examples, 2);
    EXPECT_EQ(done.metrics, Buffer(3, char(closure)));
    EXPECT_TRUE(done.report.hasLearningRate);
    EXPECT_EQ(done.report.learningRate, 0.5f);
  }
  EXPECT_TRUE(cluster.coordinator->isDone());
  cluster.coordinator->end(Status());
  cluster.join();
  for (int64_t closure = 0; closure < 20; ++closure)
    EXPECT_EQ(cluster.replicas[0].seen[closure],
              (std::map<int, int64_t>{{0, closure}, {1, closure}}));
  for (CountingShard &shard : cluster.shards)
    EXPECT_EQ(shard.order, upTo(20));
  for (const Status &result : cluster.results)
    EXPECT_TRUE(result.ok()) << result.message();
}

TEST(ParameterServer, EachClosureCountsOnceOnEachServer) {
  Cluster cluster(3, 2);
  cluster.startAll();
  cluster.schedule(0, 300);
  std::vector<int64_t> order = cluster.finish();
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, upTo(300));
  cluster.coordinator->end(Status());
  cluster.join();
  for (CountingShard &shard : cluster.shards) {
    std::sort(shard.order.begin(), shard.order.end());
    EXPECT_EQ(shard.order, upTo(300));
  }
}

TEST(ParameterServer, ResultsComeInTheOrderOfTheirEnds) {
  Cluster cluster(2, 1);
  // Worker 0 ends its closure when worker 1 has ended two.
  std::atomic<int> ended{0};
  cluster.startServer(0);
  cluster.replicas[0].before = [&](int64_t) {
    while (ended.load() < 2)
      std::this_thread::yield();
  };
  cluster.startWorker(0);
  cluster.schedule(0, 3);
  cluster.move(); // worker 0 has the first
  cluster.startWorker(1);
  EXPECT_EQ(cluster.next().closure, 1);
  ended = 1;
  EXPECT_EQ(cluster.next().closure, 2);
  ended = 2;
  EXPECT_EQ(cluster.next().closure, 0);
}

TEST(ParameterServer, WorkerLostAfterItsPushCountsOnce) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  cluster.schedule(0, 4);
  cluster.move();
  // Worker 1 pushes, hears that it was applied, and ends before its report.
  Letter closure = cluster.take(cluster.cast().worker(1));
  EXPECT_EQ(closure.kind, Kind::Closure);
  EXPECT_EQ(closure.closure, 1);
  cluster.push(1, 0, closure.closure);
  EXPECT_EQ(cluster.take(cluster.cast().worker(1)).kind, Kind::Applied);
  cluster.kill(cluster.cast().worker(1));
  cluster.startWorker(0);
  // It goes to the end of the queue.
  EXPECT_EQ(cluster.finish(), (std::vector<int64_t>{0, 2, 3, 1}));
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_EQ(cluster.shards[0].order, (std::vector<int64_t>{1, 0, 2, 3}));
  ASSERT_EQ(cluster.notes.size(), 1u);
  EXPECT_NE(cluster.notes[0].find("worker 1 is lost"), std::string::npos);
  EXPECT_NE(cluster.notes[0].find("its step 2 again"), std::string::npos);
}

TEST(ParameterServer, WorkerLostBetweenItsPushesCountsOnceOnEach) {
  Cluster cluster(2, 2);
  cluster.startServer(0);
  cluster.startServer(1);
  cluster.schedule(0, 2);
  cluster.move();
  cluster.push(1, 0, cluster.take(cluster.cast().worker(1)).closure);
  cluster.take(cluster.cast().worker(1));
  cluster.kill(cluster.cast().worker(1));
  cluster.startWorker(0);
  EXPECT_EQ(cluster.finish(), upTo(2));
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_EQ(cluster.shards[0].order, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(cluster.shards[1].order, (std::vector<int64_t>{0, 1}));
}

TEST(ParameterServer, LatePushesAreLeftAside) {
  Cluster cluster(1, 1);
  cluster.startServer(0);
  auto pushed = [&](int64_t closure, int64_t settled) {
    cluster.push(0, 0, closure, settled);
    AppliedBody body;
    EXPECT_TRUE(unpack(cluster.take(cluster.cast().worker(0)).bytes, &body));
    return !body.isRepeated;
  };
  EXPECT_TRUE(pushed(3, 0));
  EXPECT_FALSE(pushed(3, 0));
  EXPECT_TRUE(pushed(1, 0));
  EXPECT_TRUE(pushed(9, 8)); // 2 and 4 to 7 were not for this test
  EXPECT_FALSE(pushed(3, 8));
  EXPECT_FALSE(pushed(7, 8));
  EXPECT_FALSE(pushed(7, 0));
  EXPECT_TRUE(pushed(8, 8));
}

TEST(ParameterServer, StalenessIsBound) {
  for (int64_t bound : {0, 1, 4}) {
    Cluster cluster(3, 1, bound);
    cluster.startAll();
    cluster.schedule(0, 60);
    EXPECT_EQ(cluster.finish().size(), 60u);
    cluster.coordinator->end(Status());
    cluster.join();
    for (CountingReplica &replica : cluster.replicas)
      for (auto &[closure, seen] : replica.seen) {
        EXPECT_GE(seen[0], closure - bound);
        // Nor can those behind it that began before it ended be more.
        EXPECT_LE(seen[0], closure + bound);
      }
    if (bound == 0)
      EXPECT_EQ(cluster.shards[0].order, upTo(60));
  }
}

TEST(ParameterServer, ALostClosureDoesNotStopABoundQueue) {
  // It stands behind those that wait for it.
  Cluster cluster(2, 1, 1);
  cluster.startServer(0);
  cluster.schedule(0, 8);
  cluster.move();
  cluster.kill(cluster.cast().worker(0));
  cluster.startWorker(1);
  std::vector<int64_t> order = cluster.finish();
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, upTo(8));
}

TEST(ParameterServer, CancellingLeavesNoGap) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  cluster.schedule(0, 10);
  cluster.move(); // 0 and 1
  cluster.kill(cluster.cast().worker(0));
  cluster.move(); // 0 is the last of the queue now
  cluster.coordinator->cancel();
  cluster.startWorker(1);
  EXPECT_EQ(cluster.finish(), (std::vector<int64_t>{1, 0}));
}

TEST(ParameterServer, TheFirstErrorIsToldOnceTheOthersHaveEnded) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  cluster.schedule(0, 5);
  cluster.move(); // 0 and 1
  Letter report;
  report.kind = Kind::Report;
  report.bytes = pack(ReportBody(), Status::error(StatusCode::InvalidInput,
                                                  "a label is out of range"));
  cluster.mails[cluster.cast().worker(0)]->send(Cast::coordinator,
                                                std::move(report));
  cluster.move(); // the error is there
  cluster.startWorker(1);
  // What was under way is told first.
  EXPECT_EQ(cluster.next().closure, 1);
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_FALSE(none.has_value());
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_EQ(status.message(), "a label is out of range");
  EXPECT_TRUE(cluster.coordinator->isDone());
  EXPECT_TRUE(cluster.tryNext(&none).ok());
}

TEST(ParameterServer, AWorkersErrorIsItsClosures) {
  Cluster cluster(1, 1);
  cluster.replicas[0].failing = 1;
  cluster.startAll();
  cluster.schedule(0, 5);
  EXPECT_EQ(cluster.next().closure, 0);
  std::optional<Completion> none;
  EXPECT_EQ(cluster.tryNext(&none).message(), "a label is out of range");
}

TEST(ParameterServer, AnUpdateThatFailsIsItsClosuresError) {
  Cluster cluster(1, 2);
  cluster.shards[1].refused = 1;
  cluster.startAll();
  cluster.schedule(0, 5);
  EXPECT_EQ(cluster.next().closure, 0);
  std::optional<Completion> none;
  EXPECT_EQ(cluster.tryNext(&none).message(), "no such gradient");
}

TEST(ParameterServer, WithheldGradientsAreNotApplied) {
  Cluster cluster(1, 1);
  cluster.replicas[0].withheld = 1;
  cluster.startAll();
  cluster.schedule(0, 3);
  EXPECT_EQ(cluster.finish(), upTo(3));
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_EQ(cluster.shards[0].order, (std::vector<int64_t>{0, 2}));
}

TEST(ParameterServer, StateIsReadAndWritten) {
  Cluster cluster(1, 2);
  cluster.startAll();
  Numbers numbers;
  numbers.number[1] = 7;
  ASSERT_TRUE(cluster.coordinator->writeState(1, numbers.bytes()).ok());
  cluster.schedule(5, 6);
  EXPECT_EQ(cluster.finish(), (std::vector<int64_t>{5}));
  Buffer state;
  ASSERT_TRUE(cluster.coordinator->readState(1, &state).ok());
  EXPECT_EQ(Numbers::of(state).number[0], 5);
  EXPECT_EQ(Numbers::of(state).number[1], 8);
  ASSERT_TRUE(cluster.coordinator->readState(0, &state).ok());
  EXPECT_EQ(Numbers::of(state).number[1], 1);
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_EQ(cluster.replicas[0].seen[5],
            (std::map<int, int64_t>{{0, 0}, {1, 7}}));
}

TEST(ParameterServer, TheEndAndItsReasonReachAll) {
  Cluster cluster(1, 1);
  cluster.startAll();
  cluster.coordinator->end(
      Status::error(StatusCode::InvalidInput, "the loss is not finite"));
  cluster.join();
  for (int rank : {1, 2}) {
    EXPECT_EQ(cluster.results[rank].code(), StatusCode::InvalidInput);
    EXPECT_EQ(cluster.results[rank].message(), "the loss is not finite");
  }
}

TEST(ParameterServer, HowTheRunEndedReachesAll) {
  Cluster cluster(1, 1);
  cluster.startAll();
  cluster.coordinator->end(Status(), Ending::Saved);
  cluster.join();
  EXPECT_EQ(cluster.endings[1], Ending::Saved);
  EXPECT_EQ(cluster.endings[2], Ending::Saved);
}

TEST(ParameterServer, OneThatIsToldToStopTellsTheCoordinator) {
  Cluster cluster(1, 1);
  std::atomic<bool> isTold{false};
  cluster.stops = [&] { return isTold.load(); };
  cluster.startAll();
  cluster.schedule(0, 1);
  EXPECT_EQ(cluster.next().closure, 0);
  EXPECT_FALSE(cluster.coordinator->isToldToStop());
  isTold = true;
  // It works on until the run is over.
  for (int64_t closure = 1; !cluster.coordinator->isToldToStop(); ++closure) {
    cluster.coordinator->schedule(closure);
    EXPECT_EQ(cluster.next().closure, closure);
  }
}

} // namespace
} // namespace dist::ps
