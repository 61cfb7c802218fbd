//===- train_resume_test.cpp - Saved, ended and resumed runs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/train_fixture.h"
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>

using namespace dist;

namespace {

TEST_F(TrainTest, ResumingGivesTheUninterruptedCurve) {
  FitOptions options;
  options.epochs = 6;
  options.shuffle = 5;
  FakeSession whole(8, 8);
  auto train = data(whole, 21);
  Recorder want;
  ASSERT_TRUE(fit(whole, *train, nullptr, options, want).ok());

  options.checkpoint = folder / "ck";
  options.saveEvery = 4;
  options.folder.use = FolderUse::Resume;
  std::vector<float> got(want.steps.size());
  std::vector<double> epochLosses(want.epochs.size());
  for (int64_t stop : {6, 7, 13, 17, 100}) {
    FakeSession session(8, 8); // A new process after each kill.
    Recorder recorder;
    recorder.stopAfter = stop;
    (void)fit(session, *train, nullptr, options, recorder);
    EXPECT_EQ(recorder.resumed % 4, 0);
    for (const StepRow &row : recorder.steps)
      got[row.step - 1] = row.loss;
    for (const EpochRow &row : recorder.epochs)
      epochLosses[row.epoch - 1] = row.values[0].second;
  }
  EXPECT_EQ(got, losses(want));
  for (size_t i = 0; i < epochLosses.size(); ++i)
    EXPECT_EQ(epochLosses[i], want.epochs[i].values[0].second) << i;
  // Three states are kept, and nothing half-written.
  std::vector<std::string> names;
  for (auto &item : std::filesystem::directory_iterator(folder / "ck"))
    names.push_back(item.path().filename().string().substr(0, 5));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{".lock", "run.j", "step-", "step-",
                                             "step-"}));
}

// What two processes tell each other may fail at any time, also while a state
// is saved: the run ends with that error, and leaves whole states only.
TEST_F(TrainTest, ALostProcessEndsTheRunWhereverItIs) {
  struct Torn : FakeSession {
    explicit Torn(int left) : FakeSession(8, 8), left(left) {}
    int processes() const override { return 2; }
    Status exchange(const std::string &mine,
                    std::vector<std::string> *all) override {
      if (left-- == 0)
        return Status::error(StatusCode::Unavailable, "the peer is lost");
      *all = {mine, mine};
      return Status();
    }
    int left;
  };
  for (bool beside : {false, true}) {
    FitOptions options;
    options.epochs = 2;
    options.saveEvery = 2;
    options.asyncSave = beside;
    options.folder.use = FolderUse::Resume;
    int cut = 0;
    for (bool isOver = false; !isOver; ++cut) {
      options.checkpoint =
          folder / ("ck" + std::to_string(beside) + std::to_string(cut));
      Torn session(cut);
      auto train = data(session, 21);
      Recorder recorder;
      FitOutcome outcome;
      Status status =
          fit(session, *train, nullptr, options, recorder, &outcome);
      isOver = session.left >= 0;
      EXPECT_EQ(status.ok(), isOver);
      // Who goes on without that process is to know whose the folder is.
      EXPECT_TRUE(outcome.begun || recorder.steps.empty());
      if (cut == 0)
        EXPECT_FALSE(outcome.begun);
      EXPECT_EQ(outcome.step,
                recorder.steps.empty() ? 0 : recorder.steps.back().step);
      if (isOver)
        continue;
      EXPECT_EQ(status.message(), "the peer is lost");
      if (!std::filesystem::exists(options.checkpoint))
        continue;
      for (auto &item : std::filesystem::directory_iterator(options.checkpoint))
        if (item.is_directory())
          EXPECT_TRUE(std::filesystem::exists(item.path() / "state.json"))
              << item.path();
    }
    EXPECT_GT(cut, 8);
  }
}

// The states are those that are saved between steps; only that steps go on
// while they are written.
TEST_F(TrainTest, SavingBesideGivesTheSameStates) {
  struct Watcher : Recorder {
    std::filesystem::path folder;
    int within = 0; // steps while a state was being written
    Status step(const StepRow &row) override {
      std::error_code ignored;
      for (auto &item : std::filesystem::directory_iterator(folder, ignored))
        if (item.path().filename().string().rfind(".saving-", 0) == 0) {
          ++within;
          break;
        }
      return Recorder::step(row);
    }
  };
  FitOptions options;
  options.epochs = 20;
  options.saveEvery = 2;
  options.keep = 100;
  std::vector<std::string> values[2];
  for (bool beside : {false, true}) {
    FakeSession session(8, 8);
    auto train = data(session, 21);
    options.checkpoint = folder / (beside ? "beside" : "between");
    options.asyncSave = beside;
    Watcher watcher;
    watcher.folder = options.checkpoint;
    FitOutcome outcome;
    Status status = fit(session, *train, nullptr, options, watcher, &outcome);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(outcome.saved);
    EXPECT_TRUE(watcher.notes.empty());
    EXPECT_EQ(watcher.within > 0, beside);
    for (int64_t step = 2; step <= 60; step += 2) {
      char name[64];
      std::snprintf(name, sizeof name, "step-%012d/variables.safetensors",
                    int(step));
      std::ifstream file(options.checkpoint + "/" + name, std::ios::binary);
      EXPECT_TRUE(file.good()) << name;
      values[beside].emplace_back(std::istreambuf_iterator<char>(file),
                                  std::istreambuf_iterator<char>());
    }
  }
  EXPECT_EQ(values[0], values[1]);
}

