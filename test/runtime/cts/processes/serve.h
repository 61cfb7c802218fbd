//===- serve.h - A process that is one rank of worlds -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_PROCESSES_SERVE_H
#define TEST_RUNTIME_CTS_PROCESSES_SERVE_H

#include "test/runtime/cts/processes/channel.h"
#include "test/runtime/cts/processes/world.h"
#include <functional>

namespace dist::cts {

/// How a process makes its rank of a world: what differs between communicators.
class RankMaker {
public:
  virtual ~RankMaker() = default;
  /// Gives the process's address, and gets those of all, by rank. False: the
  /// test is gone.
  using Exchange =
      std::function<bool(const std::string &own, std::vector<std::string> *)>;
  virtual Status open(const ProcessWorld::Setup &setup, int rank, int ranks,
                      const Exchange &exchange,
                      std::shared_ptr<World> *out) = 0;
  /// The rank's world is gone, and those of the others go.
  virtual void closed(int /*ranks*/) {}
  /// What the rank has sent.
  virtual Traffic traffic(World &, int) { return {}; }
  /// Whether worlds can still be opened.
  virtual bool isUsable() { return true; }
};

/// Serves a rank until its test is gone.
int serveRank(const Sockets &sockets, RankMaker &maker);

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_PROCESSES_SERVE_H
