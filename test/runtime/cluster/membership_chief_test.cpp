//===- membership_chief_test.cpp - A chief is lost --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the store is not the chief's, the others go on without it. Each member
// is a thread of its own here; one that is lost just does nothing.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/cluster_fixture.h"
#include "test/runtime/cluster/etcd_fixture.h"
#include "test/runtime/cluster/mortal.h"
#include <atomic>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class MembershipChief : public EtcdTest {
protected:
  void SetUp() override {
    EtcdTest::SetUp();
    if (IsSkipped() || HasFailure())
      return;
    ASSERT_FALSE(parseAddress(address, &store.addresses.emplace_back()));
    for (int i = 0; i < 3; ++i)
      spec.of(Job::Worker).push_back({"127.0.0.1", nextPort++});
    all([&](int i) { return join(i, &members[i], &machines[i]); });
  }
  void TearDown() override {
    for (auto &member : members)
      member.reset();
    EtcdTest::TearDown();
  }
  Status join(int index, std::unique_ptr<Membership> *out,
              Surroundings *machine = nullptr) const {
    MembershipOptions options;
    options.spec = spec;
    options.spec.self = Task{Job::Worker, index};
    options.timeout = 120;
    options.store = store;
    options.isElastic = true;
    options.surroundings = machine;
    return Membership::join(options, out);
  }
  /// All of `who` do so at once.
  void all(const std::function<Status(int)> &what,
           const std::vector<int> &who = {0, 1, 2}) {
    atOnce(who, what);
  }
  static RegroupOptions without(std::vector<int> lost, double turn = 60) {
    RegroupOptions options;
    options.lost = [lost] { return lost; };
    options.timeout = 60;
    options.turn = turn;
    return options;
  }
  std::vector<std::string> namesAt(int i) const {
    std::vector<std::string> names;
    for (int member = 0; member < int(members[i]->members().size()); ++member)
      names.push_back(members[i]->nameOf(member));
    return names;
  }
  /// They hear each other, the chief's first.
  void expectHeard(const std::vector<int> &who) {
    std::vector<std::vector<std::string>> expected;
    for (int i : who)
      expected.push_back({std::to_string(i)});
    all(
        [&](int i) {
          std::vector<std::vector<std::string>> heard;
          Status status =
              members[i]->exchange("test", {std::to_string(i)}, &heard);
          EXPECT_EQ(heard, expected);
          return status;
        },
        who);
  }

  /// Nobody listens there: they tell jobs apart.
  static inline int nextPort = 1;
  SharedStore store;
  ClusterSpec spec;
  Mortal machines[3];
  std::unique_ptr<Membership> members[3];
};

INSTANTIATE_TEST_SUITE_P(Servers, MembershipChief,
                         testing::Values("embedded", "etcd"),
                         [](auto &info) { return std::string(info.param); });

} // namespace

TEST_P(MembershipChief, TheLowestThatIsLeftTakesItsPlace) {
  expectHeard({0, 1, 2});
  all([&](int i) { return members[i]->regroup(without({0})); }, {1, 2});
  for (int i : {1, 2}) {
    EXPECT_EQ(members[i]->epoch(), 1);
    EXPECT_EQ(members[i]->self(), i - 1);
    EXPECT_THAT(namesAt(i), ElementsAre("worker 1", "worker 2"));
  }
  expectHeard({1, 2});
  // Who asks at the old one's address hears where the new one is.
  for (int i : {0, 1}) {
    Address chief = spec.of(Job::Worker)[i];
    std::string read;
    Status asked = readFromChief(&chief, {}, "test", &read, store);
    EXPECT_TRUE(asked.ok()) << asked.message();
    EXPECT_EQ(read, "1");
    EXPECT_EQ(chief.text(), spec.of(Job::Worker)[1].text());
  }
  // It wakes, and takes the others for lost.
  EXPECT_THAT(members[0]->regroup(without({1, 2})).message(),
              HasSubstr("the cluster goes on without this process (worker 0 "));
  // Its end takes nothing from them.
  members[0].reset();
  all([&](int i) { return members[i]->regroup(without({})); }, {1, 2});
  EXPECT_THAT(namesAt(2), ElementsAre("worker 1", "worker 2"));
}

