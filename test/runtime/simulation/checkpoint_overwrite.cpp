//===- checkpoint_overwrite.cpp - Other runs in the folder ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In one of four seeds behind the first some groups are other runs, which
// remove what is there as they begin (--overwrite). Those before them save
// nothing there any more, also where they go on without one of them.
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/checkpoint_run.h"
#include <algorithm>

namespace dist::simulation {

/// One group of so many is another run; 0: all are of one.
uint64_t CheckpointRun::countRuns(uint64_t seed) {
  constexpr uint64_t kOneRun = 500;
  return seed > kOneRun && seed % 4 == 3 ? 2 + seed / 4 % 3 : 0;
}

Status CheckpointRun::begin(Group &group, GroupSession &session,
                            CheckpointFolder &folder) {
  if (!group.overwrites || session.process() > 0)
    return folder.begin(session);
  // Who has been replaced removes nothing.
  if (!simulator.isGhost() && !isReplaced(group.number)) {
    overwriter = group.number;
    lastSaved = -1;
  }
  group.isOverwriting = true;
  Status status = folder.begin(session);
  group.isOverwriting = simulator.isGhost() || !status.ok();
  return status;
}

/// Whether one that removes what is there is about to: it may have looked whose
/// the folder is before it was replaced.
bool CheckpointRun::isOverwritten() const {
  return std::any_of(groups.begin(), groups.end(),
                     [](const auto &group) { return group->isOverwriting; });
}

/// Whether the folder says that another run has begun in it since one of them
/// came to it.
bool CheckpointRun::isOthers(const Group &group) const {
  const std::string file = storage.peekFile(std::string(kFolder) + "/run.json");
  auto isIn = [&](const std::string &run) {
    return !run.empty() && file.find(run) != std::string::npos;
  };
  auto isAnother = [&](int process) {
    auto own = owns.find(process);
    if (own == owns.end() || file.empty())
      return false;
    const FolderClaim &claim = own->second.claim;
    return !claim.run.empty() && !isIn(claim.run) && !isIn(claim.before);
  };
  return std::any_of(group.processes.begin(), group.processes.end(), isAnother);
}

/// Who goes on does so as the run that it was.
void CheckpointRun::takeRun(const Group &group, Own &own,
                            const FolderClaim &claim) {
  if (!own.claim.run.empty() && own.claim.run != claim.run)
    simulator.fail("run " + std::to_string(group.number) +
                   " goes on as another: " + claim.run);
  own.claim = claim;
}

} // namespace dist::simulation
