//===- progress_test.cpp - Deadlines that follow liveness -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "test/runtime/child.h"

using namespace dist;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr uint32_t all = 1;

/// Whether ranks see each other's progress in memory, or ask for it.
enum class Seen { InMemory, ByMessages };

struct ProgressTest : testing::TestWithParam<Seen> {
  std::unique_ptr<World> world;
  std::vector<Status> status;
  std::vector<double> seconds; // until each rank had ended
  std::mutex warningsMutex;
  std::vector<std::string> warnings;

  void make(std::vector<int64_t> mesh, double timeout) {
    MessageOptions options;
    int ranks = 1;
    for (int64_t size : mesh)
      ranks *= size;
    options.mesh = std::move(mesh);
    options.timeout = timeout;
    options.spinMicroseconds = 0;
    options.nameOp = [](int rank, int32_t op) {
      return "op " + std::to_string(op) + " of " + std::to_string(rank);
    };
    options.warn = [this](const std::string &text) {
      std::lock_guard<std::mutex> lock(warningsMutex);
      warnings.push_back(text);
    };
    if (GetParam() == Seen::InMemory) {
      std::unique_ptr<LocalWorld> made;
      ASSERT_TRUE(LocalWorld::create(options, &made).ok());
      world = std::move(made);
    } else {
      std::unique_ptr<MessageWorld> made;
      ASSERT_TRUE(
          MessageWorld::create(options, makeMemoryTransports(ranks), &made)
              .ok());
      world = std::move(made);
    }
  }

  /// A rank each, on threads of their own.
  template <typename Body> void run(Body body) {
    status.assign(world->ranks(), Status());
    seconds.assign(world->ranks(), 0);
    auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world->ranks(); ++rank)
      threads.emplace_back([&, rank] {
        status[rank] = body(world->rank(rank));
        seconds[rank] =
            std::chrono::duration<double>(Clock::now() - begin).count();
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  Status receive(Communicator &rank, int sender, int op) {
    DenseCollective message(CollectiveKind::Recv, op, all, manifest::F32, 4);
    message.call.peer = sender;
    message.call.tag = 7;
    message.call.gives = false;
    float value = 0;
    void *to = &value;
    return rank.runOnce(message.call, nullptr, &to);
  }

  bool says(int rank, const std::string &text) {
    return status[rank].message().find(text) != std::string::npos;
  }
};

TEST_P(ProgressTest, WaitsForARankThatRunsKernels) {
  make({2}, 1);
  run([&](Communicator &rank) {
    for (int i = 0; rank.rank() == 1 && i < 50; ++i) {
      std::this_thread::sleep_for(50ms);
      rank.progress.advance();
    }
    return rank.barrier(1, all);
  });
  for (const Status &one : status)
    EXPECT_TRUE(one.ok()) << one.message();
}

// One long kernel counts nothing, but takes CPU time. On a busy machine it may
// have none for some tenths of a second.
TEST_P(ProgressTest, WaitsForARankThatComputes) {
  make({2}, 1.5);
  std::atomic<uint64_t> sum{0};
  run([&](Communicator &rank) {
    if (rank.rank() == 1) {
      rank.progress.begin();
      for (auto end = Clock::now() + 3s; Clock::now() < end;)
        ++sum;
      rank.progress.end();
    }
    return rank.barrier(1, all);
  });
  for (const Status &one : status)
    EXPECT_TRUE(one.ok()) << one.message();
}

// Between two calls, as in a file's: nothing moves, and no CPU time is taken.
// Those that wait tell why.
TEST_P(ProgressTest, WaitsForARankAtWorkOfItsOwn) {
  make({2}, 1);
  run([&](Communicator &rank) {
    if (rank.rank() == 1) {
      rank.progress.setAtWork(true);
      std::this_thread::sleep_for(2500ms);
      rank.progress.setAtWork(false);
    }
    return rank.barrier(1, all);
  });
  for (const Status &one : status)
    EXPECT_TRUE(one.ok()) << one.message();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].rfind("rank 0 waits at barrier of op 1 of 0 for rank "
                              "1, which is at work between two steps, as on "
                              "files, for 0.",
                              0),
            0u)
      << warnings[0];
}

