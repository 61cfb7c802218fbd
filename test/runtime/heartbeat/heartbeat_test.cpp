//===- heartbeat_test.cpp - Processes that watch each other --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/heartbeat/heartbeat_fixture.h"

namespace dist::cluster {

TEST_F(HeartbeatTest, AllHearOfEachOthersSteps) {
  serve(60);
  join(1, 60);
  join(2, 60);
  IdleRank rank(2);
  members[2]->attach({&rank}, nullptr);
  members[2]->done({1, 41, 32, 0.1, 0});
  EXPECT_TRUE(
      holds([&] { return members[0]->status().members(2).step() == 42; }));
  EXPECT_TRUE(
      holds([&] { return stateOf(1) == proto::ClusterStatus::Member::WORKS; }));
  // From outside it is the same.
  proto::ClusterStatus seen;
  Status status = askForStatus("127.0.0.1", endpoint, &seen);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(seen.members(2).step(), 42);
  EXPECT_EQ(seen.members(1).task(), "worker 1");
  // Who leaves in order is missed by none.
  members[2]->detach();
  members[2].reset();
  EXPECT_TRUE(holds(
      [&] { return stateOf(2) == proto::ClusterStatus::Member::HAS_LEFT; }));
  members[0].reset();
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(members[1]->check().ok());
}

TEST_F(HeartbeatTest, AnEndWithoutAWordIsToldToAll) {
  serve(0);
  join(1, 0);
  IdleRank rank(0), other(1);
  members[0]->attach({&rank}, [](int rank, int32_t op) {
    return "op " + std::to_string(op) + " of rank " + std::to_string(rank);
  });
  members[1]->attach({&other}, nullptr);
  std::unique_ptr<Connection> lost = enter(2);
  sendBeat(*lost, 17, 2);
  EXPECT_TRUE(
      holds([&] { return members[0]->status().members(2).step() == 17; }));
  lost.reset();
  const char *why = "worker 2 at 127.0.0.1:3 (process 102) has ended; it was "
                    "last in step 17, at op 5 of rank 2";
  EXPECT_THAT(failureOf(0), HasSubstr(why));
  EXPECT_THAT(failureOf(1), HasSubstr(why));
  EXPECT_THAT(rank.abortedFor(), why);
  EXPECT_THAT(other.abortedFor(), why);
  EXPECT_EQ(stateOf(2), proto::ClusterStatus::Member::LOST);
  Status failed = Status::error(StatusCode::Unavailable, "all_reduce failed");
  EXPECT_EQ(members[0]->explain(failed).message(), "all_reduce failed");
  // Ranks that come later, too.
  IdleRank late(0);
  members[0]->attach({&late}, nullptr);
  EXPECT_THAT(late.abortedFor(), why);
}

// The chief may see in one look that it came, what it said, and its end.
TEST_F(HeartbeatTest, AnEndAtTheDoorIsToldToAll) {
  serve(0);
  join(1, 0);
  std::unique_ptr<Connection> lost = reachChief(2);
  lost.reset(); // before its hello
  const char *why = "worker 2 at 127.0.0.1:3 (process 102) has ended";
  EXPECT_THAT(failureOf(0), HasSubstr(why));
  EXPECT_THAT(failureOf(1), HasSubstr(why));
}

/// For a second, or until who looks has a CPU.
static constexpr char kSilent[] = "worker 2 at 127.0.0.1:3 \\(process 102\\) "
                                  "shows no sign of life for 1(\\.[0-9])? s";

// As one whose process is frozen there.
TEST_F(HeartbeatTest, SilenceAtTheDoorIsToldToAll) {
  serve(1);
  join(1, 60);
  std::unique_ptr<Connection> silent = reachChief(2);
  EXPECT_THAT(failureOf(1), ContainsRegex(kSilent));
}

TEST_F(HeartbeatTest, SilenceIsToldToAllAndToWhoWasSilent) {
  serve(1);
  join(1, 60);
  std::unique_ptr<Connection> silent = enter(2);
  EXPECT_THAT(failureOf(0), ContainsRegex(kSilent));
  EXPECT_THAT(failureOf(1), HasSubstr("worker 2 at 127.0.0.1:3"));
  std::vector<proto::Control> heard;
  EXPECT_TRUE(holds([&] {
    EXPECT_TRUE(silent->receive(&heard));
    return !heard.empty() && heard.back().has_loss();
  }));
  EXPECT_EQ(heard.back().loss().member(), 2);
}

// As with parameter servers, to which lost workers come back.
TEST_F(HeartbeatTest, AnAdmittedMemberIsWatchedAsTheOthersAre) {
  outlivesMembers = true;
  serve(0);
  join(1, 0);
  std::unique_ptr<Connection> none = enter(3); // it is no member yet
  std::vector<proto::Control> heard;
  EXPECT_TRUE(holds([&] { return !none->receive(&heard); }));
  members[0]->admit({"worker 1", "127.0.0.1:2", "here", 104});
  HeartbeatOptions options = optionsOf(3, 0);
  options.members.resize(4);
  std::unique_ptr<Heartbeat> back;
  Status status = Heartbeat::join(options, "127.0.0.1", endpoint, &back);
  ASSERT_TRUE(status.ok()) << status.message();
  back->begin(7);
  EXPECT_TRUE(holds([&] {
    return members[0]->status().members_size() == 4 &&
           members[0]->status().members(3).step() == 7;
  }));
  EXPECT_EQ(members[0]->status().members(3).process(), 104);
  back.reset();
  std::unique_ptr<Connection> again = enter(3);
  again.reset();
  // The others hear of it, who do not know its number; one that comes later,
  // too.
  ASSERT_TRUE(holds([&] { return !members[1]->findLost(false).empty(); }));
  EXPECT_EQ(members[1]->findLost(false)[0].member, 3);
  EXPECT_THAT(members[1]->findLost(false)[0].why,
              HasSubstr("worker 1 at 127.0.0.1:2 (process 104) has ended"));
  join(2, 0);
  EXPECT_TRUE(holds([&] { return !members[2]->findLost(false).empty(); }));
}

// As with parameter servers, whose steps any worker runs.
TEST_F(HeartbeatTest, WhereOthersTakeOverALossIsNoFailure) {
  outlivesMembers = true;
  serve(0);
  join(1, 0);
  members[1]->begin(18);
  EXPECT_TRUE(
      holds([&] { return members[0]->status().members(1).step() == 18; }));
  // The chief's steps, which it runs none of, are the cluster's rate.
  members[0]->done({1, 17, 32, 0.5, 0});
  EXPECT_TRUE(
      holds([&] { return members[0]->status().examples_per_second() == 64; }));
  std::unique_ptr<Connection> lost = enter(2);
  sendBeat(*lost, 17, 2);
  EXPECT_TRUE(
      holds([&] { return members[0]->status().members(2).step() == 17; }));
  lost.reset();
  for (int member : {0, 1}) {
    EXPECT_TRUE(
        holds([&] { return !members[member]->findLost(false).empty(); }));
    ASSERT_EQ(members[member]->findLost(false).size(), 1u);
    EXPECT_EQ(members[member]->findLost(false)[0].member, 2);
    EXPECT_EQ(members[member]->findLost(false)[0].why,
              "worker 2 at 127.0.0.1:3 (process 102) has ended; it was last in "
              "step 17");
    EXPECT_TRUE(members[member]->check().ok());
  }
}

// As a process that was stopped finds it when it goes on.
TEST_F(HeartbeatTest, WhoWasGivenUpWritesNothing) {
  for (bool outlives : {false, true}) {
    outlivesMembers = outlives;
    std::unique_ptr<Connection> chief = joinOwnChief(60);
    IdleRank rank(1);
    members[1]->attach({&rank}, nullptr);
    EXPECT_TRUE(members[1]->check().ok());
    proto::Control loss;
    loss.mutable_loss()->set_member(1);
    loss.mutable_loss()->set_why("it slept");
    EXPECT_TRUE(chief->send(loss));
    chief.reset();
    EXPECT_THAT(failureOf(1),
                HasSubstr("this process is none of the cluster any more: the "
                          "others have given it up, since it slept"));
    EXPECT_THAT(rank.abortedFor(), HasSubstr("it slept"));
    // However it heard of it.
    Status failed = Status::error(StatusCode::Unavailable, "all_reduce failed");
    EXPECT_THAT(members[1]->explain(failed).message(), HasSubstr("it slept"));
    Status other = Status::error(StatusCode::InvalidInput, "a label");
    EXPECT_EQ(members[1]->explain(other).message(), "a label");
    ASSERT_FALSE(members[1]->findLost(false).empty());
    EXPECT_EQ(members[1]->findLost(false)[0].member, 1);
    members[1]->detach();
  }
}

TEST_F(HeartbeatTest, ALostChiefIsToldSoByWhoLosesIt) {
  std::unique_ptr<Connection> chief = joinOwnChief(1);
  chief->trust();
  EXPECT_THAT(failureOf(1), HasSubstr("worker 0 at 127.0.0.1:1 (process 100) "
                                      "shows no sign of life"));
  std::vector<proto::Control> heard;
  EXPECT_TRUE(holds([&] {
    EXPECT_TRUE(chief->receive(&heard));
    return !heard.empty() && heard.back().has_loss();
  }));
  EXPECT_EQ(heard.back().loss().member(), 0);
}

} // namespace dist::cluster
