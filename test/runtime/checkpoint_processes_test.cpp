//===- checkpoint_processes_test.cpp - States of several processes --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/kept_states.h"
#include "test/runtime/processes_fixture.h"

namespace dist::test {
namespace {

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
const std::vector<float> kTable = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
const char *kStep5 = "step-000000000005", *kStep6 = "step-000000000006";

TEST_F(CheckpointProcesses, EachWritesWhatItsRanksHold) {
  SavedRun run;
  open(run, {0, 1});
  expectOk(begin(run, FolderUse::New));
  fill(run);
  expectOk(save(run, 5));
  EXPECT_EQ(
      namesIn(states / kStep5),
      (Names{"index.json", "state.json", "variables-00001-of-00002.safetensors",
             "variables-00002-of-00002.safetensors"}));
  auto tensorsOf = [&](const char *name) {
    std::unique_ptr<SafetensorsFile> file;
    EXPECT_TRUE(SafetensorsFile::open(states / kStep5 / name, &file).ok());
    Names names;
    for (auto &[tensor, view] : file->tensors())
      names.push_back(tensor);
    return names;
  };
  // What all ranks have alike, the first one writes.
  EXPECT_EQ(tensorsOf("variables-00001-of-00002.safetensors"),
            (Names{"moving@rank0", "seen@rank0", "table[0:3,0:2]", "w"}));
  EXPECT_EQ(tensorsOf("variables-00002-of-00002.safetensors"),
            (Names{"moving@rank1", "seen@rank1", "table[3:5,0:2]"}));
}

TEST_F(CheckpointProcesses, AnyOthersTakeItUp) {
  std::vector<int> saved[] = {{0, 1}, {1, 0}, {0, 1, 2, 2}};
  for (const std::vector<int> &before : saved)
    for (const std::vector<int> &after : std::vector<std::vector<int>>{
             {0}, {0, 0}, {0, 1}, {0, 1, 2, 3}, {0, 0, 1, 1}}) {
      fs::remove_all(states);
      {
        SavedRun run;
        open(run, before);
        expectOk(begin(run, FolderUse::New));
        fill(run);
        expectOk(save(run, 5));
      }
      SavedRun run;
      open(run, after);
      int64_t step = 0;
      expectOk(begin(run, FolderUse::Resume, &step));
      EXPECT_EQ(step, 5);
      EXPECT_EQ(valueOf(run, Table), kTable);
      EXPECT_EQ(valueOf(run, W), (std::vector<float>{1, 2}));
      float ranks = before.size();
      EXPECT_EQ(valueOf(run, Seen)[0], ranks * 3 + ranks * (ranks - 1) / 2);
      EXPECT_EQ(valueOf(run, Moving),
                (std::vector<float>{(ranks - 1) / 2, ranks - 1}));
      for (const std::vector<std::string> &notes : run.notes)
        EXPECT_TRUE(notes.empty());
      // The same mesh has the ranks' own values again, wherever they are now.
      if (before.size() == after.size())
        for (size_t rank = 0; rank < after.size(); ++rank)
          EXPECT_EQ(seenOf(run, after[rank], rank), 3 + rank);
      // And the state that they save is as good.
      expectOk(save(run, 6));
      EXPECT_EQ(valueOf(run, Table), kTable);
    }
}

// A disk that is full for one process: no state, for the same reason
// everywhere, and the next one is saved.
TEST_F(CheckpointProcesses, WhatOneCannotWriteIsNoState) {
  SavedRun run;
  open(run, {0, 1});
  expectOk(begin(run, FolderUse::New));
  expectOk(save(run, 5));
  std::string saving = ".saving-" + run.folders[0]->runId() + "-1";
  std::vector<Status> failures(2);
  expectOk(run.processes.onAll([&](int process, Session &own) {
    // The folder that process 0 makes, before this one goes on.
    if (process == 1) {
      while (!fs::exists(states / saving))
        std::this_thread::yield();
      fs::create_symlink("/dev/full", states / saving /
                                          "variables-00002-of-00002."
                                          "safetensors");
    }
    TrainingState state;
    state.step = 6;
    CheckpointFolder &own_folder = *run.folders[process];
    DIST_RETURN_IF_ERROR(own_folder.beginSave(own, state, false));
    return own_folder.finishSave(3, own, &failures[process]);
  }));
  for (const Status &failure : failures) {
    EXPECT_EQ(failure.code(), StatusCode::Unavailable);
    EXPECT_EQ(failure.message().rfind("process 1: cannot write file", 0), 0u)
        << failure.message();
    EXPECT_NE(failure.message().find("No space left"), std::string::npos);
  }
  EXPECT_EQ(namesIn(states), (Names{".lock", "run.json", kStep5}));
  expectOk(save(run, 7));
  EXPECT_EQ(namesIn(states),
            (Names{".lock", "run.json", kStep5, "step-000000000007"}));
}

TEST_F(CheckpointProcesses, AStateWithoutAFileIsDamaged) {
  const char *file = "variables-00002-of-00002.safetensors";
  for (bool missing : {true, false}) {
    fs::remove_all(states);
    {
      SavedRun run;
      open(run, {0, 1});
      expectOk(begin(run, FolderUse::New));
      fill(run);
      expectOk(save(run, 5));
      fill(run, 100);
      expectOk(save(run, 6));
    }
    if (missing)
      fs::remove(states / kStep6 / file);
    else
      std::fstream(states / kStep6 / file,
                   std::ios::in | std::ios::out | std::ios::binary)
          .seekp(-1, std::ios::end)
          .put('\x7f');
    SavedRun run;
    open(run, {0, 1});
    int64_t step = 0;
    expectOk(begin(run, FolderUse::Resume, &step));
    EXPECT_EQ(step, 5);
    EXPECT_EQ(valueOf(run, Table), kTable);
    for (const std::vector<std::string> &notes : run.notes) {
      ASSERT_EQ(notes.size(), 1u);
      EXPECT_NE(notes[0].find(file), std::string::npos) << notes[0];
      EXPECT_NE(notes[0].find(std::string("kept as aside-") + kStep6),
                std::string::npos);
    }
  }
}

// Not the chief alone learns that it may not begin.
TEST_F(CheckpointProcesses, ARefusalIsEveryones) {
  SavedRun first;
  open(first, {0, 1});
  expectOk(begin(first, FolderUse::New));
  expectOk(save(first, 5));
  SavedRun second;
  open(second, {0, 1});
  for (const Status &status : begin(second, FolderUse::Resume))
    EXPECT_NE(status.message().find("process 0: checkpoint folder is in use"),
              std::string::npos)
        << status.message();
}

TEST_F(CheckpointProcesses, OneFileOfAllVariables) {
  SavedRun run;
  open(run, {0, 1});
  fill(run);
  expectOk(run.processes.onAll([&](int, Session &own) {
    return saveVariables(folder / "all.safetensors", own, VariableSet::All);
  }));
  std::unique_ptr<SafetensorsFile> file;
  ASSERT_TRUE(SafetensorsFile::open(folder / "all.safetensors", &file).ok());
  const float *table = static_cast<const float *>(file->find("table")->data);
  EXPECT_EQ(std::vector<float>(table, table + 10), kTable);
  EXPECT_EQ(*static_cast<const float *>(file->find("seen")->data), 7);
  // Where the one that writes cannot, the others do not wait for it.
  for (const Status &status : run.processes.onAll([&](int, Session &own) {
         return saveVariables("/dev/full", own, VariableSet::All);
       }))
    EXPECT_EQ(status.message().rfind("process 0: cannot write file", 0), 0u)
        << status.message();
  EXPECT_EQ(valueOf(run, Table), kTable);
}

//===----------------------------------------------------------------------===//
// In memory
//===----------------------------------------------------------------------===//

/// What each process keeps at a step.
std::vector<Status> keep(SavedRun &run, std::vector<KeptStates> &kept,
                         int64_t step) {
  return run.processes.onAll([&, step](int process, Session &own) {
    TrainingState state;
    state.step = step;
    return kept[process].keep(own, state);
  });
}

constexpr int64_t kNothing = -2;

/// Of a run of other processes, each of which has its folder of `parent`; the
/// step, -1 where what they have is not all of one, or `kNothing`.
int64_t loadAll(SavedRun &run, const fs::path &parent) {
  std::vector<int64_t> steps(run.processes.sessions.size());
  expectOk(run.processes.onAll([&](int process, Session &own) {
    TrainingState state;
    Kept found = Kept::Nothing;
    std::vector<std::string> notes;
    DIST_RETURN_IF_ERROR(loadKept(parent / std::to_string(process), own, &state,
                                  &found, &notes));
    EXPECT_TRUE(notes.empty());
    steps[process] = found == Kept::Whole  ? state.step
                     : found == Kept::Part ? -1
                                           : kNothing;
    return Status();
  }));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), steps[0]),
            std::ptrdiff_t(steps.size()));
  return steps[0];
}

