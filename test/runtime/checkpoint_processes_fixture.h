//===- checkpoint_processes_fixture.h - States of processes -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CHECKPOINT_PROCESSES_FIXTURE_H
#define TEST_RUNTIME_CHECKPOINT_PROCESSES_FIXTURE_H

#include "runtime/checkpoint/checkpoint.h"
#include "test/runtime/processes_fixture.h"

namespace dist::test {

enum { W, Seen, Moving, Table };

/// A run: its sessions and its folder of states, by process.
struct SavedRun {
  Processes processes{Between::Messages};
  std::vector<std::unique_ptr<CheckpointFolder>> folders;
  std::vector<std::vector<std::string>> notes;
};

class CheckpointProcesses : public SessionTest {
protected:
  fs::path states;
  void SetUp() override {
    SessionTest::SetUp();
    states = folder / "states";
  }

  /// Opens the package for a mesh of 1, 2 or 4 ranks, with a table in parts: of
  /// four the last has nothing of it, and the one before has padding.
  void open(SavedRun &run, const std::vector<int> &processOf) {
    session.reset();
    m.Clear();
    int64_t ranks = processOf.size(), rows = (5 + ranks - 1) / ranks;
    describe(ranks);
    manifest::Variable *table = variable("table", {5, 2});
    table->set_group("parameter");
    table->set_bytes(8 * rows);
    *table->mutable_local_type() = type({rows, 2});
    if (ranks > 1) {
      table->mutable_sharding()->add_dims()->add_axes("data");
      table->mutable_sharding()->add_dims();
    }
    ASSERT_TRUE(SessionTest::open().ok());
    session.reset();
    Status status = run.processes.open(folder, m, processOf);
    ASSERT_TRUE(status.ok()) << status.message();
    run.folders.resize(run.processes.sessions.size());
    run.notes.resize(run.processes.sessions.size());
  }
  std::vector<Status>
  openFolders(SavedRun &run,
              const std::function<FolderClaim(int process)> &claim) {
    return run.processes.onAll([&](int process, Session &own) {
      return CheckpointFolder::open(states, claim(process), own,
                                    &run.folders[process], &run.notes[process]);
    });
  }
  std::vector<Status> begin(SavedRun &run, FolderUse use,
                            int64_t *step = nullptr) {
    return run.processes.onAll([&, use, step](int process, Session &own) {
      DIST_RETURN_IF_ERROR(CheckpointFolder::open(
          states, use, own, &run.folders[process], &run.notes[process]));
      TrainingState state;
      bool found = false;
      if (use == FolderUse::Resume)
        DIST_RETURN_IF_ERROR(run.folders[process]->load(own, &state, &found,
                                                        &run.notes[process]));
      if (step && process == 0)
        *step = found ? state.step : -1;
      return run.folders[process]->begin(own);
    });
  }
  static std::vector<Status> save(SavedRun &run, int64_t step) {
    return run.processes.onAll([&](int process, Session &own) {
      TrainingState state;
      state.step = step;
      return run.folders[process]->save(3, own, state);
    });
  }
  /// The table's elements are 0 to 9, `seen` and `moving` differ by rank.
  static void fill(SavedRun &run, float first = 0) {
    expectOk(run.processes.onAll([&](int, Session &own) {
      float table[10];
      for (int i = 0; i < 10; ++i)
        table[i] = first + i;
      DIST_RETURN_IF_ERROR(
          own.writeVariable(Table, {manifest::F32, {5, 2}, table}));
      for (int rank : own.localRanks()) {
        float seen = 3 + rank, row[] = {float(rank), float(2 * rank)};
        DIST_RETURN_IF_ERROR(
            own.writeSlice(Seen, rank, {manifest::F32, {}, &seen}));
        DIST_RETURN_IF_ERROR(
            own.writeSlice(Moving, rank, {manifest::F32, {1, 2}, row}));
      }
      return Status();
    }));
  }
  std::vector<float> valueOf(SavedRun &run, int variable) {
    std::vector<Tensor> values(run.processes.sessions.size());
    expectOk(run.processes.onAll([&](int process, Session &own) {
      return own.readVariable(variable, &values[process]);
    }));
    return floats(values[0]);
  }
  float seenOf(SavedRun &run, int process, int rank) {
    Tensor slice;
    EXPECT_TRUE(
        run.processes.sessions[process]->readSlice(Seen, rank, &slice).ok());
    return floats(slice)[0];
  }
  std::vector<std::string> namesIn(const fs::path &path) {
    std::vector<std::string> names;
    for (auto &item : fs::directory_iterator(path))
      names.push_back(item.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
};

using Names = std::vector<std::string>;
inline const std::vector<float> kTable = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
inline const char *kStep5 = "step-000000000005", *kStep6 = "step-000000000006";

} // namespace dist::test

#endif // TEST_RUNTIME_CHECKPOINT_PROCESSES_FIXTURE_H
