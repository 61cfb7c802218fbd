//===- message_failures_test.cpp - Ranks that differ, or are lost ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/common/description.h"
#include "test/runtime/cts/message_apart.h"

namespace dist::cts {
namespace {

using Kind = CollectiveKind;

TEST(MessageWorld, RefusesWaysThatDiffer) {
  Apart two(2);
  two.ways = {Algorithm::Auto, Algorithm::Gather};
  two.open();
  for (const Status &status :
       two.onAll([](Communicator &rank) { return sumOne(rank); })) {
    EXPECT_FALSE(status.ok());
    for (const char *part : {"different collectives", "on rank 0 by exchange",
                             "on rank 1 by gather"})
      EXPECT_NE(status.message().find(part), std::string::npos)
          << status.message();
  }
}

TEST(MessageWorld, NamesWhoIsLost) {
  Apart three(3);
  three.open();
  std::vector<Status> status = three.onAll([&](Communicator &rank) {
    if (rank.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      three.worlds[1].reset();
      return Status();
    }
    return sumOne(rank);
  });
  for (int rank : {0, 2}) {
    EXPECT_EQ(status[rank].code(), StatusCode::Unavailable);
    EXPECT_NE(status[rank].message().find(
                  "all_reduce failed (op 5): rank 1 of worker w1 was lost: its "
                  "end was closed"),
              std::string::npos)
        << status[rank].message();
  }
}

// Two that only give meet nobody then, but at their next collective.
TEST(MessageWorld, RememberWhatWasDifferent) {
  Apart two(2);
  two.open();
  std::vector<Status> status = two.onAll([&](Communicator &rank) {
    float value = 0;
    Status first = rank.broadcast(3, &value, 4, rank.rank(), 1);
    return first.ok() ? sumOne(rank) : first;
  });
  for (const Status &one : status) {
    EXPECT_FALSE(one.ok());
    EXPECT_NE(one.message().find("different collectives"), std::string::npos)
        << one.message();
  }
}

// A rank that computes says why at its next call, and who has blamed it.
TEST(MessageWorld, AbortReachesWhoIsElsewhere) {
  for (std::string why : {"rank 0 met a wrong label", "worker w1 is silent",
                          "worker w12 is silent"}) {
    Apart two(2);
    two.open();
    two.rank(0).abort(0, why);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Status status = sumOne(two.rank(1));
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
    if (why == "worker w1 is silent")
      why = "rank 0 of worker w0 says of this process: " + why;
    EXPECT_NE(status.message().find(": " + why), std::string::npos) << why;
  }
}

// One begins anew before the other has: its messages wait.
TEST(MessageWorld, GenerationsDoNotMeet) {
  Apart two(2);
  two.open();
  int32_t value = 1;
  void *data = &value;
  DenseCollective message(Kind::Send, 0, 1, manifest::I32, 4);
  Collective &call = message.call;
  call.peer = 1;
  EXPECT_TRUE(two.rank(0).runOnce(call, &data, &data).ok());
  two.worlds[0]->reset();
  value = 2;
  EXPECT_TRUE(two.rank(0).runOnce(call, &data, &data).ok());
  two.worlds[1]->reset();
  call.kind = Kind::Recv;
  call.peer = 0;
  value = 0;
  Status status = two.rank(1).runOnce(call, &data, &data);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(value, 2);
}

/// One sum of a step, of a number there.
Status sumNumbered(Communicator &rank, int32_t number) {
  DenseCollective sum(Kind::AllReduce, 5, 1, manifest::F32, 4);
  std::unique_ptr<CollectivePlan> plan;
  DIST_RETURN_IF_ERROR(rank.prepare(sum.call, &plan));
  plan->number = number;
  float value = 1;
  void *buffer = &value;
  return rank.run(*plan, &buffer, &buffer);
}

// One left a step out: the others do not take its sums for theirs.
TEST(MessageWorld, StepsDoNotMeet) {
  Apart two(2);
  two.open();
  std::vector<Status> status = two.onAll([&](Communicator &rank) {
    rank.beginStep();
    if (rank.rank() == 1)
      rank.beginStep();
    return sumNumbered(rank, 0);
  });
  std::string both = status[0].message() + status[1].message();
  EXPECT_FALSE(status[0].ok());
  EXPECT_FALSE(status[1].ok());
  EXPECT_NE(both.find("different collectives"), std::string::npos) << both;
  EXPECT_NE(both.find("in steps 2 and 1"), std::string::npos) << both;
}

constexpr uint64_t k32Bits = uint64_t(1) << 32;

// Steps are counted for as long as a run lasts.
TEST(MessageWorld, StepsGoOnBehind32Bits) {
  Apart two(2);
  two.options.firstStep = k32Bits - 2;
  two.open();
  for (int generation = 0; generation < 2; ++generation) {
    std::vector<Status> status = two.onAll([&](Communicator &rank) {
      for (int32_t step = 0; step < 4; ++step) {
        int32_t value = step;
        void *data = &value;
        DenseCollective message(rank.rank() == 0 ? Kind::Send : Kind::Recv, 0,
                                1, manifest::I32, 4);
        message.call.peer = 1 - rank.rank();
        rank.beginStep();
        for (int32_t number : {0, 1})
          DIST_RETURN_IF_ERROR(sumNumbered(rank, number));
        DIST_RETURN_IF_ERROR(rank.runOnce(message.call, &data, &data));
        DIST_RETURN_IF_ERROR(sumOne(rank));
        EXPECT_EQ(value, step);
      }
      return Status();
    });
    for (const Status &one : status)
      EXPECT_TRUE(one.ok()) << one.message();
    for (auto &world : two.worlds)
      world->reset();
  }
}

TEST(MessageWorld, StepsBehind32BitsDoNotMeet) {
  Apart two(2);
  two.options.firstStep = k32Bits - 1;
  two.open();
  std::vector<Status> status = two.onAll([&](Communicator &rank) {
    rank.beginStep();
    if (rank.rank() == 1)
      rank.beginStep();
    return sumNumbered(rank, 0);
  });
  std::string both = status[0].message() + status[1].message();
  EXPECT_FALSE(status[0].ok());
  EXPECT_FALSE(status[1].ok());
  EXPECT_NE(both.find("in steps 4294967297 and 4294967296"), std::string::npos)
      << both;
}

// Its number may be anything where another build runs.
TEST(MessageWorld, ACallThatThereIsNotIsNamed) {
  Call own{Kind::AllReduce, 5, 3, 0, Algorithm::Ring}, other = own;
  other.kind = static_cast<Kind>(99);
  other.algorithm = static_cast<Algorithm>(-1);
  EXPECT_EQ(
      describeMismatch({}, 0, own, 1, other),
      "ranks are at different collectives: all_reduce of op 5 with 3 "
      "elements on rank 0 by ring, a collective that there is not of op 5 "
      "with 3 elements on rank 1 by an algorithm that there is not");
}

TEST(MessageWorld, NumbersComeInOrder) {
  Apart two(2);
  two.open();
  for (const Status &status : two.onAll([&](Communicator &rank) {
         rank.beginStep();
         return sumNumbered(rank, 1);
       }))
    EXPECT_TRUE(status.ok()) << status.message();
  Status status = sumNumbered(two.rank(0), 0);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("it is number 0 of those with these ranks"),
            std::string::npos)
      << status.message();
}

} // namespace
} // namespace dist::cts
