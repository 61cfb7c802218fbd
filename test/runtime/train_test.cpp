//===- train_test.cpp - The host's loops, and checkpoints -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/folder_test.h"
#include "runtime/formats/npy.h"
#include "runtime/train/bench.h"
#include "runtime/train/predict.h"
#include "runtime/train/trainer.h"
#include "test/runtime/fake_session.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace dist;

namespace {

struct Recorder : FitObserver {
  std::vector<StepRow> steps;
  std::vector<EpochRow> epochs;
  std::vector<std::string> notes;
  int64_t resumed = -1;
  int64_t stopAfter = INT64_MAX;
  Status begin(int64_t step, int64_t) override {
    resumed = step;
    return Status();
  }
  Status step(const StepRow &row) override {
    if (row.step > stopAfter)
      return Status::error(StatusCode::Unavailable, "killed");
    steps.push_back(row);
    return Status();
  }
  Status epoch(const EpochRow &row, int64_t) override {
    epochs.push_back(row);
    return Status();
  }
  void note(const std::string &text) override { notes.push_back(text); }
};

struct TrainTest : FolderTest {
  std::unique_ptr<Dataset> data(Session &session, int64_t n,
                                bool withNan = false) {
    std::vector<float> x(n);
    std::vector<int64_t> y(n);
    for (int64_t i = 0; i < n; ++i) {
      x[i] = float(i % 7) - 3;
      y[i] = 3 * (i % 7) - 9;
    }
    if (withNan)
      x[n - 1] = NAN;
    std::string xs = folder / "x.npy", ys = folder / "y.npy";
    EXPECT_TRUE(writeNpy(xs, {manifest::F32, {n, 1}, x.data()}).ok());
    EXPECT_TRUE(writeNpy(ys, {manifest::I64, {n}, y.data()}).ok());
    DataOptions options;
    options.spec = "x=" + xs + ",y=" + ys;
    std::unique_ptr<Dataset> out;
    Status status = Dataset::open(options, *trainingEntry(session), &out);
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }
  static std::vector<float> losses(const Recorder &recorder) {
    std::vector<float> all;
    for (const StepRow &row : recorder.steps)
      all.push_back(row.loss);
    return all;
  }
};

// Pairs of a positive and a negative: in order they count, in one bin half.
TEST(AreaUnderCurve, CountsPairsInOrder) {
  auto area = [](std::vector<float> counts) {
    return areaUnderCurve(
        {manifest::F32, {2, int64_t(counts.size() / 2)}, counts.data()});
  };
  EXPECT_EQ(area({0, 0, 3, /*negatives*/ 2, 0, 0}), 1);
  EXPECT_EQ(area({3, 0, 0, /*negatives*/ 0, 0, 2}), 0);
  EXPECT_EQ(area({0, 3, 0, /*negatives*/ 0, 2, 0}), 0.5);
  // Of 2 * 3 pairs, 2 are in order and 3 are in one bin.
  EXPECT_DOUBLE_EQ(area({1, 0, 1, /*negatives*/ 2, 0, 1}), 3.5 / 6);
  // One class alone has no pairs.
  EXPECT_EQ(area({1, 1, /*negatives*/ 0, 0}), 0);
}

TEST_F(TrainTest, LearnsAndReports) {
  FakeSession session(8, 8);
  auto train = data(session, 20);
  FitOptions options;
  options.epochs = 30;
  Recorder recorder;
  Status status = fit(session, *train, train.get(), options, recorder);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_NEAR(session.state[0][FakeSession::W], 3, 1e-2);
  ASSERT_EQ(recorder.steps.size(), 90u); // 8 + 8 + 4 examples, 30 times
  EXPECT_EQ(recorder.steps[2].examples, 4);
  EXPECT_EQ(recorder.steps[3].epoch, 2);
  EXPECT_EQ(recorder.steps[3].step, 4);
  EXPECT_EQ(recorder.steps[3].learningRate, 0.01f);
  ASSERT_EQ(recorder.epochs.size(), 30u);
  EXPECT_EQ(recorder.epochs[0].values[0].first, "loss");
  EXPECT_EQ(recorder.epochs[0].values[1].first, "val_loss");
  // The epoch's loss weighs each example once, short batches too.
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    sum += double(recorder.steps[i].loss) * double(recorder.steps[i].examples);
  EXPECT_NEAR(recorder.epochs[0].values[0].second, sum / 20, 1e-5);
  EXPECT_EQ(session.calls[2], "train_step_partial");
  // Metrics were reset after the last epoch.
  EXPECT_EQ(session.state[0][FakeSession::Count], 0);
  EXPECT_EQ(session.state[1][FakeSession::Count], 0);
}

TEST_F(TrainTest, AnIndivisibleBatchTakesThePartialEntry) {
  FakeSession session(5, 6);
  auto train = data(session, 10);
  FitOptions options;
  Recorder recorder;
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
  EXPECT_EQ(session.calls, (std::vector<std::string>{"train_step_partial",
                                                     "train_step_partial"}));
  EXPECT_EQ(recorder.steps[0].examples, 5);
}

TEST_F(TrainTest, AccumulationAppliesEveryKthStep) {
  FakeSession session(4, 4, 2);
  auto train = data(session, 20);
  FitOptions options;
  options.shuffle.reset();
  Recorder recorder;
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
  EXPECT_EQ(session.calls, (std::vector<std::string>{
                               "gradients", "gradients", "apply", "gradients",
                               "gradients", "apply", "gradients"}));
  EXPECT_EQ(recorder.steps.size(), 5u);
}

TEST_F(TrainTest, StepsBoundTheRun) {
  FakeSession session(8, 8);
  auto train = data(session, 20);
  FitOptions options;
  options.steps = 7;
  options.stepsPerEpoch = 5;
  Recorder recorder;
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
  EXPECT_EQ(recorder.steps.size(), 7u);
  EXPECT_EQ(recorder.epochs.size(), 2u);
  EXPECT_EQ(recorder.steps[6].stepsOfEpoch, 2);
}

TEST_F(TrainTest, LaunchesOfSeveralStepsGiveTheSameSteps) {
  FitOptions options;
  options.epochs = 2;
  FakeSession one(8, 8);
  auto train = data(one, 37); // 5 steps an epoch, the last one short
  Recorder want;
  ASSERT_TRUE(fit(one, *train, nullptr, options, want).ok());
  EXPECT_EQ(one.launches, std::vector<size_t>(10, 1));

  for (int64_t prefetch : {0, 2}) {
    options.prefetch = prefetch;
    options.stepsPerLaunch = 2;
    FakeSession two(8, 8);
    Recorder got;
    ASSERT_TRUE(fit(two, *train, nullptr, options, got).ok());
    EXPECT_EQ(losses(got), losses(want));
    EXPECT_EQ(got.epochs[1].values, want.epochs[1].values);
    EXPECT_EQ(two.state, one.state);
    // An epoch's end comes between two launches.
    EXPECT_EQ(two.launches, (std::vector<size_t>{2, 2, 1, 2, 2, 1}));
  }

  // So does a save, wherever it is.
  options.checkpoint = folder / "launches";
  options.saveEvery = 3;
  FakeSession saved(8, 8);
  Recorder recorder;
  ASSERT_TRUE(fit(saved, *train, nullptr, options, recorder).ok());
  EXPECT_EQ(saved.launches, (std::vector<size_t>{2, 1, 2, 1, 2, 1, 1}));
  EXPECT_EQ(losses(recorder), losses(want));
  FakeSession resumed(8, 8);
  options.resume = true;
  options.epochs = 3;
  options.stepsPerLaunch = 100;
  Recorder rest;
  ASSERT_TRUE(fit(resumed, *train, nullptr, options, rest).ok());
  EXPECT_EQ(rest.resumed, 10);
  EXPECT_EQ(rest.steps.size(), 5u);
}

TEST_F(TrainTest, LaunchesHoldTheUpdatesOfAccumulatedSteps) {
  FitOptions options;
  options.shuffle.reset();
  FakeSession one(4, 4, 2);
  auto train = data(one, 20);
  Recorder want, got;
  ASSERT_TRUE(fit(one, *train, nullptr, options, want).ok());
  FakeSession all(4, 4, 2);
  options.stepsPerLaunch = 5;
  ASSERT_TRUE(fit(all, *train, nullptr, options, got).ok());
  EXPECT_EQ(all.launches, std::vector<size_t>{7});
  EXPECT_EQ(all.calls, one.calls);
  EXPECT_EQ(losses(got), losses(want));
  EXPECT_EQ(all.state, one.state);
}

TEST_F(TrainTest, ALaunchStopsAtTheStepThatIsNotFinite) {
  FitOptions options;
  options.shuffle.reset();
  options.stepsPerLaunch = 8;
  FakeSession session(4, 4);
  auto train = data(session, 12, true); // in the third of three steps
  options.steps = 6;
  options.stepsPerEpoch = 6;
  Recorder recorder;
  Status status = fit(session, *train, nullptr, options, recorder);
  EXPECT_NE(status.message().find("step 3"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("example 11"), std::string::npos);
  EXPECT_EQ(session.calls.size(), 3u);
  EXPECT_EQ(recorder.steps.size(), 2u);
  // Otherwise all of them run.
  FakeSession on(4, 4);
  options.onNonfinite = OnNonfinite::Continue;
  ASSERT_TRUE(fit(on, *train, nullptr, options, recorder).ok());
  EXPECT_EQ(on.calls.size(), 6u);
}

TEST_F(TrainTest, NanInTheDataStopsWithItsPlace) {
  FakeSession session(8, 8);
  auto train = data(session, 20, true);
  FitOptions options;
  Recorder recorder;
  Status status = fit(session, *train, nullptr, options, recorder);
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("tensor 'x' holds NaN or infinity in example "
                                  "19 (rank "),
            std::string::npos)
      << status.message();
  FakeSession again(8, 8);
  options.onNonfinite = OnNonfinite::Continue;
  EXPECT_TRUE(fit(again, *train, nullptr, options, recorder).ok());
}

TEST_F(TrainTest, AnExplodingVariableIsNamed) {
  FakeSession session(8, 8);
  session.rate = 1e30f;
  auto train = data(session, 20);
  FitOptions options;
  options.epochs = 5;
  Recorder recorder;
  Status status = fit(session, *train, nullptr, options, recorder);
  EXPECT_NE(status.message().find("lower the learning rate"),
            std::string::npos);
}

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
  options.resume = true;
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
  size_t count = 0;
  for (auto &item : std::filesystem::directory_iterator(folder / "ck")) {
    EXPECT_EQ(item.path().filename().string().substr(0, 5), "step-");
    ++count;
  }
  EXPECT_EQ(count, 3u);
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
  options.resume = true;
  FakeSession second(8, 8);
  Recorder resumed;
  ASSERT_TRUE(fit(second, *train, nullptr, options, resumed).ok());
  EXPECT_EQ(resumed.resumed, 2);
  ASSERT_FALSE(resumed.notes.empty());
  EXPECT_NE(resumed.notes[0].find("checksum"), std::string::npos);

