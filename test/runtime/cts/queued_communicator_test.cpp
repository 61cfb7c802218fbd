//===- queued_communicator_test.cpp - Collectives by streams --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps enqueue, and `finish` alone waits: one thread of the host drives all
// ranks of streams that work later. Were any of their calls to wait for another
// rank, that one's would never come.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "runtime/core/queued_collectives.h"
#include "runtime/device/devices.h"
#include "test/runtime/cts/communicator_test.h"
#include "test/runtime/cts/queued_device.h"
#include <atomic>
#include <thread>

namespace dist::cts {
namespace {

using Kind = CollectiveKind;
constexpr int ranks = 2;

struct Place {
  std::string name;
  std::function<std::unique_ptr<World>(double timeout)> create;
};

Place local() {
  return {"Local", [](double timeout) {
            WorldOptions options;
            fill(&options, {ranks}, timeout, 0, 1, Algorithm::Auto, false);
            std::unique_ptr<LocalWorld> world;
            EXPECT_TRUE(LocalWorld::create(options, &world).ok());
            return world;
          }};
}

Place messages() {
  return {"Message", [](double timeout) {
            MessageOptions options;
            fill(&options, {ranks}, timeout, 0, 1, Algorithm::Auto, false);
            std::unique_ptr<MessageWorld> world;
            EXPECT_TRUE(MessageWorld::create(
                            options, makeMemoryTransports(ranks), &world)
                            .ok());
            return world;
          }};
}

/// One tensor of floats of all ranks.
struct Whole : DenseCollective {
  Whole(Kind kind, int64_t count)
      : DenseCollective(kind, 3, 1, manifest::F32, 4 * count) {}
};

class QueuedTest : public testing::TestWithParam<Place> {
protected:
  std::shared_ptr<Device> device = test::queuedDevice();
  std::unique_ptr<World> world;

  void open(double timeout) { world = GetParam().create(timeout); }
  std::unique_ptr<Stream> createStream(Device &of) {
    std::unique_ptr<Stream> stream;
    EXPECT_TRUE(of.createStream({}, &stream).ok());
    return stream;
  }
};

TEST_P(QueuedTest, EnqueuesForAllRanksFromOneThread) {
  open(60);
  constexpr int64_t count = 5000;
  Whole sum(Kind::AllReduce, count);
  std::unique_ptr<CollectivePlan> plans[ranks];
  std::unique_ptr<Stream> streams[ranks];
  std::vector<float> data[ranks];
  for (int rank = 0; rank < ranks; ++rank) {
    ASSERT_TRUE(world->rank(rank).prepare(sum.call, &plans[rank]).ok());
    streams[rank] = createStream(*device);
    data[rank].resize(count);
  }
  for (int step = 0; step < 5; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      data[rank].assign(count, float(step + rank));
      // The list is the caller's again when the call returns.
      void *buffer = data[rank].data();
      Status status = world->rank(rank).enqueue(*plans[rank], *streams[rank],
                                                &buffer, &buffer);
      ASSERT_TRUE(status.ok()) << status.message();
      buffer = nullptr;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      Status status = streams[rank]->finish(60);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(data[rank].front(), 2 * step + 1);
      ASSERT_EQ(data[rank].back(), 2 * step + 1);
    }
  }
}

// Kernels before it may take longer than ranks wait for each other.
TEST_P(QueuedTest, TheDeadlineBeginsWhereTheStreamComesToIt) {
  constexpr double timeout = 1;
  open(timeout);
  Whole sum(Kind::AllReduce, 7);
  std::unique_ptr<CollectivePlan> plans[ranks];
  std::unique_ptr<Stream> streams[ranks];
  std::vector<float> data(7, 1);
  void *buffers[ranks] = {data.data(), nullptr};
  std::vector<float> others(7, 2);
  buffers[1] = others.data();
  std::atomic<bool> released{false};
  for (int rank = 0; rank < ranks; ++rank) {
    ASSERT_TRUE(world->rank(rank).prepare(sum.call, &plans[rank]).ok());
    streams[rank] = createStream(*device);
    ASSERT_TRUE(streams[rank]
                    ->call([&] {
                      while (!released)
                        std::this_thread::yield();
                      return Status();
                    })
                    .ok());
    ASSERT_TRUE(world->rank(rank)
                    .enqueue(*plans[rank], *streams[rank], &buffers[rank],
                             &buffers[rank])
                    .ok());
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * timeout));
  released = true;
  for (int rank = 0; rank < ranks; ++rank) {
    Status status = streams[rank]->finish(60);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(data[6], 3);
  EXPECT_EQ(others[6], 3);
}

TEST_P(QueuedTest, FinishTellsOfWhoDidNotCome) {
  open(0.5);
  Whole sum(Kind::AllReduce, 7);
  std::unique_ptr<CollectivePlan> plan;
  ASSERT_TRUE(world->rank(0).prepare(sum.call, &plan).ok());
  auto stream = createStream(*device);
  std::vector<float> data(7, 1);
  void *buffer = data.data();
  ASSERT_TRUE(world->rank(0).enqueue(*plan, *stream, &buffer, &buffer).ok());
  Status status = stream->finish(60);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("rank 1 did not arrive within 0.5 s"),
            std::string::npos)
      << status.message();
}

