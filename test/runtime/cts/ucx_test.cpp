//===- ucx_test.cpp - The conformance of ranks in processes, by UCX -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/ucx/ucx.h"
#include "test/runtime/cts/communicator_test.h"
#include "test/runtime/cts/processes/serve.h"
#include <chrono>
#include <csignal>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dist::cts {
namespace {

/// A rank of a world of messages, by UCX.
class UcxRank final : public RankMaker {
  Status open(const ProcessWorld::Setup &setup, int rank, int ranks,
              const Exchange &exchange, std::shared_ptr<World> *out) override {
    UcxOptions ucx;
    ucx.ranks = ranks;
    ucx.ranksHere = {rank};
    ucx.sharedMemory = setup.sharedMemory;
    ucx.exchange = [&](const std::vector<std::string> &own,
                       std::vector<std::string> *all) {
      exchange(own[0], all);
      return Status();
    };
    std::vector<std::unique_ptr<Transport>> ends;
    DIST_RETURN_IF_ERROR(makeUcxTransports(ucx, &ends));
    MessageOptions options;
    cts::fill(&options, setup.mesh, setup.timeout, setup.spinMicroseconds, 1,
              setup.allReduce, setup.host);
    std::unique_ptr<MessageWorld> world;
    DIST_RETURN_IF_ERROR(
        MessageWorld::create(options, std::move(ends), &world));
    *out = std::move(world);
    return Status();
  }
  Traffic traffic(World &world, int rank) override {
    return static_cast<MessageWorld &>(world).traffic(rank);
  }
};

Backend processes(std::string name, bool sharedMemory,
                  Algorithm algorithm = Algorithm::Auto) {
  auto create = [=](bool host) {
    return [=](std::vector<int64_t> mesh, double timeout) {
      ProcessWorld::Setup setup;
      setup.mesh = mesh;
      setup.host = host;
      setup.timeout = timeout;
      setup.sharedMemory = sharedMemory;
      setup.allReduce = algorithm;
      return ProcessWorld::create(setup, forkedProcesses());
    };
  };
  return ofMessages(name, create(false), create(true), algorithm);
}

struct Ucx : testing::TestWithParam<bool> {
  std::unique_ptr<ProcessWorld> world;

  void open(int64_t ranks, double timeout = 20) {
    ProcessWorld::Setup setup;
    setup.mesh = {ranks};
    setup.timeout = timeout;
    setup.sharedMemory = GetParam();
    world = ProcessWorld::create(setup, forkedProcesses());
  }
  template <typename Body> void onAll(Body body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world->ranks(); ++rank)
      threads.emplace_back([&, rank] { body(rank); });
    for (std::thread &thread : threads)
      thread.join();
  }
};

// No run in one process can pass for this one.
TEST_P(Ucx, BytesGoBetweenProcesses) {
  open(2);
  std::set<pid_t> ids{getpid(), world->process(0), world->process(1)};
  EXPECT_EQ(ids.size(), 3u);
  constexpr int64_t count = 1 << 20, bytes = 4 * count;
  std::vector<float> data[2];
  int64_t before[2], after[2];
  for (int rank : {0, 1})
    world->traffic(rank, &before[rank]);
  onAll([&](int rank) {
    data[rank].assign(count, rank + 1);
    Status status = world->rank(rank).allReduce(
        3, data[rank].data(), count, manifest::F32, Reduction::Sum, 1);
    EXPECT_TRUE(status.ok()) << status.message();
  });
  EXPECT_EQ(data[0], std::vector<float>(count, 3));
  EXPECT_EQ(data[1], data[0]);
  for (int rank : {0, 1}) {
    EXPECT_EQ(world->traffic(rank, &after[rank]).bytes, bytes);
    int64_t sent = after[rank] - before[rank];
    if (GetParam()) {
      EXPECT_LT(sent, bytes / 10);
    } else {
      EXPECT_GE(sent, bytes);
      EXPECT_LT(sent, bytes + bytes / 20);
    }
  }
}