/// It has entered the new epoch, too, and may close its roll, or find that it
/// is the chief no more.
TEST_P(MembershipChief, OneThatIsCutOffFromTheOthersAloneIsNoSecondChief) {
  Status met[3];
  std::vector<std::thread> threads;
  for (int i : {0, 1, 2})
    threads.emplace_back([&, i] {
      met[i] = members[i]->regroup(
          without(i == 0 ? std::vector<int>{1, 2} : std::vector<int>{0}));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_NE(met[0].ok(), met[1].ok())
      << met[0].message() << "; " << met[1].message();
  EXPECT_EQ(met[1].ok(), met[2].ok());
  for (int i : {0, 1, 2}) {
    if (!met[i].ok())
      EXPECT_THAT(met[i].message(),
                  HasSubstr("the cluster goes on without this process"));
    else
      EXPECT_EQ(int(members[i]->members().size()), i == 0 ? 1 : 2);
  }
}

TEST_P(MembershipChief, OneThatWasLostWithItIsNotWaitedForLong) {
  RegroupOptions alone = without({0}, /*turn=*/1);
  alone.timeout = 2;
  all([&](int i) { return members[i]->regroup(alone); }, {2});
  EXPECT_THAT(namesAt(2), ElementsAre("worker 2"));
  EXPECT_EQ(members[2]->self(), 0);
}

/// Nobody watches it yet: the end of its lease tells the one that is left, and
/// does not end the run.
TEST_P(MembershipChief, AnElectedOneMayBeLostAtOnce) {
  for (auto &member : members)
    member->endStart();
  machines[0].kill();
  all([&](int i) { return members[i]->regroup(without({0})); }, {1, 2});
  machines[1].kill();
  std::vector<std::vector<std::string>> heard;
  EXPECT_THAT(members[2]->exchange("test", {"2"}, &heard).message(),
              HasSubstr("a process of the cluster has ended (worker 1 at "));
  EXPECT_THAT(members[2]->findGone(), ElementsAre(0));
  all([&](int i) { return members[i]->regroup(without({}, /*turn=*/1)); }, {2});
  EXPECT_EQ(members[2]->epoch(), 2);
  EXPECT_THAT(namesAt(2), ElementsAre("worker 2"));
  expectHeard({2});
}

TEST_P(MembershipChief, OfSeveralThatWouldBeOneIs) {
  all([&](int i) { return members[i]->regroup(without({0}, /*turn=*/0)); },
      {1, 2});
  EXPECT_EQ(namesAt(1), namesAt(2));
  EXPECT_NE(members[1]->self(), members[2]->self());
  members[1]->self() == 0 ? expectHeard({1, 2}) : expectHeard({2, 1});
}

TEST_P(MembershipChief, ItsPlaceIsAnothersWhenItsTaskComesAgain) {
  all([&](int i) { return members[i]->regroup(without({0})); }, {1, 2});
  std::unique_ptr<Membership> before = std::move(members[0]);
  std::thread comes([&] {
    Status status = join(0, &members[0]);
    EXPECT_TRUE(status.ok()) << status.message();
  });
  // The run's first epoch is over, and so may be what its chief has told.
  before.reset();
  auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!members[1]->hasNewcomers() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(members[2]->hasNewcomers()); // for the chief to say
  all([&](int i) { return members[i]->regroup(without({})); }, {1, 2});
  comes.join();
  ASSERT_TRUE(members[0]);
  EXPECT_EQ(members[0]->epoch(), 2);
  for (int i : {0, 1, 2})
    EXPECT_THAT(namesAt(i), ElementsAre("worker 1", "worker 0", "worker 2"));
  expectHeard({1, 0, 2});
}

/// A run that is killed and started again at once does not find its old chief.
TEST_P(MembershipChief, AWholeRunMayComeAgain) {
  all([&](int i) { return members[i]->regroup(without({0})); }, {1, 2});
  std::unique_ptr<Membership> again[3];
  std::atomic<bool> isKilled{false};
  std::thread kill([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    for (auto &member : members)
      member.reset();
    isKilled = true;
  });
  all([&](int i) { return join(i, &again[i]); });
  kill.join();
  for (auto &member : again) {
    ASSERT_TRUE(member);
    EXPECT_EQ(member->epoch(), 0);
    EXPECT_EQ(member->members().size(), 3u);
  }
}
