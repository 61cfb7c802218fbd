//===- communicator_plan_test.cpp - Collectives that are prepared ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/communicator_test.h"
#include <thread>

namespace dist::cts {

namespace {

using Kind = CollectiveKind;

/// A collective of one tensor of integers along the mesh's first axis.
struct Whole {
  int64_t axis = 0;
  Piece piece{};
  Collective call;

  Whole(Kind kind, int32_t op, int64_t count) {
    piece.type = manifest::I32;
    piece.outer = piece.rows = 1;
    piece.bytes = 4 * count;
    call.kind = kind;
    call.op = op;
    call.axes = {&axis, 1};
    call.pieces = {&piece, 1};
  }
  std::unique_ptr<CollectivePlan> prepare(Communicator &rank) const {
    std::unique_ptr<CollectivePlan> plan;
    Status status = rank.prepare(call, &plan);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan;
  }
};

Status run(Communicator &rank, CollectivePlan &plan,
           std::vector<int32_t> *data) {
  void *buffer = data->data();
  return rank.run(plan, &buffer, &buffer);
}

class PlanTest : public CommunicatorTest {
protected:
  std::unique_ptr<World> world;

  template <typename Body> void onAll(Body body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world->ranks(); ++rank)
      threads.emplace_back([&, rank] { body(rank, world->rank(rank)); });
    for (std::thread &thread : threads)
      thread.join();
  }
};

// In each step the same plans, some of which are left out; what belongs to no
// step comes between them.
TEST_P(PlanTest, RunInEachStep) {
  world = GetParam().create({3}, 60);
  onAll([](int rank, Communicator &own) {
    Whole small(Kind::AllReduce, 1, 3), large(Kind::AllReduce, 2, 20000);
    auto first = small.prepare(own), second = large.prepare(own),
         third = small.prepare(own);
    EXPECT_EQ(first->channel, second->channel);
    first->number = 0;
    second->number = 1;
    third->number = 2;
    for (int step = 0; step < 12; ++step) {
      own.beginStep();
      for (CollectivePlan *plan : {first.get(), second.get(), third.get()}) {
        if (plan == first.get() && step % 3)
          continue;
        std::vector<int32_t> data(plan == second.get() ? 20000 : 3,
                                  step + rank);
        Status status = run(own, *plan, &data);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(data.front(), 3 * step + 3);
        ASSERT_EQ(data.back(), 3 * step + 3);
      }
      int32_t value = rank;
      Status status =
          own.allReduce(sessionOp, &value, 1, manifest::I32, Reduction::Max, 1);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(value, 2);
    }
  });
}

TEST_P(PlanTest, SendsAndReceivesInEachStep) {
  world = GetParam().create({2}, 60);
  onAll([](int rank, Communicator &own) {
    Whole whole(rank ? Kind::Recv : Kind::Send, 4, 5);
    whole.call.peer = 1 - rank;
    whole.call.tag = 9;
    auto first = whole.prepare(own), second = whole.prepare(own);
    EXPECT_EQ(first->channel, second->channel);
    first->number = 0;
    second->number = 1;
    for (int step = 0; step < 12; ++step) {
      own.beginStep();
      for (int i = 0; i < 2; ++i) {
        std::vector<int32_t> data(5, rank ? 0 : 2 * step + i);
        Status status = run(own, i ? *second : *first, &data);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(data.back(), 2 * step + i);
      }
    }
  });
}

// What is wrong is told before anything runs, to the rank alone.
TEST_P(PlanTest, AreRefusedBeforeTheyRun) {
  world = GetParam().create({2}, 60);
  Whole wrong(Kind::AllReduce, 6, 1);
  wrong.axis = 3;
  std::unique_ptr<CollectivePlan> plan;
  Status status = world->rank(0).prepare(wrong.call, &plan);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("all_reduce got axes that the mesh has not "
                                  "(op 6)"),
            std::string::npos)
      << status.message();
  onAll([](int, Communicator &own) {
    Status status = own.barrier(7, 1);
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

TEST_P(PlanTest, OfAnOlderGenerationCannotStart) {
  world = GetParam().create({2}, 60);
  Whole sum(Kind::AllReduce, 6, 1);
  auto before = sum.prepare(world->rank(0));
  world->reset();
  std::vector<int32_t> data(1, 1);
  Status status = run(world->rank(0), *before, &data);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("all_reduce cannot start (op 6): it was "
                                  "prepared in generation 0, and this is "
                                  "generation 1"),
            std::string::npos)
      << status.message();
  onAll([&](int rank, Communicator &own) {
    std::vector<int32_t> data(1, rank);
    Status status = run(own, *sum.prepare(own), &data);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(data[0], 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, PlanTest, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