TEST_F(TrainTest, AStateThatCannotBeSavedIsTold) {
  struct Filler : Recorder {
    bool frees = true;
    static void limit(rlim_t bytes) {
      rlimit now;
      getrlimit(RLIMIT_FSIZE, &now);
      now.rlim_cur = bytes == RLIM_INFINITY ? now.rlim_max : bytes;
      setrlimit(RLIMIT_FSIZE, &now);
    }
    Status step(const StepRow &row) override {
      if (row.step == 2)
        limit(64);
      return Recorder::step(row);
    }
    void note(const std::string &text) override {
      if (frees)
        limit(RLIM_INFINITY);
      Recorder::note(text);
    }
    ~Filler() { limit(RLIM_INFINITY); }
  };
  signal(SIGXFSZ, SIG_IGN);
  FitOptions options;
  options.epochs = 4;
  options.saveEvery = 4;
  for (bool beside : {false, true})
    for (bool frees : {true, false}) {
      FakeSession session(8, 8);
      auto train = data(session, 21);
      options.asyncSave = beside;
      options.checkpoint =
          folder / (std::to_string(beside) + std::to_string(frees));
      Filler filler;
      filler.frees = frees;
      FitOutcome outcome;
      Status status = fit(session, *train, nullptr, options, filler, &outcome);
      EXPECT_EQ(filler.steps.size(), 12u);
      // Its model is as good as with it.
      EXPECT_TRUE(outcome.done);
      EXPECT_EQ(outcome.saved, frees);
      ASSERT_FALSE(filler.notes.empty());
      EXPECT_EQ(
          filler.notes[0].rfind("step 4 is not saved: cannot write file", 0),
          0u)
          << filler.notes[0];
      EXPECT_NE(filler.notes[0].find("File too large"), std::string::npos);
      // Only the end of a run cannot do without its state.
      EXPECT_EQ(status.ok(), frees) << status.message();
      EXPECT_EQ(
          std::filesystem::exists(options.checkpoint + "/step-000000000008"),
          frees);
    }
}

