//===- membership_etcd_test.cpp - Processes meet in an etcd -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each member is a thread of its own here. What needs no etcd to end runs
// against an etcd-server, too; the embedded server is one that a test can end
// and start anew, with what it held or without.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/etcd_fixture.h"
#include "test/runtime/cluster/reserved_port.h"
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using namespace etcdserverpb;
using testing::HasSubstr;

namespace {

using Both = std::unique_ptr<Membership>[2];

/// Two processes of a job. Nobody listens at their ports: they tell jobs apart.
struct PairOfWorkers {
  explicit PairOfWorkers(const std::string &address, int firstPort = 1) {
    EXPECT_FALSE(parseAddress(address, &store.addresses.emplace_back()));
    for (int i = 0; i < 2; ++i)
      spec.of(Job::Worker).push_back({"127.0.0.1", firstPort + i});
  }
  Status join(int index, std::unique_ptr<Membership> *out) const {
    MembershipOptions options;
    options.spec = spec;
    options.spec.self = Task{Job::Worker, index};
    options.timeout = timeout;
    options.store = store;
    return Membership::join(options, out);
  }
  /// Both exchange texts that begin with `name`.
  void exchange(const std::string &name, Both &both) const {
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        std::vector<std::vector<std::string>> all;
        Status status =
            both[i]->exchange("of " + name, {name + std::to_string(i)}, &all);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(all.size(), 2u);
        EXPECT_EQ(all[0][0], name + "0");
        EXPECT_EQ(all[1][0], name + "1");
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  void meet(Both &both) const {
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        Status status = join(i, &both[i]);
        EXPECT_TRUE(status.ok()) << status.message();
      });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_TRUE(both[0] && both[1]);
  }

  double timeout = 120;
  SharedStore store;
  ClusterSpec spec;
};

INSTANTIATE_ETCD_TEST(MembershipEtcd);

class MembershipAway : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::path(testing::TempDir()) /
             ("membership_away_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    options.journal = folder / "journal";
    // Nobody else is given it while no server is there.
    options.address.port = port;
    store = options.address.text();
    start();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void start() {
    Status status = EtcdServer::start(options, &server);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  const ReservedPort port;
  std::filesystem::path folder;
  EtcdServerOptions options;
  std::unique_ptr<EtcdServer> server;
  std::string store;
};

} // namespace

TEST_P(MembershipEtcd, RunsFollowEachOtherAndLeaveNothing) {
  PairOfWorkers workers(address);
  for (const char *name : {"first", "second"}) {
    Both both;
    workers.meet(both);
    workers.exchange(name, both);
    RangeRequest request;
    request.set_key("/dist/");
    request.set_range_end("/dist0");
    RangeResponse response;
    EXPECT_TRUE(client->range(request, &response).ok());
    // The run, its roll, and two of each process; some more of a run before.
    EXPECT_GE(response.kvs_size(), 6);
    for (const mvccpb::KeyValue &one : response.kvs())
      EXPECT_NE(one.lease(), 0) << one.key() << " would stay";
  }
}

TEST_P(MembershipEtcd, TwoJobsDoNotMeet) {
  PairOfWorkers one(address), other(address, /*firstPort=*/3);
  Both ones, others;
  std::thread thread([&] { other.meet(others); });
  one.meet(ones);
  thread.join();
  one.exchange("a", ones);
  other.exchange("b", others);
  std::string read;
  Address chief{"127.0.0.1", 3}, none{"127.0.0.1", 9};
  Status status = readFromChief(&chief, {}, "of b", &read, one.store);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(read, "b0");
  EXPECT_THAT(readFromChief(&none, {}, "of b", &read, one.store).message(),
              HasSubstr("no cluster is at work (127.0.0.1:9)"));
}

/// A process that starts when the chief of the run before has just been killed
/// sees that run in the store, and waits for the next.
TEST_P(MembershipEtcd, WhatARunBeforeHasLeftIsNotTaken) {
  PairOfWorkers workers(address);
  Both old, both;
  workers.meet(old);
  std::atomic<bool> isIn{false};
  std::thread early([&] {
    Status status = workers.join(1, &both[1]);
    EXPECT_TRUE(status.ok()) << status.message();
    isIn = true;
  });
  old[1].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(isIn); // the old run is not its own
  old[0].reset();
  Status status = workers.join(0, &both[0]);
  EXPECT_TRUE(status.ok()) << status.message();
  early.join();
}

TEST_P(MembershipEtcd, AJobRunsOnce) {
  PairOfWorkers workers(address);
  Both both;
  workers.meet(both);
  workers.timeout = 4;
  std::unique_ptr<Membership> second;
  Status status = workers.join(0, &second);
  EXPECT_EQ(status.message(),
            "the job runs already (etcd://" + address +
                "): another chief of a cluster with these addresses is there; "
                "end that run (one that was killed is forgotten after 10 s), "
                "or give this one other addresses or another secret");
}

TEST_F(MembershipAway, ForAMomentMattersToNobody) {
  PairOfWorkers workers(store);
  Both both;
  workers.meet(both);
  server.reset();
  std::thread again([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    start();
  });
  workers.exchange("more", both);
  again.join();
}

TEST_F(MembershipAway, ForLongIsAnErrorOfWhoNeedsIt) {
  PairOfWorkers workers(store);
  workers.timeout = 2;
  Both both;
  workers.meet(both);
  server.reset();
  std::vector<std::vector<std::string>> all;
  EXPECT_THAT(both[0]->exchange("more", {"x"}, &all).message(),
              HasSubstr("the cluster's store does not answer (etcd://" + store +
                        "): "));
}

TEST_F(MembershipAway, AStoreThatWasEmptiedHasNoRunWithoutItsChief) {
  PairOfWorkers workers(store);
  Both both;
  workers.meet(both);
  both[0].reset();
  server.reset();
  std::filesystem::remove(options.journal);
  start();
  std::vector<std::vector<std::string>> all;
  EXPECT_EQ(both[1]->exchange("more", {"x"}, &all).message(),
            "the cluster cannot go on by its store (etcd://" + store +
                "): the run is over there: its chief has left, or was silent "
                "for longer than 10 s, or the store was emptied; look at the "
                "chief why");
}

/// What they have told before is there again, too.
TEST_F(MembershipAway, AStoreThatWasEmptiedIsToldAnew) {
  PairOfWorkers workers(store);
  Both both;
  workers.meet(both);
  workers.exchange("before", both);
  server.reset();
  std::filesystem::remove(options.journal);
  start();
  // A lease is looked for each 3 s, the chief's before the others'.
  Address chief{"127.0.0.1", 1};
  std::string read;
  auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!readFromChief(&chief, {}, "of before", &read, workers.store).ok() &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(read, "before0");
  std::vector<std::vector<std::string>> all;
  Status status;
  std::thread other([&] {
    std::vector<std::vector<std::string>> same;
    do
      status = both[1]->exchange("of more", {"b"}, &same);
    while (!status.ok() && std::chrono::steady_clock::now() < end);
  });
  Status own;
  do
    own = both[0]->exchange("of more", {"a"}, &all);
  while (!own.ok() && std::chrono::steady_clock::now() < end);
  other.join();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(all, testing::ElementsAre(testing::ElementsAre("a"),
                                        testing::ElementsAre("b")));
}

TEST_F(MembershipAway, NoEtcdIsSaid) {
  server.reset();
  PairOfWorkers workers(store);
  workers.timeout = 1;
  std::unique_ptr<Membership> none;
  EXPECT_THAT(workers.join(1, &none).message(),
              HasSubstr("start an etcd there, or correct --coordination"));
}
