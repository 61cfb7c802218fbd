//===- agreement.h - What a mesh's processes tell each other ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_AGREEMENT_H
#define RUNTIME_CORE_AGREEMENT_H

#include "runtime/core/package.h"
#include "runtime/core/placement.h"
#include "runtime/core/rank.h"
#include "runtime/core/rank_threads.h"
#include "runtime/core/told.h"
#include <map>

namespace dist {

/// By which all devices of a mesh meet; its host is in no group of theirs.
uint32_t allAxes(const manifest::Mesh &mesh);

/// The ranks of one process, by which it tells the others of the mesh, between
/// two calls of programs. Each needs a device: the mesh's host is in no group
/// of theirs. What is said in each step is prepared, as programs' collectives.
class Agreement {
public:
  Agreement(const manifest::Manifest &manifest, const Placement &placement,
            int process, std::vector<std::unique_ptr<dist_rt_context>> &ranks,
            RankThreads &threads);

  /// In the communicators' generation, before anything else.
  Status prepare();
  /// See Session::agree and Session::exchange.
  Status agree(bool here, bool *everywhere);
  Status exchange(const std::string &mine, std::vector<std::string> *all);

  /// What processes tell in a step; see Session::prepareTelling.
  class Blocks {
  public:
    /// Errors: those of the communicators.
    Status prepare(Agreement &agreement, const std::vector<int> &from,
                   int64_t mostBytes);
    /// See Telling::tell.
    Status tell(Agreement &agreement, void *blocks, int64_t bytes);

  private:
    Status preparePlan(Agreement &agreement, int number, int64_t bytes,
                       DensePlan **out);
    Status tellOn(Agreement &agreement, int number, const char *mine);

    std::vector<int> from; // processes
    /// Where the block of each of them lies among those that a rank receives:
    /// one process's alone, or those of all ranks, in their order.
    std::vector<size_t> places;
    int64_t room = 0;  // bytes of a block
    int64_t bytes = 0; // of which these are told now
    /// By local device. Blocks that are shorter have a plan from their first
    /// time on.
    struct Device {
      std::map<int64_t, std::unique_ptr<DensePlan>> plans; // by bytes
      std::unique_ptr<char[]> blocks;
    };
    std::vector<Device> devices;
  };

private:
  /// Calls job(number) on the local devices; the first error of one of them.
  template <typename Job> Status onDevices(Job &&job);
  Communicator &communicator(int number) const {
    return *ranks[localRanks[number]]->communicator;
  }
  /// Gives all devices' titles, where each has its own.
  Status title(int number, int64_t bytes);

  const manifest::Manifest &manifest;
  const Placement placement;
  const int process;
  const uint32_t axes; // all
  std::vector<std::unique_ptr<dist_rt_context>> &ranks;
  const std::vector<int> localRanks;
  RankThreads &threads;

  /// Of a local device.
  struct Device {
    int32_t flag = 0;
    std::vector<TextTitle> titles; // by rank
    std::unique_ptr<DensePlan> titling;
    Status status;
  };
  std::vector<Device> devices;
};

} // namespace dist

#endif // RUNTIME_CORE_AGREEMENT_H