// Whoever waits for others does no work, and they wait for the one that hangs.
TEST_P(ProgressTest, WhoWaitsIsNotAtWork) {
  make({3}, 1);
  std::atomic<int> over{0};
  run([&](Communicator &rank) {
    if (rank.rank() == 2) { // hangs
      while (over < 2)
        std::this_thread::sleep_for(10ms);
      return Status();
    }
    rank.progress.setAtWork(true);
    Status result = rank.barrier(1, all);
    ++over;
    return result;
  });
  for (int rank : {0, 1})
    EXPECT_TRUE(says(rank, "rank 2 did not arrive within 1 s"))
        << status[rank].message();
}

// Whoever hangs is named in time, though others that work are missing, too.
TEST_P(ProgressTest, NamesTheOneThatHangs) {
  make({2, 2}, 0.3);
  std::atomic<bool> over{false};
  constexpr uint32_t minor = 2; // ranks 0 and 1, ranks 2 and 3
  run([&](Communicator &rank) {
    if (rank.rank() == 1) // hangs
      while (!over)
        std::this_thread::sleep_for(10ms);
    else if (rank.rank() == 2) // works
      while (!over) {
        std::this_thread::sleep_for(10ms);
        rank.progress.advance();
      }
    Status result = rank.barrier(rank.rank(), minor);
    over = true;
    return result;
  });
  EXPECT_TRUE(says(0, "barrier failed (op 0 of 0): rank 1 did not arrive "
                      "within 0.3 s of its last progress"))
      << status[0].message();
  // Rank 2 works until then: a rank that waited for it would wait for ever.
  EXPECT_LT(seconds[0], 30);
}

// The last stage waits for the middle one, which waits for the first: that one
// hangs, and the middle one's op waits for it.
TEST_P(ProgressTest, NamesTheOpThatTrulyWaits) {
  make({3}, 1.6);
  std::atomic<int> over{0};
  run([&](Communicator &rank) {
    if (rank.rank() == 0) {
      while (over < 2)
        std::this_thread::sleep_for(10ms);
      return Status();
    }
    // The last one has waited for longest.
    if (rank.rank() == 1)
      std::this_thread::sleep_for(300ms);
    Status result = receive(rank, rank.rank() - 1, 10 + rank.rank());
    ++over;
    return result;
  });
  std::string text =
      "recv failed (op 11 of 1): rank 0 sent nothing with tag 7 within 1.6 s "
      "of its last progress, and rank 1 waits for it";
  EXPECT_TRUE(says(1, text)) << status[1].message();
  EXPECT_TRUE(says(2, text)) << status[2].message();
}

TEST_P(ProgressTest, SeesRanksThatWaitForEachOther) {
  make({2}, 1);
  run([&](Communicator &rank) {
    return receive(rank, 1 - rank.rank(), 20 + rank.rank());
  });
  EXPECT_TRUE(says(0, "ranks wait for each other within 1 s:"))
      << status[0].message();
  for (const char *part : {"rank 0 at recv of op 20 of 0 for rank 1",
                           "rank 1 at recv of op 21 of 1 for rank 0"})
    EXPECT_TRUE(says(0, part)) << status[0].message();
  EXPECT_FALSE(status[1].ok());
}

TEST_P(ProgressTest, AVeryLongTimeIsNotOver) {
  for (double timeout : {1e10, 1e300}) {
    make({2}, timeout);
    run([&](Communicator &rank) {
      if (rank.rank() == 1)
        std::this_thread::sleep_for(500ms);
      return rank.barrier(1, all);
    });
    for (const Status &one : status)
      EXPECT_TRUE(one.ok()) << one.message();
  }
}

// Who looks late has had no CPU: as little may the others have had.
TEST_P(ProgressTest, AMachineThatStallsIsNoRankThatHangs) {
  auto meet = [&] {
    make({2}, 1.5);
    run([&](Communicator &rank) {
      // Late by so much of the process's own time, or some times that on a busy
      // machine.
      for (int i = 0; rank.rank() == 1 && i < 25; ++i)
        std::this_thread::sleep_for(10ms);
      return rank.barrier(1, all);
    });
    return status[0].ok() && status[1].ok();
  };
  EXPECT_TRUE(holdsInChild(meet, {150ms, 2500ms}));
}

INSTANTIATE_TEST_SUITE_P(Worlds, ProgressTest,
                         testing::Values(Seen::InMemory, Seen::ByMessages),
                         [](const auto &info) {
                           return info.param == Seen::InMemory ? "InMemory"
                                                               : "ByMessages";
                         });

} // namespace