  // With every state damaged there is nothing to trust.
  for (auto &item : std::filesystem::directory_iterator(options.checkpoint))
    std::filesystem::resize_file(item.path() / "state.json", 3);
  FakeSession third(8, 8);
  EXPECT_EQ(fit(third, *train, nullptr, options, resumed).code(),
            StatusCode::InvalidInput);
}

TEST_F(TrainTest, ResumingNothingStartsAnewAndSaysSo) {
  FitOptions options;
  options.checkpoint = folder / "none";
  options.resume = true;
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

TEST_F(TrainTest, EvaluationCountsEachExampleOnce) {
  FakeSession session(8, 8);
  session.state[0][FakeSession::W] = session.state[1][FakeSession::W] = 1;
  auto test = data(session, 13);
  Evaluation result;
  ASSERT_TRUE(evaluate(session, *test, 2, &result).ok());
  EXPECT_EQ(result.examples, 13);
  double want = 0;
  for (int i = 0; i < 13; ++i)
    want += std::pow(2 * (i % 7 - 3), 2) / 13;
  EXPECT_NEAR(result.values[0].second, want, 1e-5);
}

TEST_F(TrainTest, PredictTakesAnyNumberOfExamples) {
  FakeSession session(4, 4);
  session.state[0][FakeSession::W] = 2;
  float x[6] = {1, 2, 3, 4, 5, 6};
  std::string file = folder / "in.npy";
  ASSERT_TRUE(writeNpy(file, {manifest::F32, {6, 1}, x}).ok());
  HostArray array;
  ASSERT_TRUE(readInputFile(file, &array).ok());
  std::vector<std::pair<std::string, Tensor>> outputs;
  Status status = predict(session, {{"x", array}}, &outputs);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(outputs[0].second.shape, (std::vector<int64_t>{6, 1}));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(reinterpret_cast<float *>(outputs[0].second.data.data())[i],
              2 * x[i]);
  auto message = [&](std::vector<std::pair<std::string, HostArray>> inputs) {
    Status status = predict(session, inputs, &outputs);
    EXPECT_EQ(status.code(), StatusCode::InvalidInput);
    return status.message();
  };
  EXPECT_NE(message({}).find("input is missing"), std::string::npos);
  EXPECT_NE(message({{"x", array}, {"z", array}}).find("no such input"),
            std::string::npos);
  array.type = manifest::I32;
  EXPECT_NE(message({{"x", array}}).find("expected type f32"),
            std::string::npos);
  array.type = manifest::F32;
  array.shape = {6};
  EXPECT_NE(message({{"x", array}}).find("expected shape"), std::string::npos);
}

TEST_F(TrainTest, BenchTimesSteps) {
  FakeSession session(4, 4);
  BenchOptions options;
  options.seconds = 0.01;
  BenchResult result;
  ASSERT_TRUE(bench(session, options, &result).ok());
  EXPECT_GE(result.steps, 5);
  EXPECT_LE(result.bestMs, result.medianMs);
  EXPECT_EQ(result.examplesPerStep, 4);
}

} // namespace
