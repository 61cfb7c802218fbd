//===- membership_again_test.cpp - Processes meet again ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run goes on after faults that meet it between two steps of its members: one
// was stopped for longer than its lease, an epoch fails as it begins. Each
// member is a thread of its own here.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/cluster_fixture.h"
#include "test/runtime/cluster/ended_lease.h"
#include "test/runtime/cluster/reserved_port.h"
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class MembershipAgain : public testing::Test {
protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i)
      spec.of(Job::Worker).push_back({"127.0.0.1", i == 0 ? int(port) : i});
    all([&](int i) {
      MembershipOptions options;
      options.spec = spec;
      options.spec.self = Task{Job::Worker, i};
      options.isElastic = true;
      options.timeout = 60;
      Status status = Membership::join(options, &members[i]);
      if (status.ok())
        members[i]->endStart();
      return status;
    });
  }
  void TearDown() override {
    for (int i : {2, 1, 0})
      members[i].reset();
  }
  void all(const std::function<Status(int)> &what,
           const std::vector<int> &who = {0, 1, 2}) {
    atOnce(who, what);
  }
  Status exchange(int i, const std::string &what) {
    std::vector<std::vector<std::string>> heard;
    return members[i]->exchange(what, {std::to_string(i)}, &heard);
  }
  static RegroupOptions without(std::vector<int> lost) {
    RegroupOptions options;
    options.lost = [lost] { return lost; };
    options.timeout = 30;
    return options;
  }
  void endLease(int i, int epoch) {
    cluster::endLease(spec.of(Job::Worker)[0], i, epoch);
  }

  const ReservedPort port;
  ClusterSpec spec;
  std::unique_ptr<Membership> members[3];
};

} // namespace

TEST_F(MembershipAgain, OneWhoseLeaseHasEndedMeetsTheOthersAgain) {
  for (int i : {0, 1, 2}) // the chief's, too: its store was stopped with it
    endLease(i, 0);
  all([&](int i) { return members[i]->regroup(without({})); });
  EXPECT_EQ(members[0]->members().size(), 3u);
  all([&](int i) { return exchange(i, "test"); });
}

TEST_F(MembershipAgain, OneWhoseLeaseHasEndedIsRegisteredAnew) {
  endLease(1, 0);
  // The others wait meanwhile, and would miss it.
  std::thread first([&] {
    Status told = exchange(1, "test");
    EXPECT_TRUE(told.ok()) << told.message();
  });
  std::this_thread::sleep_for(std::chrono::seconds(5));
  all([&](int i) { return exchange(i, "test"); }, {0, 2});
  first.join();
}

TEST_F(MembershipAgain, OneThatWasEvictedIsToldInWhichEpoch) {
  all([&](int i) { return members[i]->regroup(without({1})); }, {0, 2});
  endLease(1, 0);
  Status told = exchange(1, "test");
  EXPECT_THAT(told.message(),
              HasSubstr("this process is none of the cluster any more (worker "
                        "1 at 127.0.0.1:1): it was evicted in the cluster's "
                        "epoch 1"));
  EXPECT_THAT(members[1]->regroup(without({})).message(),
              HasSubstr("the cluster goes on without this process (worker 1 at "
                        "127.0.0.1:1): it was evicted in the cluster's epoch "
                        "1"));
}

TEST_F(MembershipAgain, ALossWhileAnEpochBeginsIsFollowedByTheNext) {
  all([&](int i) { return members[i]->regroup(without({})); });
  members[2].reset();
  for (int i : {0, 1}) {
    EXPECT_THAT(exchange(i, "addresses").message(),
                HasSubstr("a process of the cluster has ended (worker 2"));
    EXPECT_THAT(members[i]->findGone(), ElementsAre(2));
  }
  // Nothing else tells them who is lost.
  all([&](int i) { return members[i]->regroup(without({})); }, {0, 1});
  EXPECT_EQ(members[0]->epoch(), 2);
  EXPECT_EQ(members[0]->members().size(), 2u);
  EXPECT_TRUE(members[0]->findGone().empty());
  all([&](int i) { return exchange(i, "addresses"); }, {0, 1});
}

TEST_F(MembershipAgain, WhoComesWithAnotherProgramIsRefused) {
  all([&](int i) { return members[i]->regroup(without({})); });
  Status shared[3];
  all([&](int i) {
    shared[i] =
        members[i]->shareFacts({i == 2 ? "another" : "a program", {}, {}});
    return Status();
  });
  EXPECT_THAT(shared[2].message(),
              HasSubstr("the cluster does not take this process in (worker 2 "
                        "at 127.0.0.1:2): its program: another by protocol 1, "
                        "the others': a program by protocol 1; start it with "
                        "the same model"));
  for (int i : {0, 1}) {
    EXPECT_EQ(shared[i].code(), StatusCode::Unavailable);
    EXPECT_THAT(shared[i].message(),
                HasSubstr("a process that has come is refused (worker 2 at "
                          "127.0.0.1:2): it has another program"));
    EXPECT_THAT(members[i]->findGone(), ElementsAre(2));
  }
  // It need not have left by then.
  all([&](int i) { return members[i]->regroup(without({})); }, {0, 1});
  EXPECT_EQ(members[1]->members().size(), 2u);
  all([&](int i) { return members[i]->shareFacts({"a program", {}, {}}); },
      {0, 1});
}

TEST_F(MembershipAgain, WhoComesWithOtherSettingsIsRefused) {
  all([&](int i) { return members[i]->regroup(without({})); });
  Status agreed[3];
  all([&](int i) {
    agreed[i] = members[i]->agreeOn({{"--epochs", i == 1 ? "3" : "2"}});
    return Status();
  });
  EXPECT_THAT(agreed[1].message(),
              HasSubstr("its --epochs: 3, the others': 2; start it with"));
  EXPECT_THAT(agreed[2].message(), HasSubstr("it has another --epochs than"));
  EXPECT_THAT(members[2]->findGone(), ElementsAre(1));
}

TEST_F(MembershipAgain, WhoWaitsHearsThatTheOthersMeetAgain) {
  all([&](int i) { return members[i]->regroup(without({})); });
  std::thread chief([&] {
    Status met = members[0]->regroup(without({2}));
    EXPECT_TRUE(met.ok()) << met.message();
  });
  EXPECT_THAT(exchange(1, "test").message(),
              HasSubstr("the others meet again"));
  EXPECT_TRUE(members[1]->othersMeetAgain());
  Status met = members[1]->regroup(without({}));
  EXPECT_TRUE(met.ok()) << met.message();
  EXPECT_FALSE(members[1]->othersMeetAgain());
  chief.join();
}

TEST_F(MembershipAgain, WhatIsKnownElsewhereEndsAWait) {
  members[0]->watch([] {
    return Status::error(StatusCode::Unavailable, "worker 2 is lost", "", "");
  });
  EXPECT_THAT(exchange(0, "test").message(), HasSubstr("worker 2 is lost"));
  // Who meets again asks those that have met.
  all([&](int i) { return members[i]->regroup(without({2})); }, {0, 1});
  all([&](int i) { return exchange(i, "test"); }, {0, 1});
}