TEST_F(CheckpointProcesses, TheNewestThatAllKeptIsTakenUp) {
  fs::path parent = folder / "kept";
  std::vector<KeptStates> kept(1);
  {
    SavedRun run;
    open(run, {0, 0});
    for (int step : {4, 5, 6}) {
      fill(run, step == 5 ? 0 : 100 * step);
      expectOk(keep(run, kept, step));
      EXPECT_EQ(kept[0].step(), step);
    }
  }
  // The sessions are gone. Two are kept, the older of which all have.
  ASSERT_TRUE(kept[0].write(parent / "0").ok());
  EXPECT_TRUE(kept[0].empty());
  EXPECT_EQ(namesIn(parent / "0"), (Names{kStep5, kStep6}));
  fs::copy(parent / "0", parent / "1", fs::copy_options::recursive);
  fs::remove_all(parent / "1" / kStep6);
  for (const std::vector<int> &after :
       std::vector<std::vector<int>>{{0, 1}, {1, 0}, {0, 0, 1, 1}}) {
    SavedRun run;
    open(run, after);
    EXPECT_EQ(loadAll(run, parent), 5);
    EXPECT_EQ(valueOf(run, Table), kTable);
    EXPECT_EQ(valueOf(run, Seen)[0], 7);
    EXPECT_EQ(valueOf(run, Moving), (std::vector<float>{.5, 1}));
  }
  // Who has none, as one that has just come, gets that of the first.
  fs::remove_all(parent / "1");
  SavedRun two;
  open(two, {0, 1});
  EXPECT_EQ(loadAll(two, parent), 6);
  EXPECT_EQ(valueOf(two, Table)[9], 609);
  EXPECT_EQ(namesIn(parent / "1"), Names{kStep6});
  // Whichever process has it gives it; what was handed over by half is no
  // state.
  const fs::path half = parent / "0" / (std::string(kStep6) + ".half");
  fs::rename(parent / "0" / kStep6, half);
  fs::remove_all(parent / "0" / kStep5);
  fs::remove(half / "state.json");
  EXPECT_EQ(loadAll(two, parent), 6);
  EXPECT_EQ(valueOf(two, Table)[9], 609);
  EXPECT_EQ(namesIn(parent / "0"), Names{kStep6});
  SavedRun one;
  open(one, {0});
  EXPECT_EQ(loadAll(one, parent), 6);
  EXPECT_EQ(valueOf(one, Table)[0], 600);
}

TEST_F(CheckpointProcesses, WhatIsNotWholeInMemoryIsNotTakenUp) {
  fs::path parent = folder / "kept";
  std::vector<KeptStates> kept(2);
  {
    SavedRun run;
    open(run, {0, 1}); // half of the table each
    fill(run);
    expectOk(keep(run, kept, 5));
  }
  ASSERT_TRUE(kept[0].write(parent / "0").ok());
  SavedRun one;
  open(one, {0});
  EXPECT_EQ(loadAll(one, parent), -1);
  // And no state at all.
  EXPECT_EQ(loadAll(one, folder / "nowhere"), kNothing);
}

} // namespace
} // namespace dist::test
