//===- communicator_failures_test.cpp - Ranks that are missing, or differ -===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/communicator_test.h"
#include <chrono>
#include <thread>

namespace dist::cts {

namespace {

class FailuresTest : public CommunicatorTest {};

TEST_P(FailuresTest, MissingRanksAreNamed) {
  auto world = GetParam().create({4}, 1);
  std::vector<Status> status(4);
  onRanks(4, [&](int rank) {
    float value = 0;
    if (rank == 0 || rank == 2)
      status[rank] = world->rank(rank).allReduce(5, &value, 1, manifest::F32,
                                                 Reduction::Sum, first);
  });
  for (int rank : {0, 2}) {
    EXPECT_EQ(status[rank].code(), StatusCode::Unavailable);
    auto names = [&](const std::string &who) {
      return status[rank].message().find(who + " did not arrive within 1 s") !=
             std::string::npos;
    };
    EXPECT_TRUE(GetParam().namesAllMissing ? names("ranks 1, 3")
                                           : names("rank 1") || names("rank 3"))
        << status[rank].message();
    EXPECT_NE(status[rank].message().find("op 5"), std::string::npos);
  }
  // A late rank hears of it at once, and after a reset all is well.
  EXPECT_EQ(world->rank(1).barrier(6, first).code(), StatusCode::Unavailable);
  if (!GetParam().takesBack)
    return;
  world->reset();
  onRanks(4, [&](int rank) { EXPECT_OK(world->rank(rank).barrier(7, first)); });
}

TEST_P(FailuresTest, DifferentCollectivesAreToldApart) {
  auto world = GetParam().create({2}, 20);
  std::vector<Status> status(2);
  auto expectMismatch = [&](const std::string &part) {
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_FALSE(status[rank].ok());
    std::string both = status[0].message() + status[1].message();
    EXPECT_NE(both.find("different collectives"), std::string::npos) << both;
    EXPECT_NE(both.find(part), std::string::npos) << both;
    world->reset();
  };
  onRanks(2, [&](int rank) {
    float own[2] = {};
    status[rank] = world->rank(rank).allReduce(rank, own, 1, manifest::F32,
                                               Reduction::Sum, first);
  });
  expectMismatch("op 1");
  onRanks(2, [&](int rank) {
    float own[2] = {};
    status[rank] = world->rank(rank).allReduce(0, own, 1 + rank, manifest::F32,
                                               Reduction::Sum, first);
  });
  expectMismatch("2 elements");
  onRanks(2, [&](int rank) {
    float own = 0;
    status[rank] = rank ? world->rank(1).barrier(0, first)
                        : world->rank(0).allReduce(0, &own, 1, manifest::F32,
                                                   Reduction::Sum, first);
  });
  expectMismatch("barrier");
}

TEST_P(FailuresTest, AbortWakesWhoWaits) {
  auto world = GetParam().create({2}, 60);
  auto start = std::chrono::steady_clock::now();
  Status status;
  onRanks(2, [&](int rank) {
    if (rank == 0) {
      status = world->rank(0).barrier(9, first);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    world->rank(1).abort(0, "rank 1 met a label out of range");
    world->rank(1).abort(0, "later reasons do not count");
  });
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("label out of range"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_P(FailuresTest, WrongCallsAreErrors) {
  auto world = GetParam().create({2}, 1);
  float value = 0;
  EXPECT_EQ(world->rank(0)
                .allReduce(0, &value, 1, manifest::F32, Reduction::Sum, 2)
                .code(),
            StatusCode::Internal);
  EXPECT_EQ(world->rank(0)
                .allReduce(0, &value, 1, manifest::DATA_TYPE_UNKNOWN,
                           Reduction::Sum, 1)
                .code(),
            StatusCode::Internal);
  EXPECT_EQ(world->rank(0).broadcast(0, &value, 4, 2, 1).code(),
            StatusCode::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Backends, FailuresTest, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
