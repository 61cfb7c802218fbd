//===- processes_fixture.h - A mesh's ranks in several sessions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_PROCESSES_FIXTURE_H
#define TEST_RUNTIME_PROCESSES_FIXTURE_H

#include "runtime/comm/local/local.h"
#include "test/runtime/session_fixture.h"
#include <thread>

namespace dist::test {

/// Sessions that see of a mesh what a process would: each has a thread, and all
/// talk through one world.
struct Processes {
  std::shared_ptr<LocalWorld> world;
  std::vector<std::unique_ptr<Session>> sessions;

  static std::shared_ptr<LocalWorld> makeWorld(const manifest::Manifest &m) {
    WorldOptions local;
    for (const manifest::Axis &axis : m.mesh().axes())
      local.mesh.push_back(axis.size());
    local.host = m.mesh().host();
    local.spinMicroseconds = local.spinForHostMicroseconds = 0;
    std::unique_ptr<LocalWorld> made;
    EXPECT_TRUE(LocalWorld::create(local, &made).ok());
    return made;
  }

  /// `processOf`: by rank.
  Status open(const fs::path &folder, const manifest::Manifest &m,
              const std::vector<int> &processOf) {
    world = makeWorld(m);
    std::vector<RankPlacement> ranks;
    int count = 0;
    for (int process : processOf) {
      ranks.push_back({process, 0, static_cast<int>(ranks.size()), 0});
      count = std::max(count, process + 1);
    }
    SessionOptions options;
    options.world = world;
    options.placement.emplace();
    DIST_RETURN_IF_ERROR(
        Placement::create(std::move(ranks), &*options.placement));
    sessions.resize(count);
    for (int process = 0; process < count; ++process) {
      options.process = process;
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

inline void expectOk(const std::vector<Status> &statuses) {
  for (const Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace dist::test

#endif // TEST_RUNTIME_PROCESSES_FIXTURE_H
