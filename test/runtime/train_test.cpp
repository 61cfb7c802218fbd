//===- train_test.cpp - The host's loops, and checkpoints -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/train_fixture.h"
#include "runtime/train/bench.h"
#include "runtime/train/predict.h"
#include <thread>

using namespace dist;

namespace {

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

// What a run counted of an epoch that it did not end is none of the next run's.
TEST_F(TrainTest, AnEpochHasItsOwnCountsAlone) {
  FakeSession session(8, 8);
  auto train = data(session, 20);
  FitOptions options;
  Recorder stopped, recorder;
  stopped.endAfter = 2;
  ASSERT_TRUE(fit(session, *train, nullptr, options, stopped).ok());
  EXPECT_NE(session.state[0][FakeSession::Count], 0);
  ASSERT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
  double sum = 0;
  for (const StepRow &row : recorder.steps)
    sum += double(row.loss) * double(row.examples);
  ASSERT_EQ(recorder.epochs.size(), 1u);
  EXPECT_NEAR(recorder.epochs[0].values[0].second, sum / 20, 1e-5);
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

TEST_F(TrainTest, OfStepsAndEpochsWhatComesFirstEndsTheRun) {
  auto count = [&](int64_t epochs, int64_t steps) {
    FakeSession session(8, 8);
    auto train = data(session, 20); // 3 steps an epoch
    FitOptions options;
    options.epochs = epochs;
    options.steps = steps;
    Recorder recorder;
    EXPECT_TRUE(fit(session, *train, nullptr, options, recorder).ok());
    return recorder.steps.size();
  };
  EXPECT_EQ(count(0, 0), 3u);
  EXPECT_EQ(count(0, 7), 7u);
  EXPECT_EQ(count(2, 0), 6u);
  EXPECT_EQ(count(2, 7), 6u);
  EXPECT_EQ(count(2, 5), 5u);
  EXPECT_EQ(count(INT64_MAX, 5), 5u);
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
  options.folder.use = FolderUse::Resume;
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
  EXPECT_LE(result.bestMs, result.meanMs);
  EXPECT_EQ(result.examplesPerStep, 4);
}

/// Takes much longer for one of three steps.
class StallingSession : public FakeSession {
public:
  StallingSession() : FakeSession(4, 4) {}
  Status run(const manifest::Entry &entry,
             const std::vector<TensorView> &inputs,
             std::vector<Tensor> *outputs) override {
    if (calls.size() % 3 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return FakeSession::run(entry, inputs, outputs);
  }
};

// The median does not see them.
TEST_F(TrainTest, BenchsMeanShowsStalls) {
  StallingSession session;
  BenchOptions options;
  options.seconds = 0.01;
  BenchResult result;
  ASSERT_TRUE(bench(session, options, &result).ok());
  EXPECT_GE(result.meanMs * double(result.steps), 20 * (result.steps / 3));
}

} // namespace
