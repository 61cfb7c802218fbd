//===- checkpoint_processes_test.cpp - States of several processes --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/checkpoint_processes_fixture.h"

namespace dist::test {
namespace {

TEST_F(CheckpointProcesses, EachWritesWhatItsRanksHold) {
  SavedRun run;
  open(run, {0, 1});
  expectOk(begin(run, FolderUse::New));
  EXPECT_EQ(run.folders[0]->runId().size(), 16u);
  EXPECT_EQ(run.folders[1]->runId(), run.folders[0]->runId());
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

// Processes that meet again may not all know whether their run has begun.
TEST_F(CheckpointProcesses, AllUseAFolderAsTheChiefDoes) {
  {
    SavedRun run;
    open(run, {0, 1});
    expectOk(begin(run, FolderUse::New));
    fill(run);
    expectOk(save(run, 5));
  }
  for (bool resumes : {true, false}) {
    SavedRun run;
    open(run, {0, 1});
    expectOk(openFolders(run, [&](int process) {
      return resumes == (process == 0) ? FolderUse::Resume
                                       : FolderUse::Overwrite;
    }));
    for (const auto &folder : run.folders)
      EXPECT_EQ(folder->resumes(), resumes);
    expectOk(run.processes.onAll([&](int process, Session &own) {
      return run.folders[process]->begin(own);
    }));
    EXPECT_EQ(fs::exists(states / kStep5), resumes);
  }
}

// Process 0 may have come anew to those that go on, and a file may name anyone.
TEST_F(CheckpointProcesses, WhatOneKnowsOfTheFolderCounts) {
  const std::string strange = " 7 a\n\"b ";
  fs::create_directories(states);
  ASSERT_TRUE(
      writeFile(states / "run.json", "{\"run\":\" 7 a\\n\\\"b \",\"epoch\":4}")
          .ok());
  FolderClaim known;
  {
    SavedRun run;
    open(run, {0, 1});
    expectOk(openFolders(run, [](int) { return FolderUse::New; }));
    known = run.folders[1]->claimAgain();
    EXPECT_EQ(known.before, strange);
    EXPECT_EQ(known.run, run.folders[0]->runId());
    EXPECT_EQ(known.use, FolderUse::New);
    expectOk(run.processes.onAll([&](int process, Session &own) {
      return run.folders[process]->begin(own);
    }));
    EXPECT_EQ(run.folders[1]->claimAgain().use, FolderUse::Resume);
    EXPECT_EQ(run.folders[1]->claimAgain().epoch, 5);
  }
  ASSERT_TRUE(writeFile(states / "run.json", "{\"run\":\"b\"}").ok());
  SavedRun run;
  open(run, {0, 1});
  auto claim = [&](int process) {
    return process == 1 ? known : FolderClaim(FolderUse::New);
  };
  for (const Status &status : openFolders(run, claim))
    EXPECT_NE(status.message().find("taken over"), std::string::npos)
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

} // namespace
} // namespace dist::test
