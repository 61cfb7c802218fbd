//===- membership_test.cpp - Processes meet ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each member is a thread of its own here, and reaches the others through the
// chief's server alone.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership.h"
#include "runtime/cluster/etcd/server.h"
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using testing::HasSubstr;

namespace {

/// A port that was free a moment ago.
int freePort() {
  std::unique_ptr<EtcdServer> server;
  EXPECT_TRUE(EtcdServer::start({}, &server).ok());
  return server->port();
}

class MembershipTest : public testing::Test {
protected:
  void SetUp() override {
    int port = freePort();
    for (int i = 0; i < 3; ++i) {
      // Only the chief's is listened at.
      spec.of(Job::Worker).push_back({"127.0.0.1", i == 0 ? port : i});
      options[i].facts = {"a program", {"x86-64-v3"}};
      options[i].timeout = 20;
    }
    for (int i = 0; i < 3; ++i)
      enter(i, i);
  }
  void enter(int i, int index) {
    options[i].spec = spec;
    options[i].spec.self = Task{Job::Worker, index};
  }
  /// Runs `use` for each member that joins; all of them at once.
  void joinAll(int count,
               const std::function<void(int, Membership &)> &use = nullptr) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([this, i, use] {
        std::unique_ptr<Membership> membership;
        status[i] = Membership::join(options[i], &membership);
        if (status[i].ok() && use)
          use(i, *membership);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  ClusterSpec spec;
  MembershipOptions options[3];
  Status status[3];
};

} // namespace

TEST_F(MembershipTest, AllMeetAndExchange) {
  options[2].facts.cpuVariants = {"x86-64-v4", "x86-64-v3"};
  std::vector<std::vector<std::string>> all[3];
  std::atomic<int> done{0};
  joinAll(3, [&](int i, Membership &membership) {
    EXPECT_EQ(membership.self(), i);
    ASSERT_EQ(membership.members().size(), 3u);
    EXPECT_EQ(membership.members()[2].cpuVariants.size(), 2u);
    EXPECT_EQ(membership.nameOf(1), "worker 1");
    EXPECT_EQ(membership.members()[2].host, 0);
    // What is brought may hold anything.
    Status met = membership.exchange(
        "test", {std::string("\0x", 2), std::to_string(i)}, &all[i]);
    EXPECT_TRUE(met.ok()) << met.message();
    met = membership.agreeOn({{"--epochs", "2"}, {"--steps", "0"}});
    EXPECT_TRUE(met.ok()) << met.message();
    // In a run it is a collective that shows it.
    for (++done; done < 3;)
      std::this_thread::yield();
    membership.endStart();
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(status[i].ok()) << status[i].message();
    ASSERT_EQ(all[i].size(), 3u);
    for (int j = 0; j < 3; ++j)
      EXPECT_THAT(all[i][j], testing::ElementsAre(std::string("\0x", 2),
                                                  std::to_string(j)));
  }
}

TEST_F(MembershipTest, WhoIsMissingIsNamedWithItsAddress) {
  std::atomic<int> notes{0};
  options[0].timeout = 3;
  for (MembershipOptions &one : options)
    one.note = [&](const std::string &line) {
      EXPECT_EQ(line, "waiting for worker 2 at 127.0.0.1:2");
      ++notes;
    };
  joinAll(2);
  EXPECT_EQ(status[0].message(),
            "the cluster did not start (--start-timeout): worker 2 at "
            "127.0.0.1:2 did not join; start what is missing with the same "
            "cluster, or look there why it ended");
  EXPECT_THAT(status[1].message(),
              HasSubstr("the cluster has no chief (worker 0 at "));
  EXPECT_EQ(notes, 2);
}

TEST_F(MembershipTest, AMissingChiefIsNamed) {
  options[0].timeout = 0.2;
  enter(0, 1); // the only one
  joinAll(1);
  EXPECT_THAT(status[0].message(),
              HasSubstr("worker 0 at " + spec.of(Job::Worker)[0].text() +
                        " did not join"));
  EXPECT_EQ(status[0].code(), StatusCode::Unavailable);
}

TEST_F(MembershipTest, ATaskIsOneProcesss) {
  enter(2, 1);
  options[0].timeout = options[1].timeout = options[2].timeout = 1;
  joinAll(3);
  Status &second =
      status[1].code() == StatusCode::InvalidInput ? status[1] : status[2];
  EXPECT_THAT(second.message(),
              HasSubstr("the task is another process's already (worker 1)"));
}

TEST_F(MembershipTest, DifferentProgramsAreAnErrorOfAll) {
  options[2].facts.program = "another program";
  joinAll(3);
  for (const Status &one : status)
    EXPECT_THAT(one.message(),
                HasSubstr("the processes have different programs (worker 2 at "
                          "127.0.0.1:2): it has another one than the other 2"));
}

TEST_F(MembershipTest, DifferentSettingsAreAnErrorOfAll) {
  Status agreed[3];
  joinAll(3, [&](int i, Membership &membership) {
    agreed[i] = membership.agreeOn(
        {{"--steps", "0"}, {"--epochs", i == 0 ? "2" : "3"}});
  });
  for (const Status &one : agreed)
    EXPECT_EQ(one.message(),
              "the processes do not train alike (worker 0 at " +
                  spec.of(Job::Worker)[0].text() +
                  "): its --epochs: 2, the others': 3; give all the same");
}

TEST_F(MembershipTest, WhoLeavesDuringTheStartIsNamed) {
  Status left[3];
  joinAll(3, [&](int i, Membership &membership) {
    if (i == 1)
      return;
    std::vector<std::vector<std::string>> all;
    left[i] = membership.exchange("test", {}, &all);
  });
  for (int i : {0, 2})
    EXPECT_THAT(left[i].message(),
                HasSubstr("a process of the cluster has ended (worker 1 at "
                          "127.0.0.1:1)"));
}
