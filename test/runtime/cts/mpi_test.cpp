//===- mpi_test.cpp - The conformance of ranks by a site's MPI ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/mpi.h"
#include "test/runtime/cts/communicator_test.h"
#include "test/runtime/cts/processes/mpirun.h"
#include "test/runtime/cts/processes/serve.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <sstream>
#include <thread>

namespace dist::cts {
namespace {

/// A test that lasts longer hangs.
constexpr unsigned secondsOfATest = 180;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds untilClosed{10};

//===----------------------------------------------------------------------===//
// In a rank's process
//===----------------------------------------------------------------------===//

const dist_comm_vtable *site = nullptr;
/// The first ranks of the job, by how many they are: worlds are of so many. All
/// processes of the job make these groups together.
std::vector<dist_comm_group *> firstRanks(mpirunRanks + 1);
int self = 0, ranksOfWorld = 0;
std::atomic<bool> isGivenUp{false};

int initOfWorld(dist_comm_group **all, int *rank, int *ranks) {
  *all = firstRanks[ranksOfWorld];
  *rank = self;
  *ranks = ranksOfWorld;
  return 0;
}
void giveUp() {
  isGivenUp = true;
  site->give_up();
}

/// A rank of a world that is some of the job's processes.
class MpiRank final : public RankMaker {
  Status open(const ProcessWorld::Setup &setup, int rank, int ranks,
              const Exchange &exchange, std::shared_ptr<World> *out) override {
    std::vector<std::string> addresses;
    exchange("", &addresses);
    static dist_comm_vtable ofWorld;
    ofWorld = *site;
    ofWorld.init = initOfWorld;
    ofWorld.give_up = giveUp;
    ranksOfWorld = ranks;
    WorldOptions options;
    cts::fill(&options, setup.mesh, setup.timeout, setup.spinMicroseconds, 1,
              setup.allReduce, setup.host);
    return makeMpiWorld(ofWorld, options, rank, out);
  }
  // Who closes its world last may have told the others something: it waits
  // until they have taken it, which they do in MPI's calls.
  void closed(int ranks) override {
    static char own, all[mpirunRanks];
    dist_comm_request *request = nullptr;
    int done = 0;
    int code = site->all_gather(firstRanks[ranks], &own, all, 1, &request);
    for (auto begin = Clock::now();
         code == 0 && !done && Clock::now() - begin < untilClosed;)
      code = site->test(request, &done);
  }
  bool isUsable() override { return !isGivenUp; }
};

int serveMpi(const std::string &name) {
  Status status = loadMpi({MPI_LIBRARY}, &site);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  dist_comm_group *all = nullptr;
  int ranks = 0, code = site->init(&all, &self, &ranks);
  for (int first = 1; code == 0 && first <= mpirunRanks; ++first)
    code = site->split(all, self < first, self, &firstRanks[first]);
  if (code != 0 || ranks != mpirunRanks)
    return 1;
  MpiRank rank;
  return serveRank(connectToTest(name, self), rank);
}

//===----------------------------------------------------------------------===//
// In the test's
//===----------------------------------------------------------------------===//

Processes &job() {
  static std::unique_ptr<Processes> processes = [] {
    std::istringstream words(MPI_LAUNCHER);
    std::vector<std::string> launcher;
    for (std::string word; words >> word;)
      launcher.push_back(word);
    return mpirunProcesses(launcher);
  }();
  return *processes;
}

std::unique_ptr<World> create(const std::vector<int64_t> &mesh,
                              double timeout) {
  ProcessWorld::Setup setup;
  setup.mesh = mesh;
  setup.timeout = timeout;
  return ProcessWorld::create(setup, job());
}

// What others can and MPI cannot: a reset does not help, and processes that
// come later do.
TEST(Mpi, WhatIsUnderWayIsNotTakenBack) {
  auto world = create({2}, 0.5);
  auto expectEnded = [&] {
    Status status = world->rank(0).barrier(9, 1);
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
    EXPECT_NE(status.message().find("barrier failed (op 9): rank 1 did not "
                                    "arrive within 0.5 s; "),
              std::string::npos)
        << status.message();
  };
  expectEnded();
  world->reset();
  expectEnded();
  world = create({2}, 20);
  std::thread other([&] { EXPECT_TRUE(world->rank(1).barrier(9, 1).ok()); });
  EXPECT_TRUE(world->rank(0).barrier(9, 1).ok());
  other.join();
}

TEST(Mpi, MessagesThatItCannotCountAreRefused) {
  auto world = create({2}, 20);
  for (CollectiveKind kind : {CollectiveKind::Send, CollectiveKind::Recv}) {
    DenseCollective message(kind, 4, 1, manifest::I32, int64_t(1) << 31);
    message.call.peer = 1;
    std::unique_ptr<CollectivePlan> plan;
    Status status = world->rank(0).prepare(message.call, &plan);
    for (std::string part : {"MPI cannot move so much at once (op 4): ",
                             name(kind), " bytes, and 2147483647 are the most"})
      EXPECT_NE(status.message().find(part), std::string::npos)
          << status.message();
  }
}

TEST(MpiLibrary, ThatIsMissingIsNamed) {
  const dist_comm_vtable *table = nullptr;
  Status status = loadMpi({"./no-such-file.so"}, &table);
  EXPECT_NE(status.message().find("no-such-file.so"), std::string::npos);
  EXPECT_NE(status.message().find("libopenmpi-dev"), std::string::npos);
}

/// Ends the program, and with it the job.
class Watch final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo &) override {
    std::signal(SIGALRM, [](int) {
      constexpr char text[] = "the test hangs\n";
      (void)!write(2, text, sizeof text - 1);
      _exit(1);
    });
    alarm(secondsOfATest);
  }
  void OnTestEnd(const testing::TestInfo &) override { alarm(0); }
};

} // namespace

std::vector<Backend> backends() {
  Backend mpi;
  mpi.name = "Mpi";
  mpi.create = create;
  // Its ranks are processes, and the host is none.
  mpi.createWithHost = nullptr;
  // It sums in whatever order it likes.
  mpi.promisesBits = false;
  // It has no call that ends a collective before all its ranks have come.
  mpi.takesBack = false;
  return {mpi};
}

} // namespace dist::cts

// Blocking calls of MPI's poll, and yield between: that gives a busy machine's
// CPU to everybody but who sleeps, which the awaited rank may do.
extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  constexpr timespec moment{0, 20000};
  return nanosleep(&moment, nullptr);
}

int main(int count, char **arguments) {
  if (count == 3 && std::string(arguments[1]) == "--serve-mpi")
    return dist::cts::serveMpi(arguments[2]);
  testing::InitGoogleTest(&count, arguments);
  testing::UnitTest::GetInstance()->listeners().Append(new dist::cts::Watch);
  return RUN_ALL_TESTS();
}
