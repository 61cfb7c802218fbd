//===- agreement.h - What a mesh's processes tell each other ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_AGREEMENT_H
#define RUNTIME_CORE_AGREEMENT_H

#include "runtime/core/package.h"
#include "runtime/core/rank.h"
#include "runtime/core/rank_threads.h"

namespace dist {

/// By which all devices of a mesh meet; its host is in no group of theirs.
uint32_t allAxes(const manifest::Mesh &mesh);

/// The ranks of one process, by which it tells the others of the mesh, between
/// two calls of programs. Each needs a device: the mesh's host is in no group
/// of theirs.
class Agreement {
public:
  Agreement(const manifest::Manifest &manifest,
            std::vector<std::unique_ptr<dist_rt_context>> &ranks,
            const std::vector<int> &localRanks, RankThreads &threads)
      : manifest(manifest), ranks(ranks), localRanks(localRanks),
        threads(threads) {}

  /// See Session::agree and Session::exchange; `process` of `processes`.
  Status agree(bool here, bool *everywhere) const;
  Status exchange(int process, int processes, const std::string &mine,
                  std::vector<std::string> *all) const;

private:
  /// Calls job(number, its communicator) on the local devices.
  Status
  onDevices(const std::function<Status(int number, Communicator &)> &job) const;

  const manifest::Manifest &manifest;
  std::vector<std::unique_ptr<dist_rt_context>> &ranks;
  const std::vector<int> &localRanks;
  RankThreads &threads;
};

} // namespace dist

#endif // RUNTIME_CORE_AGREEMENT_H
