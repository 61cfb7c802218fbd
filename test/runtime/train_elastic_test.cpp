//===- train_elastic_test.cpp - Those that are left go on -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/names.h"
#include "test/runtime/train_fixture.h"
#include <algorithm>
#include <filesystem>

using namespace dist;

namespace {

/// A run that is cut off as step `stopAfter` would be followed by another, and
/// one that goes on from what it had in memory.
struct ElasticTest : TrainTest {
  FitOptions options;
  FitOutcome outcome;

  Recorder cut(int64_t stopAfter) {
    FakeSession session(8, 8);
    auto train = data(session, 21);
    options.checkpoint = folder / "ck";
    Recorder recorder;
    recorder.stopAfter = stopAfter;
    Status status = fit(session, *train, nullptr, options, recorder, &outcome);
    EXPECT_EQ(status.message(), "killed");
    return recorder;
  }
  Status goOn(Recorder &recorder) {
    EXPECT_TRUE(outcome.folder);
    options.folder = *outcome.folder;
    options.folder.takesOver = true;
    options.keptIn = folder / "memory";
    FakeSession session(8, 8);
    auto train = data(session, 21);
    return fit(session, *train, nullptr, options, recorder, &outcome);
  }
  Recorder goOn() {
    Recorder recorder;
    Status status = goOn(recorder);
    EXPECT_TRUE(status.ok()) << status.message();
    return recorder;
  }
  /// A state of a step that the run was in, as one that copies seldom has it.
  void keepOnly(int64_t step) {
    const std::filesystem::path ck = folder / "ck", memory = folder / "memory";
    std::filesystem::create_directories(memory);
    std::filesystem::copy(ck / stateName(step), memory / stateName(step));
  }
};

std::vector<int64_t> stepsOf(const Recorder &recorder) {
  std::vector<int64_t> steps;
  for (const StepRow &row : recorder.steps)
    steps.push_back(row.step);
  return steps;
}

TEST_F(ElasticTest, WhatWasSavedSinceIsNotDoneAgain) {
  options.epochs = 3; // of three steps
  options.saveEvery = 2;
  cut(7);
  keepOnly(4);
  Recorder recorder = goOn();
  EXPECT_EQ(recorder.resumed, 6);
  EXPECT_EQ(stepsOf(recorder), (std::vector<int64_t>{7, 8, 9}));
}

TEST_F(ElasticTest, WhatIsInMemoryIsGoneOnFromWhereNothingNewerIs) {
  options.epochs = 3;
  options.saveEvery = 2;
  cut(7);
  keepOnly(6);
  std::filesystem::remove_all(folder / "ck" / "step-000000000006");
  Recorder recorder = goOn();
  EXPECT_EQ(recorder.resumed, 6);
  EXPECT_TRUE(std::any_of(
      recorder.notes.begin(), recorder.notes.end(), [](const auto &note) {
        return note.find("resumed at step 6 from memory") != note.npos;
      }));
}

/// One was lost as the last step, or one before it, was being saved.
TEST_F(ElasticTest, WhatWasBeingSavedIsSaved) {
  options.epochs = 3; // of three steps
  options.checkpoint = folder / "ck";
  {
    FakeSession session(8, 8);
    auto train = data(session, 21);
    Recorder recorder;
    ASSERT_TRUE(
        fit(session, *train, nullptr, options, recorder, &outcome).ok());
  }
  for (int64_t step : {9, 6}) {
    keepOnly(step);
    for (int64_t lost = step; lost <= 9; lost += 3)
      std::filesystem::remove_all(folder / "ck" / stateName(lost));
    EXPECT_EQ(goOn().resumed, step);
    EXPECT_TRUE(std::filesystem::exists(folder / "ck" / stateName(step) /
                                        "state.json"));
    std::filesystem::remove_all(folder / "memory");
  }
}

/// The last step is saved before its epoch is told: whoever was lost between.
TEST_F(ElasticTest, TheLastEpochIsTold) {
  struct Untold : Recorder {
    Status epoch(const EpochRow &row, int64_t examples) override {
      if (row.epoch == 2)
        return Status::error(StatusCode::Unavailable, "killed");
      return Recorder::epoch(row, examples);
    }
  };
  options.steps = 5; // the second epoch has two
  options.checkpoint = folder / "ck";
  options.saveEvery = 2;
  {
    FakeSession session(8, 8);
    auto train = data(session, 21);
    Untold recorder;
    Status status = fit(session, *train, nullptr, options, recorder, &outcome);
    EXPECT_EQ(status.message(), "killed");
  }
  keepOnly(4);
  Recorder recorder = goOn();
  EXPECT_EQ(recorder.resumed, 5);
  ASSERT_EQ(recorder.epochs.size(), 1u);
  EXPECT_EQ(recorder.epochs[0].epoch, 2);
  EXPECT_GT(recorder.epochs[0].values[0].second, 0);
}

/// Another run has begun in the folder meanwhile.
TEST_F(ElasticTest, AnotherRunsFolderEndsIt) {
  options.epochs = 3;
  options.saveEvery = 2;
  cut(7);
  keepOnly(6);
  FitOptions other;
  other.epochs = 1;
  other.checkpoint = options.checkpoint;
  other.folder.use = FolderUse::Overwrite;
  FakeSession session(8, 8);
  auto train = data(session, 21);
  Recorder recorder;
  ASSERT_TRUE(fit(session, *train, nullptr, other, recorder).ok());
  Status status = goOn(recorder);
  EXPECT_NE(status.message().find("taken over"), std::string::npos)
      << status.message();
}

} // namespace
