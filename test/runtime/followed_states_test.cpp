//===- followed_states_test.cpp - States beside the run that saves them ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/checkpoint_fixture.h"
#include "runtime/checkpoint/followed_states.h"
#include "test/runtime/passing_files.h"
#include <fstream>

using namespace dist;
namespace fs = std::filesystem;

namespace {

/// The system's files, but that something happens as one of a name is looked
/// at, once.
class WatchedFiles : public test::PassingFiles {
public:
  explicit WatchedFiles(std::string name, std::function<void()> happens)
      : name(std::move(name)), happens(std::move(happens)) {}

  int status(const std::string &path, struct stat *out,
             bool followsLinks) override {
    if (happens && fs::path(path).filename() == name)
      std::exchange(happens, nullptr)();
    return PassingFiles::status(path, out, followsLinks);
  }
  using PassingFiles::status;

private:
  std::string name;
  std::function<void()> happens;
};

struct FollowedStatesTest : CheckpointTest {
  FakeSession trained{4, 4}, session{4, 4};
  std::unique_ptr<CheckpointFolder> run;
  Status status;

  /// The variable is the step's number from now on.
  void saveStep(int64_t step, int64_t keep = 100) {
    for (FakeSession::Ranks &rank : trained.state)
      rank[FakeSession::W] = double(step);
    TrainingState state;
    state.step = step;
    state.stepsPerEpoch = 10;
    Status saved = run->save(keep, trained, state);
    EXPECT_TRUE(saved.ok()) << saved.message();
  }
  /// The step that the session is given; -1: there is none.
  int64_t next(FollowedStates &states) {
    notes.clear();
    status = states.loadNewest(session, &state, &notes);
    if (!state)
      return -1;
    EXPECT_EQ(state->training.step, state->id.step);
    EXPECT_EQ(session.state[0][FakeSession::W], double(state->id.step));
    return state->id.step;
  }
  fs::path of(int64_t step) const {
    char name[32];
    std::snprintf(name, sizeof name, "step-%012lld",
                  static_cast<long long>(step));
    return folder / name;
  }
  /// All of its values.
  void damage(int64_t step) const {
    std::fstream file(of(step) / "variables.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    uint64_t header = 0;
    file.read(reinterpret_cast<char *>(&header), sizeof header);
    file.seekg(0, std::ios::end);
    const std::streamoff data = sizeof header + std::streamoff(header);
    const std::string other(size_t(file.tellg() - data), '\x7f');
    file.seekp(data).write(other.data(), std::streamsize(other.size()));
  }
  bool tells(const std::string &text) const {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string &note) {
                         return note.find(text) != std::string::npos;
                       });
  }
  std::optional<FollowedState> state;
};

