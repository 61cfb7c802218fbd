//===- checkpoint_folder_test.cpp - Whose a folder of states is -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/checkpoint_fixture.h"
#include "runtime/formats/file.h"
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace dist;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

void damage(const fs::path &state) {
  std::fstream(state / "variables.safetensors",
               std::ios::in | std::ios::out | std::ios::binary)
      .seekp(-1, std::ios::end)
      .put('\x7f');
}

TEST_F(CheckpointTest, OldStatesAndRemainsOfKillsGo) {
  FakeSession session(4, 4);
  fs::create_directories(folder / ".saving-1");
  fs::create_directories(folder / ".removing-step-000000000009");
  auto run = begin(session, FolderUse::New);
  for (int64_t step : {1, 2, 3, 4, 10})
    ASSERT_TRUE(run->save(2, session, at(step)).ok());
  EXPECT_EQ(names(), (Names{named(4), named(10)}));
}

// Where names cannot be exchanged, a kill between two renames loses nothing.
TEST_F(CheckpointTest, AStateWhoseReplacementIsMissingComesBack) {
  FakeSession session(4, 4);
  save(session, at(5));
  fs::rename(folder / named(5), folder / (".replaced-" + named(5)));
  auto run = begin(session, FolderUse::Resume);
  EXPECT_EQ(names(), Names{named(5)});
}

TEST_F(CheckpointTest, AnotherRunIsRefusedByName) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  std::string id = run->runId();
  ASSERT_TRUE(run->save(3, session, at(500)).ok());
  // At once: it is locked.
  for (FolderUse use :
       {FolderUse::New, FolderUse::Resume, FolderUse::Overwrite})
    EXPECT_NE(refusal(use).find("checkpoint folder is in use"),
              std::string::npos);
  EXPECT_NE(refusal(FolderUse::New).find("process " + std::to_string(getpid())),
            std::string::npos);
  run.reset();
  // Later: its states are there.
  std::string text = refusal(FolderUse::New);
  EXPECT_NE(text.find("run " + id +
                      " of fake has saved step 500; go on with "
                      "--resume"),
            std::string::npos)
      << text;
  EXPECT_EQ(refusal(FolderUse::Resume), "");
  // A new run removes nothing before it begins, and then all of the other's.
  EXPECT_EQ(refusal(FolderUse::Overwrite), "");
  EXPECT_EQ(names(), Names{named(500)});
  auto next = begin(session, FolderUse::Overwrite);
  EXPECT_NE(next->runId(), id);
  EXPECT_EQ(names(), Names{});
  ASSERT_TRUE(next->save(3, session, at(1)).ok());
  next.reset();
  FakeSession resumed(4, 4);
  TrainingState state;
  bool found = false;
  ASSERT_TRUE(load(resumed, &state, &found).ok());
  EXPECT_EQ(state.step, 1);
}

// Between the lock and the run's file nothing is known of who has the folder.
TEST_F(CheckpointTest, ARunThatHasJustBegunHasNoEpoch) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  fs::remove(folder / "run.json");
  std::string text = refusal(FolderUse::New);
  EXPECT_NE(text.find(": a run trains in it; wait until it ends"),
            std::string::npos)
      << text;
}

TEST_F(CheckpointTest, AFolderWithoutStatesIsFree) {
  FakeSession session(4, 4);
  std::string id = begin(session, FolderUse::New)->runId();
  EXPECT_EQ(refusal(FolderUse::New), "");
  EXPECT_EQ(checkCheckpointFolder(folder / "none", FolderUse::New).message(),
            "");
  EXPECT_FALSE(fs::exists(folder / "none"));
  EXPECT_NE(begin(session, FolderUse::New)->runId(), id);
}

TEST_F(CheckpointTest, ResumingAgainAndAgainIsTheSameRun) {
  FakeSession session(4, 4);
  std::string id = begin(session, FolderUse::New)->runId();
  for (int64_t step : {1, 2, 3, 4, 5}) {
    auto run = begin(session, FolderUse::Resume);
    EXPECT_EQ(run->runId(), id);
    ASSERT_TRUE(run->save(2, session, at(step)).ok());
  }
  EXPECT_EQ(names(), (Names{named(4), named(5)}));
}

