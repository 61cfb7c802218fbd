//===- communicator_memory_test.cpp - What collectives allocate -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of plans take no memory: they have what `prepare` found that they need.
// A wait of a fifth of a second looks at the other ranks, for which it takes
// some; so one quiet round of many is looked for.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "test/runtime/cts/all_kinds_step.h"
#include "test/runtime/cts/communicator_test.h"
#include <thread>

namespace dist::cts {
namespace {

using Kind = CollectiveKind;
constexpr int ranks = 3;

template <typename Options>
void fillRanks(Options *options, Algorithm algorithm, double timeout) {
  cts::fill(options, {ranks}, timeout, 0, 1, algorithm, false);
}

struct Place {
  std::string name;
  std::function<std::unique_ptr<World>(double timeout)> create;
  bool isLocal = false;
};

Place local(std::string name, Algorithm algorithm) {
  return {"local_" + name,
          [=](double timeout) {
            WorldOptions options;
            fillRanks(&options, algorithm, timeout);
            std::unique_ptr<LocalWorld> world;
            EXPECT_TRUE(LocalWorld::create(options, &world).ok());
            return world;
          },
          true};
}

Place messages(std::string name, Algorithm algorithm) {
  return {"message_" + name, [=](double timeout) {
            MessageOptions options;
            fillRanks(&options, algorithm, timeout);
            std::unique_ptr<MessageWorld> world;
            EXPECT_TRUE(MessageWorld::create(
                            options, makeMemoryTransports(ranks), &world)
                            .ok());
            return world;
          }};
}

class MemoryTest : public testing::TestWithParam<Place> {
protected:
  std::unique_ptr<World> world;
  template <typename Body> void onAll(Body body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { body(world->rank(rank)); });
    for (std::thread &thread : threads)
      thread.join();
  }
};

TEST_P(MemoryTest, StepsTakeNone) {
  world = GetParam().create(0);
  int64_t fewest[ranks], once = 0;
  onAll([&](Communicator &own) {
    countFewestAllocations(own, 15, 3, &fewest[own.rank()]);
    int64_t before = allocations.load();
    ASSERT_TRUE(own.barrier(1, 1).ok());
    if (own.rank() == 0)
      once = allocations.load() - before;
  });
  EXPECT_EQ(fewest[0], 0);
  if (isCounted) {
    EXPECT_GT(once, 0) << "what is not prepared is counted";
  }
}

// So that it can be reported; plans of a group, which run one after another,
// have one memory.
TEST_P(MemoryTest, IsKnownBefore) {
  world = GetParam().create(0);
  StartedCollectives started;
  AllKindsStep step(world->rank(0), started);
  std::shared_ptr<PlanMemory> ofGroup;
  int64_t sent = 0, groups = 0;
  for (auto &plan : step.plans) {
    if (!plan->memory)
      continue;
    if (plan->call.kind == Kind::Send) {
      sent += plan->memory->bytes();
      EXPECT_NE(plan->memory, ofGroup);
      continue;
    }
    groups += ofGroup != plan->memory;
    ofGroup = plan->memory;
  }
  EXPECT_GE(sent, 4 * (3 + 7 + 300 + 41 + 40000 + 5));
  EXPECT_EQ(groups, GetParam().isLocal ? 0 : 1);
  if (ofGroup) {
    EXPECT_GE(ofGroup->bytes(), 4 * 20000);
  }
}

/// A send from rank 0 to rank 1 of more than fits in a network's buffers.
struct Send : DenseCollective {
  std::unique_ptr<CollectivePlan> plan;
  std::vector<int32_t> data = std::vector<int32_t>(1 << 20);

  Send(Communicator &own, int32_t op)
      : DenseCollective(own.rank() ? Kind::Recv : Kind::Send, op, 1,
                        manifest::I32, 4 << 20) {
    call.peer = 1 - own.rank();
    call.tag = 9;
    EXPECT_TRUE(own.prepare(call, &plan).ok());
  }
  Status run(Communicator &own) {
    void *buffer = data.data();
    return own.run(*plan, &buffer, &buffer);
  }
};

// What a plan sent has the plan's memory until it is taken: the next send of
// the plan waits so long, and overwrites nothing.
TEST_P(MemoryTest, ASendIsNotOverwritten) {
  world = GetParam().create(20);
  std::atomic<int> sent{0};
  onAll([&](Communicator &own) {
    if (own.rank() == 2)
      return;
    Send send(own, 5);
    for (int i = 0; i < 4; ++i) {
      send.data.assign(send.data.size(), own.rank() ? 0 : i);
      if (own.rank() == 0)
        ++sent; // and now, or soon, it waits
      while (own.rank() == 1 && sent.load() < std::min(4, i + 2))
        std::this_thread::yield();
      Status status = send.run(own);
      ASSERT_TRUE(status.ok()) << status.message();
      if (own.rank() == 1) {
        ASSERT_EQ(send.data.front(), i);
        ASSERT_EQ(send.data.back(), i);
      }
    }
  });
}

TEST_P(MemoryTest, WhoDoesNotTakeIsNamed) {
  world = GetParam().create(0.4);
  Send send(world->rank(0), 5);
  ASSERT_TRUE(send.run(world->rank(0)).ok());
  Status status = send.run(world->rank(0));
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("send failed (op 5): rank 1 did not take "
                                  "what rank 0 had sent before with tag 9 "
                                  "within 0.4 s of its last progress"),
            std::string::npos)
      << status.message();
  // It can be forgotten at once.
  send.plan.reset();
  world->reset();
  onAll([](Communicator &own) {
    if (own.rank() == 2)
      return;
    Send again(own, 6);
    Status status = again.run(own);
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

// A plan may go before its message does.
TEST_P(MemoryTest, AMessageOutlivesItsPlan) {
  world = GetParam().create(20);
  {
    Send send(world->rank(0), 5);
    send.data.assign(send.data.size(), 7);
    ASSERT_TRUE(send.run(world->rank(0)).ok());
  }
  Send receive(world->rank(1), 5);
  Status status = receive.run(world->rank(1));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(receive.data.front(), 7);
  EXPECT_EQ(receive.data.back(), 7);
}

std::vector<Place> places() {
  std::vector<Place> all;
  for (const AlgorithmFacts &one : allAlgorithms) {
    if (one.isOfMemory)
      all.push_back(local(one.name, one.algorithm));
    all.push_back(messages(one.name, one.algorithm));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Places, MemoryTest, testing::ValuesIn(places()),
                         [](const testing::TestParamInfo<Place> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
