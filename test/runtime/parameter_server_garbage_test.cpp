//===- parameter_server_garbage_test.cpp - Peers without rules ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A peer that sends what is no letter, or one that it should not, is lost.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/parameter_server_fixture.h"
#include <algorithm>
#include <numeric>

namespace dist::ps {
namespace {

void sendGarbage(Cluster &cluster, int from, int to, Letter letter) {
  cluster.mails[from]->send(to, std::move(letter));
}

TEST(ParameterServerGarbage, AWorkersLosesItItsPlace) {
  struct Case {
    const char *name;
    std::function<void(Letter *)> spoil;
  };
  const Case cases[] = {
      {"of no kind", [](Letter *letter) { letter->kind = Kind(77); }},
      {"of another's kind", [](Letter *letter) { letter->kind = Kind::Pull; }},
      {"too large",
       [](Letter *letter) { letter->bytes.assign(kLargest + 1, 0); }},
      {"too small", [](Letter *letter) { letter->bytes.assign(3, 0); }},
      {"of another closure", [](Letter *letter) { letter->closure = 2; }},
      {"of no code",
       [](Letter *letter) {
         ReportBody body;
         body.code = 99;
         letter->bytes = pack(body);
       }},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.name);
    Cluster cluster(2, 1);
    cluster.startServer(0);
    cluster.schedule(0, 4);
    cluster.move();
    Letter letter;
    letter.kind = Kind::Report;
    letter.closure = 1;
    letter.bytes = pack(ReportBody());
    one.spoil(&letter);
    sendGarbage(cluster, cluster.cast().worker(1), Cast::coordinator,
                std::move(letter));
    cluster.startWorker(0);
    std::vector<int64_t> order = cluster.finish();
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3}));
    ASSERT_EQ(cluster.notes.size(), 1u);
    EXPECT_NE(cluster.notes[0].find("worker 1 is lost"), std::string::npos);
  }
}

TEST(ParameterServerGarbage, AServerReadsNoMoreOfWhoSendsIt) {
  for (Kind kind : {Kind::Push, Kind::ReadState, Kind::WriteState, Kind::End,
                    Kind::Report}) {
    SCOPED_TRACE(int64_t(kind));
    Cluster cluster(2, 1);
    cluster.startServer(0);
    Letter letter;
    letter.kind = kind;
    letter.bytes.assign(5, 1);
    int from = cluster.cast().worker(1);
    sendGarbage(cluster, from, cluster.cast().server(0), std::move(letter));
    cluster.startWorker(0);
    cluster.schedule(0, 1);
    EXPECT_EQ(cluster.next().closure, 0);
    cluster.push(1, 0, 5);
    cluster.coordinator->schedule(1);
    EXPECT_EQ(cluster.next().closure, 1);
    Buffer state;
    ASSERT_TRUE(cluster.coordinator->readState(0, &state).ok());
    EXPECT_EQ(Numbers::of(state).number[0], 0 + 1);
  }
}

TEST(ParameterServerGarbage, AServersEndsTheRun) {
  Cluster cluster(1, 2);
  cluster.startServer(0);
  cluster.startWorker(0);
  Letter letter;
  letter.kind = Kind::State;
  letter.question = 12345;
  sendGarbage(cluster, cluster.cast().server(1), Cast::coordinator,
              std::move(letter));
  cluster.schedule(0, 2);
  std::optional<Completion> none;
  Status status = cluster.tryNext(&none);
  EXPECT_NE(status.message().find("ps 1 is lost: it sent"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace dist::ps
