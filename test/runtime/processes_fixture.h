//===- processes_fixture.h - A mesh's ranks in several sessions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_PROCESSES_FIXTURE_H
#define TEST_RUNTIME_PROCESSES_FIXTURE_H

#include "runtime/comm/local/local.h"
#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "test/runtime/session_fixture.h"
#include <thread>

namespace dist::test {

/// How the sessions reach each other: through one world for all, or each
/// through its own, which only sends and receives.
enum class Between { Memory, Messages };

/// Sessions that see of a mesh what a process would: each has a thread.
struct Processes {
  explicit Processes(Between between) : between(between) {}

  Between between;
  double timeout = 30; // of collectives
  /// By process.
  std::vector<std::shared_ptr<World>> worlds;
  std::vector<std::unique_ptr<Session>> sessions;

  /// `processOf`: by rank.
  static std::vector<std::shared_ptr<World>>
  makeWorlds(const manifest::Manifest &m, const std::vector<int> &processOf,
             Between between, double timeout = 30) {
    MessageOptions options;
    options.timeout = timeout;
    options.setMesh(m.mesh());
    options.spinMicroseconds = options.spinForHostMicroseconds = 0;
    int count = 1 + *std::max_element(processOf.begin(), processOf.end());
    if (between == Between::Memory) {
      std::unique_ptr<LocalWorld> made;
      EXPECT_TRUE(LocalWorld::create(options, &made).ok());
      return std::vector<std::shared_ptr<World>>(
          count, std::shared_ptr<World>(std::move(made)));
    }
    std::vector<std::vector<std::unique_ptr<Transport>>> ends(count);
    for (auto &end : makeMemoryTransports(processOf.size()))
      ends[processOf[end->rank()]].push_back(std::move(end));
    std::vector<std::shared_ptr<World>> worlds;
    for (auto &own : ends) {
      std::unique_ptr<MessageWorld> made;
      EXPECT_TRUE(MessageWorld::create(options, std::move(own), &made).ok());
      worlds.push_back(std::move(made));
    }
    return worlds;
  }

  /// `processOf`: by rank.
  Status open(const fs::path &folder, const manifest::Manifest &m,
              const std::vector<int> &processOf) {
    worlds = makeWorlds(m, processOf, between, timeout);
    std::vector<RankPlacement> ranks;
    int count = 0;
    for (int process : processOf) {
      ranks.push_back({process, 0, static_cast<int>(ranks.size()), 0});
      count = std::max(count, process + 1);
    }
    SessionOptions options;
    options.placement.emplace();
    DIST_RETURN_IF_ERROR(
        Placement::create(std::move(ranks), &*options.placement));
    sessions.resize(count);
    for (int process = 0; process < count; ++process) {
      options.process = process;
      options.world = worlds[process];
      DIST_RETURN_IF_ERROR(Session::open(folder, options, &sessions[process]));
    }
    return Status();
  }

  /// Calls job(process, its session) on all of them at once.
  template <typename Job> std::vector<Status> onAll(Job job) {
    std::vector<Status> statuses(sessions.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < sessions.size(); ++i)
      threads.emplace_back([&, i] { statuses[i] = job(i, *sessions[i]); });
    for (std::thread &thread : threads)
      thread.join();
    return statuses;
  }
};

inline std::string nameOf(const testing::TestParamInfo<Between> &info) {
  return info.param == Between::Memory ? "Memory" : "Messages";
}

inline void expectOk(const std::vector<Status> &statuses) {
  for (const Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace dist::test

#endif // TEST_RUNTIME_PROCESSES_FIXTURE_H
