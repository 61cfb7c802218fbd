//===- checkpoint_fixture.h - Runs in a folder of states -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CHECKPOINT_FIXTURE_H
#define TEST_RUNTIME_CHECKPOINT_FIXTURE_H

#include "test/runtime/folder_test.h"
#include "runtime/checkpoint/checkpoint.h"
#include "test/runtime/fake_session.h"
#include <algorithm>
#include <cstdio>

namespace dist {

inline TrainingState at(int64_t step) {
  TrainingState state;
  state.step = step;
  return state;
}

inline std::string named(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%012lld",
                static_cast<long long>(step));
  return name;
}

struct CheckpointTest : FolderTest {
  std::vector<std::string> notes;

  /// A run that begins, or resumes; null with an error of the test's.
  std::unique_ptr<CheckpointFolder> begin(Session &session,
                                          const FolderClaim &claim) {
    std::unique_ptr<CheckpointFolder> opened;
    Status status =
        CheckpointFolder::open(folder, claim, session, &opened, &notes);
    TrainingState ignored;
    bool found = false;
    if (status.ok() && claim.use == FolderUse::Resume)
      status = opened->load(session, &ignored, &found, &notes);
    if (status.ok())
      status = opened->begin(session);
    EXPECT_TRUE(status.ok()) << status.message();
    return opened;
  }
  /// A run of one save.
  void save(Session &session, const TrainingState &state,
            FolderUse use = FolderUse::New) {
    Status status = begin(session, use)->save(3, session, state);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  Status load(Session &session, TrainingState *state, bool *found) {
    notes.clear();
    std::unique_ptr<CheckpointFolder> opened;
    DIST_RETURN_IF_ERROR(CheckpointFolder::open(folder, FolderUse::Resume,
                                                session, &opened, &notes));
    return opened->load(session, state, found, &notes);
  }
  /// Why a run cannot begin; empty when it can.
  std::string refusal(FolderUse use) {
    return checkCheckpointFolder(folder, use).message();
  }
  /// What lies in the folder beside lock and identity, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto &item : std::filesystem::directory_iterator(folder))
      if (std::string name = item.path().filename();
          name != ".lock" && name != "run.json")
        all.push_back(name);
    std::sort(all.begin(), all.end());
    return all;
  }
};

} // namespace dist

#endif // TEST_RUNTIME_CHECKPOINT_FIXTURE_H