TEST_P(Ucx, KilledProcessesAreNamed) {
  for (bool large : {false, true}) {
    open(3, /*timeout=*/120);
    std::vector<Status> status(3);
    std::vector<std::chrono::steady_clock::time_point> ended(3);
    std::chrono::steady_clock::time_point killed;
    onAll([&](int rank) {
      std::vector<float> data(large ? 1 << 20 : 1);
      auto reduce = [&] {
        return world->rank(rank).allReduce(9, data.data(), data.size(),
                                           manifest::F32, Reduction::Sum, 1);
      };
      Status first = reduce();
      EXPECT_TRUE(first.ok()) << first.message();
      if (rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        killed = std::chrono::steady_clock::now();
        kill(world->process(1), SIGKILL);
        return;
      }
      status[rank] = reduce();
      ended[rank] = std::chrono::steady_clock::now();
    });
    for (int rank : {0, 2}) {
      EXPECT_EQ(status[rank].code(), StatusCode::Unavailable);
      for (const char *part : {"all_reduce", "op 9", "rank 1 was lost"})
        EXPECT_NE(status[rank].message().find(part), std::string::npos)
            << status[rank].message();
      double seconds =
          std::chrono::duration<double>(ended[rank] - killed).count();
      std::printf("rank %d named it after %.1f ms\n", rank, 1e3 * seconds);
      // Not at the collective's deadline.
      EXPECT_LT(seconds, 20);
    }
  }
}

// Wherever it is: its peers' messages to it are under way, and its own.
TEST_P(Ucx, KilledInTheMiddle) {
  for (int milliseconds : {20, 33, 47}) {
    open(3);
    std::vector<Status> status(3);
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      kill(world->process(1), SIGKILL);
    });
    onAll([&](int rank) {
      std::vector<float> data(1 << 20, 1);
      while (status[rank].ok())
        status[rank] = world->rank(rank).allReduce(
            9, data.data(), data.size(), manifest::F32, Reduction::Max, 1);
      EXPECT_EQ(data[4711], 1);
    });
    killer.join();
    for (int rank : {0, 2})
      EXPECT_NE(status[rank].message().find("rank 1 was lost"),
                std::string::npos)
          << status[rank].message();
  }
}

// What was sent arrives though its rank is elsewhere, computing.
TEST_P(Ucx, SendsGoOnWithoutTheirRank) {
  open(2);
  for (int64_t count : {1, 1 << 20}) {
    std::vector<int32_t> data(count, 42);
    int64_t axis = 0;
    Piece piece{};
    piece.type = manifest::I32;
    piece.outer = piece.rows = 1;
    piece.bytes = 4 * count;
    Collective call;
    call.axes = {&axis, 1};
    call.pieces = {&piece, 1};
    call.kind = CollectiveKind::Send;
    call.peer = 1;
    void *buffer = data.data();
    EXPECT_TRUE(world->rank(0).runOnce(call, &buffer, &buffer).ok());
    std::fill(data.begin(), data.end(), 0);
    call.kind = CollectiveKind::Recv;
    call.peer = 0;
    auto begin = std::chrono::steady_clock::now();
    Status status = world->rank(1).runOnce(call, &buffer, &buffer);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(data, std::vector<int32_t>(count, 42));
    std::printf("%lld bytes came after %.1f ms\n",
                4 * static_cast<long long>(count),
                std::chrono::duration<double, std::milli>(
                    std::chrono::steady_clock::now() - begin)
                    .count());
  }
}

// One that is frozen hears, when it wakes, that the others have gone on without
// it; with all of them back, the next generation begins.
TEST_P(Ucx, FrozenProcessesAreNamed) {
  open(3, 1);
  std::vector<Status> status(3);
  std::chrono::steady_clock::time_point frozen;
  std::vector<double> seconds(3);
  auto reduce = [&](int rank) {
    float value = 1;
    Status result = world->rank(rank).allReduce(9, &value, 1, manifest::F32,
                                                Reduction::Sum, 1);
    EXPECT_TRUE(!result.ok() || value == 3);
    return result;
  };
  onAll([&](int rank) { EXPECT_TRUE(reduce(rank).ok()); });
  kill(world->process(1), SIGSTOP);
  frozen = std::chrono::steady_clock::now();
  onAll([&](int rank) {
    if (rank == 1)
      return;
    status[rank] = reduce(rank);
    seconds[rank] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - frozen)
            .count();
  });
  for (int rank : {0, 2}) {
    EXPECT_NE(status[rank].message().find(
                  "rank 1 did not arrive within 1 s of its last progress"),
              std::string::npos)
        << status[rank].message();
    std::printf("rank %d named it after %.0f ms\n", rank, 1e3 * seconds[rank]);
  }
  kill(world->process(1), SIGCONT);
  Status late = reduce(1);
  EXPECT_EQ(late.code(), StatusCode::Unavailable);
  EXPECT_NE(late.message().find("rank 1 did not arrive"), std::string::npos)
      << late.message();
  world->reset();
  onAll([&](int rank) {
    Status again = reduce(rank);
    EXPECT_TRUE(again.ok()) << again.message();
  });
}

