//===- parameter_server_evaluation_test.cpp - Closures without pushes -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/parameter_server_fixture.h"
#include <algorithm>

namespace dist::ps {
namespace {

using Closures = std::vector<int64_t>;

/// Parts from this number of theirs to before another.
void schedule(Cluster &cluster, int64_t first, int64_t end) {
  cluster.coordinator->begin(kFirstUnpushed + first);
  for (int64_t part = first; part < end; ++part)
    cluster.coordinator->schedule(kFirstUnpushed + part, Buffer(1));
}
Closures finish(Cluster &cluster) {
  Closures done = cluster.finish();
  std::sort(done.begin(), done.end());
  return done;
}
Closures parts(int64_t first, int64_t end) {
  Closures all;
  for (int64_t part = first; part < end; ++part)
    all.push_back(kFirstUnpushed + part);
  return all;
}

TEST(ParameterServerEvaluation, PartsComeBetweenStepsAndServersHearOfNone) {
  Cluster cluster(2, 1);
  cluster.startAll();
  cluster.schedule(0, 4);
  EXPECT_EQ(finish(cluster), (Closures{0, 1, 2, 3}));
  schedule(cluster, 0, 5);
  EXPECT_EQ(finish(cluster), parts(0, 5));
  cluster.schedule(4, 8);
  EXPECT_EQ(finish(cluster), (Closures{4, 5, 6, 7}));
  schedule(cluster, 5, 6);
  EXPECT_EQ(finish(cluster), parts(5, 6));
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_EQ(cluster.shards[0].numbers.number[1], 8);
}

TEST(ParameterServerEvaluation, ALostWorkersPartIsCountedOnce) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  schedule(cluster, 0, 4);
  cluster.move();
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).closure, kFirstUnpushed);
  cluster.kill(cluster.cast().worker(0));
  cluster.startWorker(1);
  EXPECT_EQ(finish(cluster), parts(0, 4));
  ASSERT_FALSE(cluster.notes.empty());
  EXPECT_NE(cluster.notes[0].find("one of which runs its part of the "
                                  "evaluation again"),
            std::string::npos)
      << cluster.notes[0];
}

TEST(ParameterServerEvaluation, OneThatIsLateWithAPartIsNotHeardLater) {
  Cluster cluster(2, 1);
  cluster.setPatience(Mail::Clock::duration::zero());
  cluster.startServer(0);
  schedule(cluster, 0, 2);
  cluster.move();
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).closure, kFirstUnpushed);
  cluster.startWorker(1);
  EXPECT_EQ(finish(cluster), parts(0, 2));
  // While steps are under way, and while the next parts are.
  Letter report;
  report.kind = Kind::Report;
  report.closure = kFirstUnpushed;
  report.bytes = pack(ReportBody());
  cluster.coordinator->begin(kFirstUnpushed + 2);
  cluster.schedule(0, 2);
  cluster.mails[cluster.cast().worker(0)]->send(Cast::coordinator,
                                                std::move(report));
  cluster.startWorker(0);
  EXPECT_EQ(finish(cluster), (Closures{0, 1}));
  schedule(cluster, 2, 4);
  EXPECT_EQ(finish(cluster), parts(2, 4));
}

TEST(ParameterServerEvaluation, PartsWaitForNoStepsAndMayBeCancelled) {
  Cluster cluster(1, 1, /*staleness=*/0);
  cluster.startServer(0);
  cluster.schedule(0, 2);
  schedule(cluster, 0, 3);
  cluster.move();
  EXPECT_EQ(cluster.take(cluster.cast().worker(0)).closure, 0);
  cluster.coordinator->cancel();
  EXPECT_FALSE(cluster.coordinator->isDone());
  cluster.push(0, 0, 0);
  cluster.take(cluster.cast().worker(0));
  Letter report;
  report.kind = Kind::Report;
  report.bytes = pack(ReportBody());
  cluster.mails[cluster.cast().worker(0)]->send(Cast::coordinator,
                                                std::move(report));
  EXPECT_EQ(finish(cluster), (Closures{0}));
  cluster.startWorker(0);
  schedule(cluster, 3, 5);
  EXPECT_EQ(finish(cluster), parts(3, 5));
}

TEST(ParameterServerEvaluation, ServersRefuseToBePushedAPart) {
  Cluster cluster(2, 1);
  cluster.startServer(0);
  cluster.push(0, 0, kFirstUnpushed);
  cluster.schedule(0, 2);
  cluster.move();
  cluster.kill(cluster.cast().worker(0)); // which has one, and no server
  cluster.startWorker(1);
  EXPECT_EQ(finish(cluster), (Closures{0, 1}));
  cluster.coordinator->end(Status());
  cluster.join();
  EXPECT_EQ(cluster.shards[0].numbers.number[1], 2);
}

} // namespace
} // namespace dist::ps
