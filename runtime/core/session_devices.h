//===- session_devices.h - What a session's ranks run on --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_SESSION_DEVICES_H
#define RUNTIME_CORE_SESSION_DEVICES_H

#include "runtime/core/entry_plan.h"

namespace dist {

/// The devices of a mesh's ranks and of its host, which is this machine's CPUs,
/// with the library's kernels of the programs that they run.
class SessionDevices {
public:
  SessionDevices();

  /// Programs are for `wanted`; null: for the host. It stays as long as this.
  Status load(const manifest::Manifest &manifest,
              std::shared_ptr<Device> wanted);
  /// What host code may use.
  std::vector<std::string> hostFeatures() const { return host->features(); }
  const Device &device() const { return *ofRanks; }
  /// By program.
  std::vector<const Module *> modules() const;
  /// Whether no program's library wants threads of its own.
  bool runOnOneTeam() const;

  /// Gives a rank its memory and streams; it has its communicator, patience and
  /// number. `plans`: of all entries.
  Status equip(dist_rt_context &rank,
               const std::vector<std::unique_ptr<EntryPlan>> &plans) const;

private:
  const manifest::Manifest *manifest = nullptr;
  std::shared_ptr<Device> host, ofRanks;
  std::vector<std::shared_ptr<const Module>> loaded;
};

} // namespace dist

#endif // RUNTIME_CORE_SESSION_DEVICES_H