TEST_F(TrainTest, ADamagedStateFallsBackToTheOneBefore) {
  FitOptions options;
  options.epochs = 2;
  options.checkpoint = folder / "ck";
  FakeSession first(8, 8);
  auto train = data(first, 16);
  Recorder recorder;
  ASSERT_TRUE(fit(first, *train, nullptr, options, recorder).ok());
  std::string newest = folder / "ck/step-000000000004/variables.safetensors";
  ASSERT_TRUE(std::filesystem::exists(newest));
  std::fstream(newest, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(-1, std::ios::end)
      .put('\x7f');
  options.folder.use = FolderUse::Resume;
  FakeSession second(8, 8);
  Recorder resumed;
  ASSERT_TRUE(fit(second, *train, nullptr, options, resumed).ok());
  EXPECT_EQ(resumed.resumed, 2);
  ASSERT_FALSE(resumed.notes.empty());
  EXPECT_NE(resumed.notes[0].find("checksum"), std::string::npos);

  // With every state damaged there is nothing to trust.
  for (auto &item : std::filesystem::directory_iterator(options.checkpoint))
    if (item.is_directory())
      std::filesystem::resize_file(item.path() / "state.json", 3);
  FakeSession third(8, 8);
  EXPECT_EQ(fit(third, *train, nullptr, options, resumed).code(),
            StatusCode::InvalidInput);
}

TEST_F(TrainTest, ResumingNothingStartsAnewAndSaysSo) {
  FitOptions options;
  options.checkpoint = folder / "none";
  options.folder.use = FolderUse::Resume;
  FakeSession session(8, 8);
  auto train = data(session, 16);
  Recorder recorder;
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
  EXPECT_EQ(recorder.resumed, 0);
  EXPECT_NE(recorder.notes[0].find("starts anew"), std::string::npos);
  // Other options than those of the saved state are refused.
  options.shuffle = 9;
  Status status = fit(session, *train, nullptr, options, recorder);
  EXPECT_NE(status.message().find("shuffle's seed"), std::string::npos);
  options.checkpoint.clear();
  EXPECT_EQ(fit(session, *train, nullptr, options, recorder).code(),
            StatusCode::InvalidArgument);
}

TEST_F(TrainTest, ARunThatIsAskedToEndSavesAndGoesOn) {
  FitOptions options;
  options.epochs = 4;
  options.shuffle = 5;
  FakeSession whole(4, 4, 2);
  auto train = data(whole, 21); // 6 steps an epoch, two an update
  Recorder want;
  ASSERT_TRUE(fit(whole, *train, nullptr, options, want).ok());
  options.folder.use = FolderUse::Resume;
  for (int64_t stepsPerLaunch : {1, 4}) {
    options.stepsPerLaunch = stepsPerLaunch;
    options.checkpoint = folder / std::to_string(stepsPerLaunch);
    std::vector<float> got;
    std::vector<double> epochLosses;
    for (int64_t part : {1, 2, 3, 4, 5, 100}) {
      FakeSession session(4, 4, 2);
      Recorder recorder;
      recorder.endAfter = part;
      FitOutcome outcome;
      Status status =
          fit(session, *train, nullptr, options, recorder, &outcome);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(recorder.resumed, int64_t(got.size()));
      EXPECT_EQ(outcome.stopped, part < 100 && outcome.step < 24);
      EXPECT_TRUE(outcome.saved);
      for (const StepRow &row : recorder.steps)
        got.push_back(row.loss);
      for (const EpochRow &row : recorder.epochs)
        epochLosses.push_back(row.values[0].second);
      EXPECT_EQ(outcome.step, int64_t(got.size()));
    }
    EXPECT_EQ(got, losses(want));
    ASSERT_EQ(epochLosses.size(), want.epochs.size());
    for (size_t i = 0; i < epochLosses.size(); ++i)
      EXPECT_EQ(epochLosses[i], want.epochs[i].values[0].second) << i;
  }
}

// Who resumes validates first, and tells of the epoch then.
TEST_F(TrainTest, AValidationThatIsBrokenOffIsDoneLater) {
  FitOptions options;
  options.epochs = 2;
  FakeSession whole(8, 8);
  auto train = data(whole, 16); // 2 steps an epoch
  Recorder want;
  ASSERT_TRUE(fit(whole, *train, train.get(), options, want).ok());
  options.checkpoint = folder / "ck";
  FakeSession first(8, 8), second(8, 8);
  Recorder part, rest;
  part.endAfter = 2; // before the first batch of the validation
  FitOutcome outcome;
  ASSERT_TRUE(fit(first, *train, train.get(), options, part, &outcome).ok());
  EXPECT_TRUE(outcome.stopped);
  EXPECT_TRUE(outcome.saved);
  EXPECT_TRUE(part.epochs.empty());
  options.folder.use = FolderUse::Resume;
  ASSERT_TRUE(fit(second, *train, train.get(), options, rest).ok());
  ASSERT_EQ(rest.epochs.size(), 2u);
  for (int i : {0, 1}) {
    EXPECT_EQ(rest.epochs[i].epoch, i + 1);
    EXPECT_EQ(rest.epochs[i].values, want.epochs[i].values);
  }
}

TEST_F(TrainTest, NothingIsSavedOfARunThatEndsBeforeItsFirstStep) {
  FakeSession session(8, 8);
  auto train = data(session, 16);
  FitOptions options;
  options.checkpoint = folder / "ck";
  Recorder recorder;
  recorder.endAfter = 0;
  FitOutcome outcome;
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder, &outcome).ok());
  EXPECT_TRUE(outcome.stopped);
  EXPECT_FALSE(outcome.saved);
  EXPECT_EQ(outcome.step, 0);
}

// A loss that is not finite is no reason to lose the run.
TEST_F(TrainTest, AStateAfterANonfiniteLossIsResumed) {
  FakeSession session(8, 8);
  auto train = data(session, 20, true);
  FitOptions options;
  options.onNonfinite = OnNonfinite::Continue;
  options.checkpoint = folder / "ck";
  options.epochs = 2;
  options.steps = 5; // in the second epoch
  Recorder recorder;
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
  options.folder.use = FolderUse::Resume;
  options.steps = 6;
  FakeSession again(8, 8);
  Recorder resumed;
  Status status = fit(again, *train, nullptr, options, resumed);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(resumed.resumed, 5);
}

// An update is of as many batches as it says, also where the number changes.
TEST_F(TrainTest, AnotherAccumulationCountsFromWhereItResumes) {
  FakeSession session(4, 4, 2);
  auto train = data(session, 40);
  FitOptions options;
  options.checkpoint = folder / "ck";
  options.steps = 5;
  Recorder recorder;
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
  options.folder.use = FolderUse::Resume;
  options.steps = 9;
  FakeSession three(4, 4, 3);
  ASSERT_TRUE(fit(three, *train, nullptr, options, recorder).ok());
  EXPECT_EQ(three.calls,
            (std::vector<std::string>{"gradients", "gradients", "gradients",
                                      "apply", "gradients"}));
  EXPECT_NE(session.state[0][FakeSession::Sum], 0); // of the fifth step
}

} // namespace
