//===- train_elsewhere_test.cpp - Steps that others run -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/train_fixture.h"
#include <algorithm>
#include <deque>

using namespace dist;

namespace {

/// Two steps at once, of which the second ends first.
class TwoAtOnce : public StepRunner {
public:
  Status begin(int64_t first, int64_t count) override {
    begun.emplace_back(first, count);
    for (int64_t i = 0; i < count; ++i)
      queue.push_back(first + i);
    return Status();
  }
  void cancel() override {
    queue.clear();
    ++cancelled;
  }
  bool isDone() const override { return queue.empty() && underWay.empty(); }
  Status next(std::optional<StepDone> *out) override {
    for (; underWay.size() < 2 && !queue.empty(); queue.pop_front())
      underWay.push_back(queue.front());
    int64_t batch = underWay.back();
    underWay.pop_back();
    if (batch == failing)
      return Status::error(StatusCode::Unavailable, "no worker is left");
    StepDone &done = out->emplace();
    done.batch = batch;
    done.examples = 4;
    done.result.hasLoss = true;
    done.result.loss = float(batch);
    done.result.finite = batch != nonfinite;
    order.push_back(batch);
    return Status();
  }
  bool stops() override { return int64_t(order.size()) >= stopAfter; }

  std::vector<std::pair<int64_t, int64_t>> begun;
  std::vector<int64_t> order;
  int cancelled = 0;
  int64_t failing = -1, nonfinite = -1, stopAfter = INT64_MAX;

private:
  std::deque<int64_t> queue;
  std::vector<int64_t> underWay;
};

struct TrainElsewhereTest : TrainTest {
  // Gradients and no step, as a worker's package has; three steps an epoch.
  TrainElsewhereTest() : session(4, 4, 2) {}
  void SetUp() override {
    TrainTest::SetUp();
    session.setAccumulateSteps(1);
    examples = data(session, 12);
    options.runner = &runner;
    options.epochs = 2;
  }
  Status train() {
    return fit(session, *examples, nullptr, options, recorder, &outcome);
  }
  FakeSession session;
  TwoAtOnce runner;
  std::unique_ptr<Dataset> examples;
  FitOptions options;
  Recorder recorder;
  FitOutcome outcome;
};

TEST_F(TrainElsewhereTest, RowsAreInTheOrderOfTheirEnds) {
  Status status = train();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(losses(recorder), (std::vector<float>{1, 2, 0, 4, 5, 3}));
  for (size_t i = 0; i < recorder.steps.size(); ++i)
    EXPECT_EQ(recorder.steps[i].step, int64_t(i) + 1);
  // All of an epoch are done before it ends.
  EXPECT_EQ(runner.begun,
            (std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {3, 3}}));
  ASSERT_EQ(recorder.epochs.size(), 2u);
  EXPECT_TRUE(session.calls.empty());
}

TEST_F(TrainElsewhereTest, NoStepIsUnderWayWhenAStateIsSaved) {
  options.checkpoint = folder / "states";
  options.saveEvery = 2;
  ASSERT_TRUE(train().ok());
  EXPECT_EQ(runner.begun, (std::vector<std::pair<int64_t, int64_t>>{
                              {0, 2}, {2, 1}, {3, 1}, {4, 2}}));
}

TEST_F(TrainElsewhereTest, ToldToStopItEndsWithoutAGap) {
  options.checkpoint = folder / "states";
  runner.stopAfter = 1;
  ASSERT_TRUE(train().ok());
  EXPECT_TRUE(outcome.stopped);
  EXPECT_TRUE(outcome.saved);
  EXPECT_EQ(outcome.step, 2);
  EXPECT_EQ(runner.order, (std::vector<int64_t>{1, 0}));
}

TEST_F(TrainElsewhereTest, ToldBeforeTheFirstStepItEndsNoEpoch) {
  recorder.endAfter = 0;
  ASSERT_TRUE(train().ok());
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.step, 0);
  EXPECT_TRUE(recorder.epochs.empty());
}

TEST_F(TrainElsewhereTest, WhatIsNotFiniteEndsItWhenTheOthersHaveEnded) {
  examples = data(session, 12, /*withNan=*/true); // in the third batch
  options.shuffle.reset();
  runner.nonfinite = 2;
  Status status = train();
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("step 3"), std::string::npos);
  EXPECT_NE(status.message().find("in example 11"), std::string::npos)
      << status.message();
  EXPECT_EQ(runner.order, (std::vector<int64_t>{1, 2, 0}));
  EXPECT_TRUE(runner.isDone());
}

TEST_F(TrainElsewhereTest, AnErrorOfTheRunnersEndsIt) {
  runner.failing = 3;
  Status status = train();
  EXPECT_EQ(status.message(), "no worker is left");
  EXPECT_EQ(recorder.epochs.size(), 1u);
}

TEST_F(TrainElsewhereTest, NothingIsAccumulated) {
  session.setAccumulateSteps(2);
  EXPECT_EQ(train().code(), StatusCode::InvalidArgument);
}

} // namespace