/// Two ends in this process, whose addresses `change` has passed.
Status openTwo(double timeout, const std::function<void(std::string &)> &change,
               UcxOptions options = {}) {
  options.ranks = 2;
  options.ranksHere = {0, 1};
  options.timeout = timeout;
  options.exchange = [&](const std::vector<std::string> &own,
                         std::vector<std::string> *all) {
    *all = own;
    change(all->back());
    return Status();
  };
  std::vector<std::unique_ptr<Transport>> ends;
  return makeUcxTransports(options, &ends);
}

// Who has found out where a rank listens cannot make itself heard there.
TEST(UcxToken, WhoDoesNotKnowItIsNotHeard) {
  Status status = openTwo(60, [](std::string &) {});
  EXPECT_TRUE(status.ok()) << status.message();
  status = openTwo(1, [](std::string &address) {
    // HOST, PROCESS and TOKEN are lines.
    size_t token = address.find('\n', address.find('\n') + 1) + 1;
    address[token] = address[token] == '1' ? '2' : '1';
  });
  // It does not answer, either, since it has heard nothing.
  EXPECT_EQ(status.message(),
            "cannot open the network: rank 0 does not reach rank 1");
  status = openTwo(1, [](std::string &address) { address = "HOST\n1\n2\n"; });
  EXPECT_EQ(status.message(), "cannot open the network: rank 1 has no address");
}

/// Of another process of this machine, which hears nothing.
std::string ofProcess(const std::string &address, pid_t process) {
  size_t begin = address.find('\n') + 1, end = address.find('\n', begin);
  return address.substr(0, begin) + std::to_string(process) + "\n2" +
         address.substr(end + 1);
}

// A start does not wait for who is gone, whatever it has found out of it.
TEST(UcxStart, WhoIsLostEndsIt) {
  constexpr double longest = 600;
  UcxOptions options;
  options.nameRank = [](int rank) { return "worker " + std::to_string(rank); };
  const std::string told =
      "cannot open the network: worker 1 is lost: its process has ended";

  pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0)
    for (;;)
      pause();
  std::thread killer;
  Status status = openTwo(
      longest,
      [&](std::string &address) {
        address = ofProcess(address, process);
        killer = std::thread([process] {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          kill(process, SIGKILL);
        });
      },
      options);
  killer.join();
  EXPECT_EQ(status.message(), told);
  waitpid(process, nullptr, 0);
  auto isGone = [&](std::string &address) {
    address = ofProcess(address, process);
  };
  EXPECT_EQ(openTwo(longest, isGone, options).message(), told);

  // Frozen, say: only others know.
  options.check = [calls = 0]() mutable {
    return ++calls < 3 ? Status()
                       : Status::error(StatusCode::Unavailable, "it is lost");
  };
  auto isSilent = [&](std::string &address) {
    address = ofProcess(address, getpid());
  };
  EXPECT_EQ(openTwo(longest, isSilent, options).message(), "it is lost");
}

INSTANTIATE_TEST_SUITE_P(Wires, Ucx, testing::Bool(), [](const auto &info) {
  return info.param ? "SharedMemory" : "Tcp";
});

} // namespace

std::vector<Backend> backends() {
  return {processes("SharedMemory", true), processes("Tcp", false),
          processes("Ring", true, Algorithm::Ring),
          processes("ReduceToOne", true, Algorithm::ReduceToOne),
          processes("HalvingDoubling", true, Algorithm::HalvingDoubling)};
}

} // namespace dist::cts

int main(int count, char **arguments) {
  dist::prepareUcx();
  if (count == 5 && std::string(arguments[1]) == "--serve-rank") {
    dist::cts::UcxRank rank;
    return dist::cts::serveRank({std::atoi(arguments[2]),
                                 std::atoi(arguments[3]),
                                 std::atoi(arguments[4])},
                                rank);
  }
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
