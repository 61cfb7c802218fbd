//===- placement.h - Which process runs which rank --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PLACEMENT_H
#define RUNTIME_CORE_PLACEMENT_H

#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <vector>

namespace dist {

/// Where one rank runs.
struct RankPlacement {
  int process = 0;
  int host = 0;
  int device = 0; // among the process's
  /// Ranks of one domain can read each other's memory by address.
  int domain = 0;
};

/// The table of all ranks of a mesh. What a rank runs is its program, which the
/// manifest says (`program_of_rank`).
class Placement {
public:
  /// All of them in one process, on one host.
  static Placement inOneProcess(int ranks);
  /// As a package was compiled for: its processes, each of which is a memory
  /// domain; process p is on host `hosts[p]`, or without `hosts` on host p.
  /// Errors: too few hosts.
  static Status ofPackage(const manifest::Manifest &manifest,
                          const std::vector<int> &hosts, Placement *out);
  /// By rank. Errors: no rank, a process without ranks, two ranks that are one
  /// device of one process, a process or domain on two hosts.
  static Status create(std::vector<RankPlacement> ranks, Placement *out);

  int ranks() const { return table.size(); }
  int processes() const { return processCount; }
  const RankPlacement &of(int rank) const { return table[rank]; }
  /// Ascending.
  std::vector<int> ranksOf(int process) const;
  /// Whether every rank can read every other's memory.
  bool isOneDomain() const;

private:
  std::vector<RankPlacement> table;
  int processCount = 0;
};

/// Whether programs that were compiled for devices like these can run so: those
/// that read each other's memory want one domain, and the mesh's host a device
/// beside it, which hears for it whether all go on.
Status checkPlacement(const manifest::Manifest &manifest,
                      const Placement &placement);

} // namespace dist

#endif // RUNTIME_CORE_PLACEMENT_H
