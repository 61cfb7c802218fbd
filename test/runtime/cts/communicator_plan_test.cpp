//===- communicator_plan_test.cpp - Collectives that are prepared ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/communicator_test.h"
#include <atomic>
#include <thread>

namespace dist::cts {

namespace {

using Kind = CollectiveKind;

/// A collective of one tensor of integers along an axis of the mesh.
struct Whole : DenseCollective {
  Whole(Kind kind, int32_t op, int64_t count, int64_t axis = 0)
      : DenseCollective(kind, op, 1u << axis, manifest::I32, 4 * count) {}
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
    onRanks(world->ranks(), [&](int rank) { body(rank, world->rank(rank)); });
  }
  /// Two ranks sum what differ(rank, its call) has changed.
  template <typename Differ> std::vector<Status> sumApart(Differ differ) {
    world = GetParam().create({2}, 20);
    std::vector<Status> status(2);
    onAll([&](int rank, Communicator &own) {
      Whole sum(Kind::AllReduce, 4, 3);
      differ(rank, &sum.call);
      std::vector<int32_t> data(3, rank);
      std::unique_ptr<CollectivePlan> plan = sum.prepare(own);
      status[rank] = run(own, *plan, &data);
    });
    return status;
  }
};

void expectAllSay(const std::vector<Status> &all,
                  std::initializer_list<const char *> parts) {
  for (const Status &one : all)
    for (const char *part : parts)
      EXPECT_NE(one.message().find(part), std::string::npos) << one.message();
}

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
  Whole wrong(Kind::AllReduce, 6, 1, 3);
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

// All ranks hear which goes by what.
TEST_P(PlanTest, WaysThatDifferAreNamed) {
  expectAllSay(sumApart([](int rank, Collective *call) {
                 call->algorithm =
                     rank == 0 ? Algorithm::Ring : Algorithm::ReduceToOne;
               }),
               {"different collectives", "3 elements on rank 0 by ring",
                "3 elements on rank 1 by reduce_to_one"});
}

// Of what looks the same, it is said what else may differ.
TEST_P(PlanTest, ReductionsThatDifferAreToldApart) {
  expectAllSay(sumApart([](int rank, Collective *call) {
                 call->reduction = rank == 0 ? Reduction::Sum : Reduction::Max;
               }),
               {"which differ in element type, reduction"});
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

// Rank 2 comes to the sum with rank 0 when that has had its own with rank 1,
// many times: which did not wait for it.
TEST_P(PlanTest, AGroupDoesNotWaitForAnother) {
  for (int64_t count : {int64_t(3), int64_t(50000)}) {
    world = GetParam().create({2, 2}, 60);
    std::atomic<bool> done{false};
    auto sum = [&](Communicator &own, int64_t axis, bool background) {
      Whole whole(Kind::AllReduce, 1 + axis, count, axis);
      whole.call.background = background;
      auto plan = whole.prepare(own);
      std::vector<int32_t> data(count, own.rank() + 1);
      Status status = run(own, *plan, &data);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(data.front(), axis == 0 ? 4 : 3);
      EXPECT_EQ(data.back(), data.front());
    };
    auto sumMany = [&](Communicator &own) {
      for (int i = 0; i < 20; ++i)
        sum(own, 1, false);
    };
    onAll([&](int rank, Communicator &own) {
      if (rank == 0) {
        std::thread beside([&] { sum(own, 0, true); });
        sumMany(own);
        done = true;
        beside.join();
      } else if (rank == 1) {
        sumMany(own);
      } else if (rank == 2) {
        while (!done)
          std::this_thread::yield();
        sum(own, 0, false);
      }
    });
  }
}

// Both groups of each rank at once, in sizes that go different ways.
TEST_P(PlanTest, GroupsRunBesideEachOther) {
  world = GetParam().create({2, 2}, 60);
  onAll([](int rank, Communicator &own) {
    auto work = [&, rank](int64_t axis) {
      for (int64_t count : {int64_t(5), int64_t(60000), int64_t(1000)}) {
        Whole whole(Kind::AllReduce, 10 * (axis + 1), count, axis);
        whole.call.background = axis == 0;
        auto plan = whole.prepare(own);
        for (int i = 0; i < 15; ++i) {
          std::vector<int32_t> data(count, rank + i);
          Status status = run(own, *plan, &data);
          ASSERT_TRUE(status.ok()) << status.message();
          int pair = axis == 0 ? 2 * (rank % 2) + 2 : 4 * (rank / 2) + 1;
          ASSERT_EQ(data.front(), pair + 2 * i);
          ASSERT_EQ(data.back(), pair + 2 * i);
        }
      }
    };
    std::thread beside([&] { work(0); });
    work(1);
    beside.join();
  });
}

// Of two waits beside each other each has its deadline, also that on whose
// thread nobody looks at the network.
TEST_P(PlanTest, WaitsBesideEachOtherEnd) {
  world = GetParam().create({2, 2}, 0.6);
  auto sum = [&](int64_t axis) {
    Communicator &own = world->rank(0);
    Whole whole(Kind::AllReduce, 1 + axis, 3, axis);
    whole.call.background = axis == 0;
    auto plan = whole.prepare(own);
    std::vector<int32_t> data(3);
    return run(own, *plan, &data);
  };
  Status first, second;
  std::thread beside([&] { first = sum(0); });
  second = sum(1);
  beside.join();
  for (const Status &status : {first, second}) {
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
    EXPECT_NE(status.message().find("did not arrive within 0.6 s"),
              std::string::npos)
        << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, PlanTest, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