TEST_F(CheckpointTest, ALockEndsWithItsProcess) {
  FakeSession session(4, 4);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    auto run = begin(session, FolderUse::New);
    (void)run->save(3, session, at(7));
    (void)!write(ready[1], "r", 1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_NE(refusal(FolderUse::Resume).find("process " + std::to_string(child)),
            std::string::npos);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(refusal(FolderUse::Resume), "");
}

// All files of a state are on the disk, but nothing says yet that they are one.
TEST_F(CheckpointTest, AKillBeforeTheCommitLeavesTheStateBefore) {
  FakeSession session(4, 4);
  pid_t child = fork();
  if (child == 0) {
    auto run = begin(session, FolderUse::New);
    (void)run->save(3, session, at(5));
    (void)run->beginSave(session, at(6), /*beside=*/false);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(names().size(), 2u);
  EXPECT_TRUE(fs::exists(folder / names()[0] / "variables.safetensors"));
  TrainingState state;
  bool found = false;
  ASSERT_TRUE(load(session, &state, &found).ok());
  EXPECT_EQ(state.step, 5);
  EXPECT_EQ(names(), Names{named(5)});
}

// What is written beside is what was there when it was taken.
TEST_F(CheckpointTest, ASaveBesideTakesACopy) {
  FakeSession session(4, 4);
  session.state[0][FakeSession::W] = 4.5;
  {
    auto run = begin(session, FolderUse::New);
    ASSERT_TRUE(run->beginSave(session, at(5), /*beside=*/true).ok());
    session.state[0][FakeSession::W] = 9;
    EXPECT_EQ(names().size(), 1u); // not a state yet
    Status failure;
    ASSERT_TRUE(run->finishSave(3, session, &failure).ok());
    EXPECT_TRUE(failure.ok()) << failure.message();
    EXPECT_EQ(names(), Names{named(5)});
    // One that nobody waits for leaves nothing.
    ASSERT_TRUE(run->beginSave(session, at(6), /*beside=*/true).ok());
  }
  EXPECT_EQ(names(), Names{named(5)});
  TrainingState state;
  bool found = false;
  ASSERT_TRUE(load(session, &state, &found).ok());
  EXPECT_EQ(session.state[0][FakeSession::W], 4.5);
}

// A lock may fail to keep another out (a file system without locks): whoever
// comes last has the folder.
TEST_F(CheckpointTest, ATakenFolderIsNotWrittenTo) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  ASSERT_TRUE(run->save(3, session, at(1)).ok());
  ASSERT_TRUE(writeFile(folder / "run.json",
                        "{\"run\":\"abc\",\"epoch\":1,\"model\":\"m\"}")
                  .ok());
  Status status = run->save(3, session, at(2));
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("taken over"), std::string::npos);
  EXPECT_EQ(names(), Names{named(1)});
}

TEST_F(CheckpointTest, AFolderThatWasRemovedIsMadeAgain) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  ASSERT_TRUE(run->save(3, session, at(1)).ok());
  fs::remove_all(folder);
  ASSERT_TRUE(run->save(3, session, at(2)).ok());
  EXPECT_NE(refusal(FolderUse::Resume).find("in use"), std::string::npos);
  EXPECT_EQ(names(), Names{named(2)});
}

/// Who removes it has come to some of its files, and not to others yet.
TEST_F(CheckpointTest, AFolderThatIsBeingRemovedIsTheRunsStill) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  for (int64_t step : {1, 2})
    ASSERT_TRUE(run->save(3, session, at(step)).ok());
  for (const fs::path &gone : {fs::path("run.json"), fs::path(".lock"),
                               fs::path(named(1)) / "state.json"})
    ASSERT_TRUE(fs::remove(folder / gone));
  Status status = run->save(3, session, at(3));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(fs::exists(folder / "run.json"));
  EXPECT_NE(refusal(FolderUse::Resume).find("in use"), std::string::npos);
  EXPECT_EQ(names(), (Names{named(1), named(2), named(3)}));
}

/// That it cannot be made again is why a state is not saved: no other run has
/// the folder, and this one may go on.
TEST_F(CheckpointTest, AFolderThatCannotBeMadeAgainEndsNoRun) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  const fs::path away = folder.string() + ".away";
  fs::rename(folder, away);
  ASSERT_TRUE(writeFile(folder, "").ok());
  for (bool beside : {false, true}) {
    Status failure, status = run->beginSave(session, at(1), beside);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(run->finishSave(3, session, &failure).ok());
    EXPECT_NE(failure.message().find("cannot make folder"), std::string::npos)
        << failure.message();
  }
  fs::remove(folder);
  fs::rename(away, folder);
  EXPECT_TRUE(run->save(3, session, at(2)).ok());
  EXPECT_EQ(names(), Names{named(2)});
}

/// However often it is tried: that no lock was had is none of a file system
/// without locks.
TEST_F(CheckpointTest, AFolderThatAnotherRunHasMadeAgainIsItsOwn) {
  FakeSession session(4, 4);
  save(session, at(1));
  auto run = begin(session, FolderUse::Resume); // its epoch is the later one
  fs::remove_all(folder);
  auto other = begin(session, FolderUse::New);
  for (int64_t step : {2, 3})
    EXPECT_NE(run->save(3, session, at(step)).message().find("in use"),
              std::string::npos);
  Status status = other->save(3, session, at(4));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(names(), Names{named(4)});
}

