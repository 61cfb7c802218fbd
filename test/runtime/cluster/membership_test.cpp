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
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/membership_fixture.h"
#include "test/runtime/cluster/system_surroundings.h"
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using testing::HasSubstr;

namespace {

JobSecret makeSecret(const std::string &text) {
  JobSecret secret;
  EXPECT_TRUE(JobSecret::fromText(text, "a test", &secret).ok());
  return secret;
}

} // namespace

TEST_F(MembershipTest, AllMeetAndExchange) {
  std::vector<std::vector<std::string>> all[3];
  std::atomic<int> done{0};
  joinAll(3, [&](int i, Membership &membership) {
    EXPECT_EQ(membership.self(), i);
    ASSERT_EQ(membership.members().size(), 3u);
    Status shared = membership.shareFacts(
        {"a program", {i == 2 ? "x86-64-v4" : "x86-64-v3"}});
    EXPECT_TRUE(shared.ok()) << shared.message();
    EXPECT_THAT(membership.members()[2].cpuVariants,
                testing::ElementsAre("x86-64-v4"));
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
  options[0].timeout = options[1].timeout = options[2].timeout = 4;
  joinAll(3);
  Status &second =
      status[1].code() == StatusCode::InvalidInput ? status[1] : status[2];
  EXPECT_THAT(second.message(),
              HasSubstr("the task is another process's already (worker 1)"));
}

TEST_F(MembershipTest, DifferentProgramsAreAnErrorOfAll) {
  Status shared[3];
  joinAll(3, [&](int i, Membership &membership) {
    MemberFacts facts{"a program", {}, {"--batch-size=8", "--clip-norm=1"}};
    if (i == 2)
      facts = {"another program", {}, {"--batch-size=8", "--clip-norm=2"}};
    shared[i] = membership.shareFacts(facts);
  });
  for (const Status &one : shared)
    EXPECT_THAT(one.message(),
                HasSubstr("the processes have different programs (worker 2 at "
                          "127.0.0.1:2): it has another one than the other 2, "
                          "made with --clip-norm=2, and theirs with "
                          "--clip-norm=1; give all the same"));
}

TEST_F(MembershipTest, ProgramsMayDifferByMoreThanTheirOptions) {
  Status shared[3];
  joinAll(3, [&](int i, Membership &membership) {
    MemberFacts facts{"a program", {}, {"--batch-size=8"}};
    facts.program += i == 0 ? " of another model" : "";
    shared[i] = membership.shareFacts(facts);
  });
  for (const Status &one : shared)
    EXPECT_THAT(one.message(),
                HasSubstr("it has another one than the other 2, made with the "
                          "same options: the model's file, the version, or the "
                          "CPU is another"));
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

TEST_F(MembershipTest, ThoseThatAreLeftMeetAgain) {
  std::atomic<int> done{0};
  Status late;
  joinAll(3, [&](int i, Membership &membership) {
    EXPECT_EQ(membership.epoch(), 0);
    std::vector<std::vector<std::string>> all;
    EXPECT_TRUE(membership.exchange("test", {"before"}, &all).ok());
    RegroupOptions again;
    again.lost = [] { return std::vector<int>{1}; };
    // One that was given up comes when the others have met.
    while (i == 1 && done < 2)
      std::this_thread::yield();
    Status met = membership.regroup(again);
    if (i == 1) {
      late = met;
      ++done;
      return;
    }
    EXPECT_TRUE(met.ok()) << met.message();
    EXPECT_EQ(membership.epoch(), 1);
    ASSERT_EQ(membership.members().size(), 2u);
    EXPECT_EQ(membership.self(), i == 2);
    EXPECT_EQ(membership.nameOf(1), "worker 2"); // as ever
    // Nothing of the epoch before is there.
    Status told =
        membership.exchange("test", {"after " + std::to_string(i)}, &all);
    EXPECT_TRUE(told.ok()) << told.message();
    EXPECT_THAT(all, testing::ElementsAre(testing::ElementsAre("after 0"),
                                          testing::ElementsAre("after 2")));
    EXPECT_TRUE(membership.shareFacts({"a program", {}, {}}).ok());
    std::string read;
    Address chief = spec.of(Job::Worker)[0];
    EXPECT_TRUE(readFromChief(&chief, {}, "test", &read).ok());
    EXPECT_EQ(read, "after 0");
    for (++done; done < 3;)
      std::this_thread::yield();
    membership.endStart();
  });
  EXPECT_THAT(late.message(),
              HasSubstr("the cluster goes on without this process (worker 1 "));
}

TEST_F(MembershipTest, WhoDoesNotComeInTimeIsLeft) {
  std::atomic<int> done{0};
  joinAll(3, [&](int i, Membership &membership) {
    RegroupOptions again;
    again.lost = [] { return std::vector<int>(); };
    again.timeout = 3;
    for (; i == 2 && done < 2;) // does not know of it
      std::this_thread::yield();
    if (i == 2)
      return;
    Status met = membership.regroup(again);
    EXPECT_TRUE(met.ok()) << met.message();
    EXPECT_EQ(membership.members().size(), 2u);
    for (++done; done < 2;)
      std::this_thread::yield();
    membership.endStart();
  });
}

TEST_F(MembershipTest, TooFewAreToldSo) {
  Status met[3];
  joinAll(3, [&](int i, Membership &membership) {
    if (i == 1)
      return;
    RegroupOptions again;
    again.lost = [] { return std::vector<int>{1}; };
    again.fewest = 3;
    met[i] = membership.regroup(again);
  });
  for (int i : {0, 2})
    EXPECT_EQ(met[i].message(),
              "fewer workers are left than are to go on (--min-workers); start "
              "those that are missing");
}

TEST_F(MembershipTest, WhoComesAgainIsTakenIn) {
  for (MembershipOptions &one : options)
    one.isElastic = true;
  std::atomic<int> done{0};
  auto goOn = [&](Membership &membership, int epoch, int count) {
    EXPECT_EQ(membership.epoch(), epoch);
    EXPECT_EQ(int(membership.members().size()), count);
    std::vector<std::vector<std::string>> all;
    Status told = membership.exchange("test", {std::to_string(epoch)}, &all);
    EXPECT_TRUE(told.ok()) << told.message();
    EXPECT_EQ(int(all.size()), count);
  };
  joinAll(3, [&](int i, Membership &membership) {
    goOn(membership, 0, 3);
    RegroupOptions again;
    again.lost = [] { return std::vector<int>{2}; };
    if (i == 2) { // ends, and comes again while the others go on
      while (done < 2)
        std::this_thread::yield();
      return;
    }
    EXPECT_TRUE(membership.regroup(again).ok());
    goOn(membership, 1, 2);
    EXPECT_FALSE(membership.hasNewcomers());
    for (++done; done < 2;)
      std::this_thread::yield();
    std::thread comes;
    if (i == 1)
      comes = std::thread([&] {
        std::unique_ptr<Membership> late;
        Status met = Membership::join(options[2], &late);
        ASSERT_TRUE(met.ok()) << met.message();
        EXPECT_EQ(late->self(), 2);
        goOn(*late, 2, 3);
        ++done;
      });
    // A step's agreement tells the others when the chief has seen it.
    if (i == 0)
      while (!membership.hasNewcomers())
        std::this_thread::yield();
    if (i == 0)
      ++done;
    while (done < 3)
      std::this_thread::yield();
    again.lost = [] { return std::vector<int>(); };
    Status met = membership.regroup(again);
    EXPECT_TRUE(met.ok()) << met.message();
    goOn(membership, 2, 3);
    EXPECT_FALSE(membership.hasNewcomers());
    for (++done; done < 6;)
      std::this_thread::yield();
    membership.endStart();
    if (comes.joinable())
      comes.join();
  });
}

//===----------------------------------------------------------------------===//
// The job's secret
//===----------------------------------------------------------------------===//

TEST_F(MembershipTest, WhoHasTheSecretMeets) {
  for (MembershipOptions &one : options)
    one.secret = makeSecret("0123456789abcdef");
  std::atomic<int> done{0};
  joinAll(3, [&](int i, Membership &membership) {
    std::vector<std::vector<std::string>> all;
    Status told = membership.exchange("test", {std::to_string(i)}, &all);
    EXPECT_TRUE(told.ok()) << told.message();
    if (i == 0) {
      Address chief = spec.of(Job::Worker)[0];
      std::string read;
      Status asked = readFromChief(&chief, options[0].secret, "test", &read);
      EXPECT_TRUE(asked.ok()) << asked.message();
      EXPECT_EQ(read, "0");
      asked =
          readFromChief(&chief, makeSecret("another, as long"), "test", &read);
      EXPECT_EQ(asked.message(),
                "the chief does not have this job's secret (" + chief.text() +
                    "): it has another one, or none; give all processes of the "
                    "job the same --job-secret-file FILE, or DIST_JOB_SECRET");
      EXPECT_FALSE(readFromChief(&chief, {}, "test", &read).ok());
    }
    for (++done; done < 3;)
      std::this_thread::yield();
    membership.endStart();
  });
  for (const Status &one : status)
    EXPECT_TRUE(one.ok()) << one.message();
}

TEST_F(MembershipTest, WhoHasNotTheSecretDoesNotGetIn) {
  options[0].secret = makeSecret("0123456789abcdef");
  options[1].secret = makeSecret("0123456789abcdeg");
  // Nobody joins the chief, which waits for them.
  for (int i : {0, 2})
    options[i].timeout = 5;
  joinAll(3);
  EXPECT_THAT(status[0].message(), HasSubstr("worker 1 at 127.0.0.1:1, worker "
                                             "2 at 127.0.0.1:2 did not join"));
  EXPECT_THAT(status[1].message(),
              HasSubstr("the chief does not have this job's secret (worker 0"));
  EXPECT_THAT(status[2].message(),
              HasSubstr("a chief that has a secret answers those alone"));
}

TEST_F(MembershipTest, AChiefWithoutTheSecretIsNone) {
  // It waits for the others until the one that does not come has seen it.
  struct : SystemSurroundings {
    Clock::time_point now() override {
      // More each time: it may begin to wait only then.
      return system.now() + std::chrono::hours(hasSeen ? ++asked : 0);
    }
    std::atomic<bool> hasSeen{false};
    std::atomic<int> asked{0};
  } waiting;
  options[0].surroundings = &waiting;
  options[0].timeout = 600;
  std::unique_ptr<Membership> chief, worker;
  std::thread serving([&] { (void)Membership::join(options[0], &chief); });
  options[1].secret = makeSecret("0123456789abcdef");
  options[1].timeout = 120;
  status[1] = Membership::join(options[1], &worker);
  waiting.hasSeen = true;
  serving.join();
  EXPECT_THAT(status[1].message(),
              HasSubstr("the chief does not have this job's secret (worker 0"));
}
