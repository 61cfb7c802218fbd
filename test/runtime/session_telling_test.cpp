//===- session_telling_test.cpp - What sessions say in each step ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// It is prepared, and takes no memory. A wait of a fifth of a second looks at
// the other ranks, for which it takes some; so one quiet round of many is
// looked for.
//
//===----------------------------------------------------------------------===//
#include "test/runtime/cts/allocations.h"
#include "test/runtime/processes_fixture.h"

namespace dist::test {
namespace {

using cts::allocations;

class SessionTelling : public SessionTest,
                       public testing::WithParamInterface<Between> {
protected:
  Processes processes{GetParam()};

  /// Rank i is of process `processOf[i]`.
  void openAs(const std::vector<int> &processOf) {
    describe(int(processOf.size()));
    ASSERT_TRUE(open().ok());
    session.reset();
    Status status = processes.open(folder, m, processOf);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// By process: for what those of `from` tell.
  std::vector<std::unique_ptr<Telling>> prepare(const std::vector<int> &from,
                                                int64_t bytes) {
    std::vector<std::unique_ptr<Telling>> tellings;
    for (auto &own : processes.sessions) {
      Status status =
          own->prepareTelling(from, bytes, &tellings.emplace_back());
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return tellings;
  }
};

TEST_P(SessionTelling, TakesNoMemoryInSteps) {
  openAs({0, 1});
  auto tellings = prepare({0, 1}, 48);
  int64_t fewest[2] = {-1, -1};
  expectOk(processes.onAll([&](int process, Session &own) {
    int64_t blocks[2][6] = {};
    for (int round = 0; round < 30; ++round) {
      int64_t before = allocations.load();
      bool everywhere = false;
      DIST_RETURN_IF_ERROR(own.agree(true, &everywhere));
      EXPECT_TRUE(everywhere);
      // Also of fewer bytes, from the second time on.
      for (int64_t bytes : {48, 16})
        DIST_RETURN_IF_ERROR(tellings[process]->tell(blocks, bytes));
      int64_t taken = allocations.load() - before;
      fewest[process] =
          fewest[process] < 0 ? taken : std::min(fewest[process], taken);
    }
    int64_t before = allocations.load();
    std::vector<std::string> all;
    DIST_RETURN_IF_ERROR(own.exchange("a text of any length", &all));
    if (cts::isCounted) {
      EXPECT_GT(allocations.load(), before)
          << "what is not prepared is counted";
    }
    return Status();
  }));
  EXPECT_EQ(fewest[0], 0);
  EXPECT_EQ(fewest[1], 0);
}

// Process 0 has two devices. Fewer bytes than there is room for lie together.
TEST_P(SessionTelling, BringsToAllWhatSomeTell) {
  openAs({0, 0, 1, 2});
  auto both = prepare({0, 2}, 32), last = prepare({2}, 8);
  for (int64_t round : {1, 2})
    expectOk(processes.onAll([&](int process, Session &) {
      int64_t two[2] = {}, one = 0;
      if (process == 0)
        two[0] = 10 * round;
      if (process == 2)
        two[1] = one = 10 * round + 2;
      DIST_RETURN_IF_ERROR(both[process]->tell(two, sizeof two[0]));
      DIST_RETURN_IF_ERROR(last[process]->tell(&one, sizeof one));
      EXPECT_EQ(two[0], 10 * round);
      EXPECT_EQ(two[1], 10 * round + 2);
      EXPECT_EQ(one, 10 * round + 2);
      return Status();
    }));
}

TEST_P(SessionTelling, AgreesOnWhatAllSay) {
  openAs({0, 1, 1, 1});
  for (int no : {-1, 0, 1})
    expectOk(processes.onAll([&](int process, Session &own) {
      bool everywhere = no >= 0;
      DIST_RETURN_IF_ERROR(own.agree(process != no, &everywhere));
      EXPECT_EQ(everywhere, no < 0);
      return Status();
    }));
}

TEST_P(SessionTelling, RefusesAnotherNumberOfSteps) {
  openAs({0, 1});
  auto tellings = prepare({0}, 40);
  int64_t blocks[2][8] = {};
  auto statuses = processes.onAll([&](int process, Session &) {
    return tellings[process]->tell(blocks[process], process == 0 ? 16 : 24);
  });
  for (int process : {0, 1}) {
    const Status &status = statuses[process];
    EXPECT_EQ(status.code(), StatusCode::Internal);
    EXPECT_EQ(status.message(), "processes cannot agree (process " +
                                    std::to_string(1 - process) +
                                    "): it made another number of steps");
    // They have met, and what they say next would meet the rest of this.
    Status after = tellings[process]->tell(blocks[process], 16);
    EXPECT_NE(after.message().find("the generation of these processes has "
                                   "ended"),
              std::string::npos)
        << after.message();
  }
}

TEST_P(SessionTelling, HasRoomForWhatIsPrepared) {
  openAs({0, 1});
  auto tellings = prepare({0}, 8);
  int64_t blocks[2][4] = {};
  for (const Status &status : processes.onAll([&](int process, Session &) {
         return tellings[process]->tell(blocks[process], 16);
       }))
    EXPECT_NE(status.message().find("16 bytes are to be told, and 8 were "
                                    "prepared"),
              std::string::npos)
        << status.message();
}

INSTANTIATE_TEST_SUITE_P(Through, SessionTelling,
                         testing::Values(Between::Memory, Between::Messages),
                         nameOf);

} // namespace
} // namespace dist::test