// The CPU's stream does each call before it returns.
TEST_P(QueuedTest, RunsAtOnceWhereTheStreamDoes) {
  open(60);
  Whole sum(Kind::AllReduce, 7);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<CollectivePlan> plan;
      ASSERT_TRUE(world->rank(rank).prepare(sum.call, &plan).ok());
      auto stream = createStream(*hostDevice());
      std::vector<float> data(7, 1);
      void *buffer = data.data();
      Status status =
          world->rank(rank).enqueue(*plan, *stream, &buffer, &buffer);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(data[0], 2);
    });
  for (std::thread &thread : threads)
    thread.join();
}

INSTANTIATE_TEST_SUITE_P(Places, QueuedTest,
                         testing::Values(local(), messages()),
                         [](const testing::TestParamInfo<Place> &info) {
                           return info.param.name;
                         });

/// Two ranks on the device of tests, that have something for each other to
/// read.
class ShownTest : public testing::Test {
protected:
  struct Rank {
    std::unique_ptr<Stream> compute;
    std::unique_ptr<Memory> memory;
    std::unique_ptr<QueuedCollectives> queued;
    PlannedCollective planned;
    void *buffers[1 + ranks] = {};
  };
  std::shared_ptr<Device> device = test::queuedDevice();
  std::unique_ptr<World> world = local().create(60);
  Whole whole{Kind::AllGather, 4};
  Rank all[ranks];

  ShownTest() {
    whole.call.takes = false;
    for (int i = 0; i < ranks; ++i) {
      Rank &rank = all[i];
      EXPECT_TRUE(device->createStream({}, &rank.compute).ok());
      EXPECT_TRUE(
          device->allocate(MemorySpace::Device, 16, "numbers", &rank.memory)
              .ok());
      rank.queued =
          std::make_unique<QueuedCollectives>(device, *rank.compute, nullptr);
      EXPECT_TRUE(world->rank(i).prepare(whole.call, &rank.planned.plan).ok());
      EXPECT_TRUE(rank.queued->prepare(world->rank(i), &rank.planned).ok());
      rank.buffers[0] = rank.memory->address();
    }
  }
  Status publish(int rank) {
    return all[rank].queued->publish(world->rank(rank), all[rank].planned,
                                     all[rank].buffers, 60);
  }
  /// The ranks' hosts meet, once.
  void meet() {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        Status status = publish(rank);
        EXPECT_TRUE(status.ok()) << status.message();
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  void expectAddresses() {
    for (Rank &rank : all)
      for (int i = 0; i < ranks; ++i)
        EXPECT_EQ(rank.buffers[1 + i], all[i].memory->address());
  }
};

TEST_F(ShownTest, TheHostMeetsOnce) {
  meet();
  expectAddresses();
  // From here on one thread is enough for all.
  for (int step = 0; step < 3; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      all[rank].buffers[1] = all[rank].buffers[2] = nullptr;
      Status status = publish(rank);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    expectAddresses();
    for (Rank &rank : all) {
      Status status = rank.queued->finish(60);
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
}

// What the others read is there: kernels behind it wait until their streams
// have come, too.
TEST_F(ShownTest, StreamsMeetInEachStep) {
  meet();
  float written[] = {5, 6, 7, 8}, read[4] = {};
  std::atomic<bool> released{false};
  // Rank 0 reads of rank 1, which writes late.
  ASSERT_TRUE(publish(0).ok());
  ASSERT_TRUE(all[0].compute->copy(read, all[0].buffers[2], sizeof read).ok());
  ASSERT_TRUE(all[1]
                  .compute
                  ->call([&] {
                    while (!released)
                      std::this_thread::yield();
                    return Status();
                  })
                  .ok());
  ASSERT_TRUE(
      all[1]
          .compute->copy(all[1].memory->address(), written, sizeof written)
          .ok());
  ASSERT_TRUE(publish(1).ok());
  released = true;
  for (Rank &rank : all) {
    Status status = rank.queued->finish(60);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(read[0], 5);
  EXPECT_EQ(read[3], 8);
}

TEST_F(ShownTest, ABufferStaysWhereItWas) {
  meet();
  all[0].buffers[0] = static_cast<char *>(all[0].buffers[0]) + 4;
  Status status = publish(0);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("a buffer that others read is not where it "
                                  "was (op 3)"),
            std::string::npos)
      << status.message();
}

// A generation's first step tells the addresses anew.
TEST_F(ShownTest, ANewGenerationMeetsAgain) {
  meet();
  world->reset();
  for (int i = 0; i < ranks; ++i) {
    Rank &rank = all[i];
    ASSERT_TRUE(world->rank(i).prepare(whole.call, &rank.planned.plan).ok());
    ASSERT_TRUE(rank.queued->prepare(world->rank(i), &rank.planned).ok());
    rank.buffers[1] = rank.buffers[2] = nullptr;
  }
  meet();
  expectAddresses();
}

} // namespace
} // namespace dist::cts