TEST_F(CheckpointTest, DamagedStatesAreSetAsideOnce) {
  FakeSession session(4, 4);
  {
    auto run = begin(session, FolderUse::New);
    for (int64_t step : {10, 20, 30, 40})
      ASSERT_TRUE(run->save(3, session, at(step)).ok());
  }
  damage(folder / named(40));
  fs::remove(folder / named(30) / "state.json");
  TrainingState state;
  bool found = false;
  ASSERT_TRUE(load(session, &state, &found).ok());
  EXPECT_EQ(state.step, 20);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("kept as aside-" + named(40)), std::string::npos);
  EXPECT_EQ(names(),
            (Names{"aside-" + named(30), "aside-" + named(40), named(20)}));
  // They are not looked at again, and nothing goes on their account.
  ASSERT_TRUE(load(session, &state, &found).ok());
  EXPECT_TRUE(notes.empty());
  auto run = begin(session, FolderUse::Resume);
  for (int64_t step : {30, 40})
    ASSERT_TRUE(run->save(3, session, at(step)).ok());
  EXPECT_EQ(names(), (Names{"aside-" + named(30), "aside-" + named(40),
                            named(20), named(30), named(40)}));
}

/// Of one who has another state at hand.
TEST_F(CheckpointTest, WhatIsNotNewerIsNotGoneBackTo) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  ASSERT_TRUE(run->save(3, session, at(10)).ok());
  ASSERT_TRUE(run->save(3, session, at(20)).ok());
  auto newerThan = [&](int64_t step) {
    TrainingState state;
    bool found = false;
    notes.clear();
    Status status = run->load(session, &state, &found, &notes, step);
    EXPECT_TRUE(status.ok()) << status.message();
    return found ? state.step : -1;
  };
  EXPECT_EQ(newerThan(20), -1);
  EXPECT_EQ(newerThan(19), 20);
  EXPECT_TRUE(notes.empty());
  // Damaged ones do not stand in its way, and count as states no more.
  damage(folder / named(20));
  EXPECT_EQ(newerThan(10), -1);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("it is kept as aside-" + named(20)),
            std::string::npos)
      << notes[0];
  EXPECT_EQ(newerThan(9), 10);
  // Nor do those that cannot be read here.
  fs::remove(folder / named(10) / "state.json");
  fs::create_directory(folder / named(10) / "state.json");
  EXPECT_EQ(newerThan(9), -1);
  EXPECT_EQ(notes.size(), 1u);
}

TEST_F(CheckpointTest, TheSameStepIsReplaced) {
  FakeSession session(4, 4);
  auto run = begin(session, FolderUse::New);
  ASSERT_TRUE(run->save(3, session, at(5)).ok());
  session.state[0][FakeSession::W] = 4.5;
  ASSERT_TRUE(run->save(3, session, at(5)).ok());
  run.reset();
  EXPECT_EQ(names(), Names{named(5)});
  FakeSession other(4, 4);
  TrainingState state;
  bool found = false;
  ASSERT_TRUE(load(other, &state, &found).ok());
  EXPECT_EQ(other.state[0][FakeSession::W], 4.5);
}

TEST_F(CheckpointTest, StatesOfTwoRunsAreNotMixed) {
  FakeSession session(4, 4);
  save(session, at(5));
  fs::rename(folder / named(5), folder / "elsewhere");
  save(session, at(3));
  fs::rename(folder / "elsewhere", folder / named(5));
  EXPECT_NE(refusal(FolderUse::Resume).find("states of several runs"),
            std::string::npos);
}

// As they were before runs had names: the run that resumes takes them over.
TEST_F(CheckpointTest, StatesOfBeforeAreTakenOver) {
  fs::create_directories(folder / named(12));
  for (const char *name : {"state.json", "variables.safetensors"})
    fs::copy_file(fs::path(CHECKPOINT_OF_BEFORE) / name,
                  folder / named(12) / name);
  EXPECT_NE(refusal(FolderUse::New).find("a run has saved step 12"),
            std::string::npos);
  FakeSession session(4, 4);
  TrainingState state;
  bool found = false;
  Status status = load(session, &state, &found);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(session.state[1], (FakeSession::Ranks{1.5, 7, 30, 3, 0}));
  EXPECT_EQ(state.epochLoss, 0.25);
  auto run = begin(session, FolderUse::Resume);
  EXPECT_EQ(run->runId().size(), 16u);
  ASSERT_TRUE(run->save(1, session, at(13)).ok());
  EXPECT_EQ(names(), Names{named(13)});
}

} // namespace