TEST_F(FollowedStatesTest, TheNewestIsGivenOnce) {
  FollowedStates states(folder / "later");
  EXPECT_EQ(next(states), -1);
  EXPECT_TRUE(status.ok()) << status.message();
  folder /= "later";
  run = begin(trained, FolderUse::New);
  EXPECT_EQ(next(states), -1);
  saveStep(10);
  EXPECT_EQ(next(states), 10);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(state->id.run, run->runId());
  EXPECT_EQ(next(states), -1);
  for (int64_t step : {20, 30, 40})
    saveStep(step);
  EXPECT_EQ(next(states), 40);
  EXPECT_EQ(state->older, (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(next(states), -1);
  EXPECT_FALSE(states.runHasEnded());
}

TEST_F(FollowedStatesTest, WhatIsDoneIsSkipped) {
  run = begin(trained, FolderUse::New);
  for (int64_t step : {10, 20})
    saveStep(step);
  FollowedStates states(folder);
  states.skip({"another", 9, 900});
  states.skip({run->runId(), 1, 20});
  states.skip({run->runId(), 1, 10}); // older: changes nothing
  EXPECT_EQ(next(states), -1);
  saveStep(30);
  EXPECT_EQ(next(states), 30);
}

// Resuming goes back: its states are newer, whatever their steps.
TEST_F(FollowedStatesTest, AResumedRunMayGoBack) {
  run = begin(trained, FolderUse::New);
  for (int64_t step : {10, 20})
    saveStep(step);
  FollowedStates states(folder);
  EXPECT_EQ(next(states), 20);
  run.reset();
  fs::remove_all(of(20));
  run = begin(trained, FolderUse::Resume);
  EXPECT_EQ(next(states), -1);
  saveStep(15);
  EXPECT_EQ(next(states), 15);
  EXPECT_EQ(state->id.runEpoch, 2);
  saveStep(20);
  EXPECT_EQ(next(states), 20);
}

TEST_F(FollowedStatesTest, AnotherRunIsFollowedInItsPlace) {
  run = begin(trained, FolderUse::New);
  saveStep(20);
  FollowedStates states(folder);
  EXPECT_EQ(next(states), 20);
  run.reset();
  run = begin(trained, FolderUse::Overwrite);
  EXPECT_EQ(next(states), -1);
  saveStep(10);
  EXPECT_EQ(next(states), 10);
  EXPECT_EQ(state->id.run, run->runId());
}

TEST_F(FollowedStatesTest, ARunSaysThatItHasEnded) {
  FollowedStates states(folder);
  EXPECT_EQ(next(states), -1);
  EXPECT_FALSE(states.runHasEnded());
  run = begin(trained, FolderUse::New);
  saveStep(10);
  ASSERT_TRUE(run->end(trained).ok());
  // Its last state comes first.
  EXPECT_EQ(next(states), 10);
  EXPECT_EQ(next(states), -1);
  EXPECT_TRUE(states.runHasEnded());
  // One that goes on has not.
  run.reset();
  run = begin(trained, FolderUse::Resume);
  EXPECT_EQ(next(states), -1);
  EXPECT_FALSE(states.runHasEnded());
}

TEST_F(FollowedStatesTest, DamagedOnesAreToldOfOnce) {
  run = begin(trained, FolderUse::New);
  for (int64_t step : {10, 20, 30})
    saveStep(step);
  damage(30);
  fs::remove(of(20) / "state.json");
  FollowedStates states(folder);
  EXPECT_EQ(next(states), 10);
  EXPECT_EQ(notes.size(), 2u);
  EXPECT_TRUE(tells("damaged checkpoint (" + of(20).string() +
                    "): state.json is missing; it is passed over"));
  EXPECT_TRUE(tells("damaged checkpoint (" + of(30).string() + ")"));
  EXPECT_EQ(next(states), -1);
  EXPECT_TRUE(notes.empty());
  // One that is saved in its place is another one.
  saveStep(30);
  EXPECT_EQ(next(states), 30);
}

// Retention does not wait for who reads.
TEST_F(FollowedStatesTest, AStateThatIsRemovedAsItIsReadIsPassedOver) {
  run = begin(trained, FolderUse::New);
  saveStep(10);
  FollowedStates states(folder);
  for (const char *file :
       {"state.json", "index.json", "variables.safetensors"}) {
    const int64_t before = trained.state[0][FakeSession::W];
    WatchedFiles files(file, [&] {
      fs::rename(of(before), folder / ".removing-it");
      fs::remove_all(folder / ".removing-it");
    });
    EXPECT_EQ(next(states), -1) << file;
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(tells(of(before).string() +
                      " was removed while it was read: it is passed over"))
        << file;
    saveStep(before + 10);
  }
  EXPECT_EQ(next(states), 40);
}

// Its header is the old one's, and its values are the new one's.
TEST_F(FollowedStatesTest, AStateThatIsReplacedAsItIsReadIsReadAnew) {
  run = begin(trained, FolderUse::New);
  saveStep(10);
  FollowedStates states(folder);
  WatchedFiles files("index.json", [&] {
    fs::rename(of(10), folder / "elsewhere");
    trained.state[0][FakeSession::Total] = 7; // another checksum
    saveStep(10);
  });
  EXPECT_EQ(next(states), 10);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(notes.empty()) << notes[0];
}

// Who asks once would be told that there is none.
TEST_F(FollowedStatesTest, TheOneForWhichAStateWasRemovedIsRead) {
  run = begin(trained, FolderUse::New);
  saveStep(10);
  for (const char *file :
       {"state.json", "index.json", "variables.safetensors"}) {
    FollowedStates states(folder);
    const int64_t before = trained.state[0][FakeSession::W];
    WatchedFiles files(file, [&] {
      saveStep(before + 10);
      fs::rename(of(before), folder / ".removing-it");
      fs::remove_all(folder / ".removing-it");
    });
    EXPECT_EQ(next(states), before + 10) << file;
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(FollowedStatesTest, NothingIsWrittenAndNothingLocked) {
  run = begin(trained, FolderUse::New);
  saveStep(10);
  run.reset();
  auto content = [&] {
    std::map<std::string, fs::file_time_type> all;
    for (auto &item : fs::recursive_directory_iterator(folder))
      all[item.path()] = item.last_write_time();
    return all;
  };
  const auto before = content();
  FollowedStates states(folder);
  EXPECT_EQ(next(states), 10);
  EXPECT_EQ(content(), before);
  // Others may have the folder meanwhile.
  EXPECT_EQ(refusal(FolderUse::Resume), "");
}

TEST_F(FollowedStatesTest, AnotherModelIsRefused) {
  run = begin(trained, FolderUse::New);
  saveStep(10);
  manifest::Manifest &other =
      const_cast<manifest::Manifest &>(session.manifest());
  other.mutable_variables(FakeSession::W)->set_name("another");
  FollowedStates states(folder);
  EXPECT_EQ(next(states), -1);
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("checkpoint is of another model"),
            std::string::npos)
      << status.message();
}

TEST_F(FollowedStatesTest, AFileIsNoFolder) {
  std::ofstream(folder / "file") << "x";
  FollowedStates states(folder / "file");
  EXPECT_EQ(next(states), -1);
  EXPECT_NE(status.message().find("cannot read the checkpoint folder"),
            std::string::npos)
      << status.message();
}

} // namespace
