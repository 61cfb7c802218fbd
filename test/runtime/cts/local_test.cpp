//===- local_test.cpp - The local communicator's conformance --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/device/cpu/team.h"
#include "test/runtime/cts/communicator_test.h"
#include <chrono>
#include <thread>

namespace dist::cts {
namespace {

std::unique_ptr<World> createLocal(const std::vector<int64_t> &mesh,
                                   double timeout, int spin, int threads,
                                   Algorithm algorithm, bool host) {
  WorldOptions options;
  fill(&options, mesh, timeout, spin, threads, algorithm, host);
  std::unique_ptr<LocalWorld> world;
  Status status = LocalWorld::create(options, &world);
  EXPECT_TRUE(status.ok()) << status.message();
  return world;
}

Backend local(std::string name, int spin, int threads,
              Algorithm algorithm = Algorithm::Auto) {
  auto create = [=](bool host) {
    return [=](std::vector<int64_t> mesh, double timeout) {
      return createLocal(mesh, timeout, spin, threads, algorithm, host);
    };
  };
  return {name, create(false), create(true), factsOf(algorithm).order};
}

TEST(LocalWorld, RefusesWrongMeshes) {
  std::unique_ptr<LocalWorld> world;
  WorldOptions options;
  for (const std::vector<int64_t> &mesh :
       {std::vector<int64_t>{0}, std::vector<int64_t>{-2},
        std::vector<int64_t>{1 << 20}, std::vector<int64_t>(7, 1)}) {
    options.mesh = mesh;
    EXPECT_EQ(LocalWorld::create(options, &world).code(),
              StatusCode::InvalidArgument)
        << toString(mesh);
  }
}

TEST(LocalWorld, TellsOfRanksThatHang) {
  std::vector<std::string> warnings;
  WorldOptions options;
  options.mesh = {2};
  options.timeout = 0.4;
  options.warn = [&](const std::string &text) { warnings.push_back(text); };
  std::unique_ptr<LocalWorld> world;
  ASSERT_TRUE(LocalWorld::create(options, &world).ok());
  float sum = 1;
  Status status =
      world->rank(0).allReduce(3, &sum, 1, manifest::F32, Reduction::Sum, 1);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  // Once, before the time is over.
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].substr(0, warnings[0].find(" for 0")),
            "rank 0 waits at all_reduce of op 3 for rank 1, which shows no "
            "progress");
}

// One that computes nothing meanwhile has no CPU, as far as is seen.
TEST(LocalWorld, GivesACpuToWhoHasNone) {
  std::vector<std::pair<int, int>> given;
  std::atomic<bool> gave{false};
  std::vector<int> sat;
  WorldOptions options;
  options.mesh = {2};
  options.spinMicroseconds = 1000;
  options.giveCpu = [&](int waiting, int late) {
    given.push_back({waiting, late});
    gave = given.size() == 2;
    return gave.load();
  };
  options.sit = [&](int rank) { sat.push_back(rank); };
  std::unique_ptr<LocalWorld> world;
  ASSERT_TRUE(LocalWorld::create(options, &world).ok());
  auto sum = [&](int rank) {
    float value = rank + 1;
    Communicator &own = world->rank(rank);
    EXPECT_TRUE(
        own.allReduce(3, &value, 1, manifest::F32, Reduction::Sum, 1).ok());
    EXPECT_EQ(value, 3);
  };
  std::thread other([&] {
    while (!gave)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    sum(1);
  });
  sum(0);
  other.join();
  // Again where nothing was given; and then asleep.
  std::vector<std::pair<int, int>> expected(2, {0, 1});
  EXPECT_EQ(given, expected);
  EXPECT_EQ(sat, std::vector<int>{0});
}

} // namespace

std::vector<Backend> backends() {
  std::vector<Backend> all = {local("Sleeping", 0, 1),
                              local("Spinning", 200, 1)};
  for (const AlgorithmFacts &one : allAlgorithms) {
    if (!one.isOfMemory)
      continue;
    if (one.algorithm != Algorithm::Auto)
      all.push_back(local(one.name, 0, 1, one.algorithm));
    all.push_back(
        local(std::string(one.name) + "_with_teams", 0, 2, one.algorithm));
  }
  return all;
}

} // namespace dist::cts
