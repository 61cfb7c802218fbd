//===- membership_returns_test.cpp - Who takes a lost one's place ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/cluster_fixture.h"
#include "test/runtime/cluster/ended_lease.h"
#include "test/runtime/cluster/reserved_port.h"
#include "test/runtime/cluster/system_surroundings.h"
#include <atomic>

using namespace dist;
using namespace dist::cluster;
using testing::HasSubstr;

namespace {

/// Time passes as the test says alone, so that on a busy machine no thread that
/// waits for a CPU is one that was stopped.
class OwnTime : public SystemSurroundings {
public:
  Clock::time_point now() override { return time; }
  void pass(milliseconds more) { time = time.load() + more; }

private:
  std::atomic<Clock::time_point> time{Clock::now()};
};

/// A chief, two workers and a parameter server, which have met.
class MembershipReturns : public testing::Test {
protected:
  void SetUp() override {
    spec.of(Job::Chief).push_back({"127.0.0.1", int(port)});
    spec.of(Job::Worker) = {{"127.0.0.1", 1}, {"127.0.0.1", 2}};
    spec.of(Job::Ps).push_back({"127.0.0.1", 3});
    atOnce({0, 1, 2, 3}, [&](int i) {
      DIST_RETURN_IF_ERROR(join(tasks[i], 60, &members[i]));
      members[i]->endStart();
      DIST_RETURN_IF_ERROR(members[i]->shareFacts({"program", {"cpu"}, {}}));
      return members[i]->agreeOn({{"--epochs", "3"}});
    });
  }
  void TearDown() override {
    for (int i : {3, 2, 1, 0})
      members[i].reset();
  }
  Status join(Task task, double timeout, std::unique_ptr<Membership> *out) {
    MembershipOptions options;
    options.spec = spec;
    options.spec.self = task;
    options.takesWorkersBack = true;
    options.timeout = timeout;
    options.surroundings = surroundings;
    return Membership::join(options, out);
  }
  /// Worker 0, started again.
  std::unique_ptr<Membership> returned(double timeout = 60) {
    members[1].reset();
    std::unique_ptr<Membership> again;
    Status status = join(tasks[1], timeout, &again);
    EXPECT_TRUE(status.ok()) << status.message();
    return again;
  }
  /// The next that comes with this text, which it is answered.
  void answer(const std::string &text, const std::string &told) {
    for (int i = 0; i < 6000; ++i) {
      for (const Comer &comer : members[0]->comers())
        if (comer.text == text) {
          EXPECT_TRUE(comer.task == tasks[1]);
          EXPECT_GT(comer.process, 0);
          return members[0]->answer(comer, told);
        }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "nobody comes";
  }
  /// What it is answered.
  std::string takePlace(Membership &again, const std::string &text,
                        const std::string &told) {
    std::string heard;
    std::thread coming([&] {
      Status status = again.takePlace(text, &heard);
      EXPECT_TRUE(status.ok()) << status.message();
    });
    answer(text, told);
    coming.join();
    return heard;
  }

  const Task tasks[4] = {
      {Job::Chief, 0}, {Job::Worker, 0}, {Job::Worker, 1}, {Job::Ps, 0}};
  const ReservedPort port;
  ClusterSpec spec;
  /// Of those who join; null: the system's.
  Surroundings *surroundings = nullptr;
  std::unique_ptr<Membership> members[4];
};

TEST_F(MembershipReturns, AWorkerThatIsStartedAgainIsAnswered) {
  std::unique_ptr<Membership> again = returned();
  ASSERT_TRUE(again && again->isBack());
  EXPECT_FALSE(members[2]->isBack());
  ASSERT_EQ(again->members().size(), 5u);
  EXPECT_EQ(again->self(), 4);
  EXPECT_EQ(again->nameOf(3), "ps 0");
  EXPECT_EQ(again->nameOf(4), "worker 0");
  EXPECT_TRUE(again->shareFacts({"program", {"cpu"}, {}}).ok());
  EXPECT_EQ(takePlace(*again, "here I am", "rank 4"), "rank 4");
  // Who is there stays so.
  EXPECT_EQ(members[0]->comers().size(), 1u);
}

TEST_F(MembershipReturns, ItHasToRunWhatTheOthersDo) {
  std::unique_ptr<Membership> again = returned();
  ASSERT_TRUE(again);
  EXPECT_THAT(again->shareFacts({"another", {"cpu"}, {}}).message(),
              HasSubstr("the processes have different programs (worker 0 at "
                        "127.0.0.1:1)"));
  EXPECT_TRUE(again->agreeOn({{"--epochs", "3"}}).ok());
  EXPECT_THAT(again->agreeOn({{"--epochs", "4"}}).message(),
              HasSubstr("the processes do not train alike (worker 0 at "
                        "127.0.0.1:1): its --epochs: 4, the others': 3"));
  std::vector<std::string> texts;
  EXPECT_THAT(again->readOfChief("nothing", &texts).message(),
              HasSubstr("the others have not begun yet"));
  EXPECT_TRUE(again->readOf(3, "nothing", &texts).ok());
  EXPECT_TRUE(texts.empty());
}

TEST_F(MembershipReturns, OneComesAtATime) {
  std::unique_ptr<Membership> again = returned(), other;
  ASSERT_TRUE(again);
  EXPECT_EQ(takePlace(*again, "first", "yes"), "yes");
  ASSERT_TRUE(join(tasks[1], 1, &other).ok());
  std::string heard;
  EXPECT_THAT(other->takePlace("second", &heard).message(),
              HasSubstr("the task is another process's already (worker 0)"));
  // When that one is gone.
  again.reset();
  ASSERT_TRUE(join(tasks[1], 60, &other).ok());
  EXPECT_EQ(takePlace(*other, "second", "now"), "now");
}

/// It may be frozen, too: its lease is renewed here, and the next one does not
/// wait for its end.
TEST_F(MembershipReturns, OneThatIsLostAgainIsReleasedAtOnce) {
  std::unique_ptr<Membership> again = returned(), next, last;
  ASSERT_TRUE(again);
  EXPECT_EQ(takePlace(*again, "first", "yes"), "yes");
  ASSERT_EQ(members[0]->comers().size(), 1u);
  const Comer first = members[0]->comers()[0];
  members[0]->release(first);
  ASSERT_TRUE(join(tasks[1], 60, &next).ok());
  EXPECT_EQ(takePlace(*next, "second", "so soon"), "so soon");
  // To be released once more takes nothing from who has come since.
  members[0]->release(first);
  ASSERT_TRUE(join(tasks[1], 3, &last).ok());
  std::string heard;
  EXPECT_THAT(last->takePlace("third", &heard).message(),
              HasSubstr("the task is another process's already (worker 0)"));
}

TEST_F(MembershipReturns, WhoIsNotAnsweredDoesNotWaitForEver) {
  std::unique_ptr<Membership> again = returned(/*timeout=*/1);
  ASSERT_TRUE(again);
  std::string heard;
  EXPECT_THAT(again->takePlace("here I am", &heard).message(),
              HasSubstr("the cluster does not take this process in"));
}

TEST_F(MembershipReturns, OneThatWasGivenUpComesBackByItself) {
  Membership &worker = *members[1];
  for (const char *told : {"rank 4", "rank 5"}) {
    ASSERT_TRUE(worker.beBack().ok());
    EXPECT_TRUE(worker.isBack());
    EXPECT_EQ(worker.members().size(), 5u);
    EXPECT_EQ(takePlace(worker, told, told), told);
  }
}

/// It has slept for longer than its lease lasts.
TEST_F(MembershipReturns, OneWhoseLeaseHasEndedComesBackByItself) {
  endLease(spec.of(Job::Chief)[0], 1, 0);
  ASSERT_TRUE(members[1]->beBack().ok());
  EXPECT_EQ(takePlace(*members[1], "here I am", "rank 4"), "rank 4");
}

TEST_F(MembershipReturns, NoOtherTaskComesBack) {
  members[3].reset();
  std::unique_ptr<Membership> again;
  EXPECT_THAT(join(tasks[3], 60, &again).message(),
              HasSubstr("the cluster goes on without this process (ps 0"));
}

TEST_F(MembershipReturns, AChiefThatIsGoneIsNamed) {
  OwnTime time;
  surroundings = &time;
  std::unique_ptr<Membership> again = returned();
  ASSERT_TRUE(again);
  members[0].reset();
  std::string heard;
  EXPECT_THAT(again->takePlace("here I am", &heard).message(),
              HasSubstr("the cluster has no chief (chief 0 at"));
  // What it did between two calls is no time for which it was stopped.
  time.pass(std::chrono::milliseconds(1500));
  std::vector<std::string> texts;
  EXPECT_THAT(again->readOfChief("facts", &texts).message(),
              HasSubstr("the cluster has no chief (chief 0 at"));
}

} // namespace
