//===- monitors_test.cpp - Runs that end early, and go on -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/train_fixture.h"
#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace dist;

namespace {

struct Improvements : Recorder {
  std::vector<int64_t> improvements;
  Status improved(const EpochRow &row, bool *) override {
    improvements.push_back(row.epoch);
    return Status();
  }
  bool tells(const std::string &text) const {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string &n) {
      return n.find(text) != std::string::npos;
    });
  }
};

struct MonitorsTest : TrainTest {
  /// A rate at which the loss grows by half an epoch, until it is lowered.
  static std::unique_ptr<FakeSession> diverging() {
    auto session = std::make_unique<FakeSession>(8, 8);
    session->rate = 0.3f;
    session->makeRateSettable();
    return session;
  }
  static FitOptions options() {
    FitOptions options;
    options.epochs = 40;
    options.shuffle = 5;
    ReduceOnPlateau &plateau = options.monitors.reduceOnPlateau;
    plateau.metric = "loss";
    plateau.patience = 1;
    EarlyStopping &stopping = options.monitors.earlyStopping;
    stopping.metric = "val_loss";
    stopping.minDelta = 1e-3;
    stopping.patience = 6;
    stopping.restoreBest = true;
    options.monitors.saveBest.metric = "val_loss";
    return options;
  }
};

TEST_F(MonitorsTest, AResumedRunEndsWhereAnUninterruptedOneDoes) {
  FitOptions options = this->options();
  auto whole = diverging();
  auto train = data(*whole, 21);
  Improvements want;
  FitOutcome wanted;
  Status status = fit(*whole, *train, train.get(), options, want, &wanted);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_GT(wanted.endedAfter, 8);
  ASSERT_LT(wanted.endedAfter, 40);
  EXPECT_FALSE(wanted.stopped);
  EXPECT_EQ(int64_t(want.epochs.size()), wanted.endedAfter);
  EXPECT_EQ(wanted.bestEpoch, want.improvements.back());
  EXPECT_TRUE(want.tells("the learning rate goes from 0.3 to 0.03"));
  EXPECT_LT(want.steps.back().learningRate, 0.031f);

  options.folder.use = FolderUse::Resume;
  for (int64_t every : {0, 2}) {
    options.checkpoint = folder / ("ck" + std::to_string(every));
    options.saveEvery = every;
    std::vector<float> got(want.steps.size());
    std::vector<int64_t> improvements;
    FitOutcome outcome;
    double last = 0;
    for (int64_t stop : {1, 2, 6, 7, 10, 14, 20, 26, 1000}) {
      auto session = diverging(); // A new process after each kill.
      Improvements recorder;
      recorder.stopAfter = stop;
      (void)fit(*session, *train, train.get(), options, recorder, &outcome);
      for (const StepRow &row : recorder.steps) {
        ASSERT_LE(row.step, int64_t(got.size()));
        got[row.step - 1] = row.loss;
      }
      for (int64_t epoch : recorder.improvements)
        improvements.push_back(epoch);
      last = session->state[0][FakeSession::W];
    }
    EXPECT_EQ(got, losses(want)) << every;
    EXPECT_EQ(outcome.endedAfter, wanted.endedAfter);
    EXPECT_EQ(outcome.bestEpoch, wanted.bestEpoch);
    // Some epochs were trained twice; none was missed.
    std::sort(improvements.begin(), improvements.end());
    improvements.erase(std::unique(improvements.begin(), improvements.end()),
                       improvements.end());
    EXPECT_EQ(improvements, want.improvements);
    EXPECT_EQ(last, whole->state[0][FakeSession::W]);
    // It has ended; with more patience it goes on from the last epoch.
    auto again = diverging();
    Improvements ended;
    ASSERT_TRUE(
        fit(*again, *train, train.get(), options, ended, &outcome).ok());
    EXPECT_TRUE(ended.steps.empty());
    EXPECT_TRUE(ended.tells("nothing to do"));
    EXPECT_EQ(again->state[0][FakeSession::W], whole->state[0][FakeSession::W]);
  }
  options.monitors.earlyStopping.patience = 8;
  auto session = diverging();
  Improvements more;
  FitOutcome outcome;
  ASSERT_TRUE(fit(*session, *train, train.get(), options, more, &outcome).ok());
  ASSERT_FALSE(more.steps.empty());
  EXPECT_EQ(more.steps[0].step, want.steps.back().step + 1);
  EXPECT_EQ(outcome.endedAfter, wanted.endedAfter + 2);
}

/// Whose model could not be written, as on a full disk, is not the best.
TEST_F(MonitorsTest, AnEpochThatIsNotWrittenIsNotTheBest) {
  struct FullAtFirst : Improvements {
    Status improved(const EpochRow &row, bool *written) override {
      *written = row.epoch > 1;
      return Improvements::improved(row, written);
    }
  };
  FitOptions options;
  options.epochs = 3;
  options.monitors.saveBest.metric = "val_loss";
  FakeSession session(8, 8);
  session.rate = 0.3f; // Each epoch is worse than the one before.
  auto train = data(session, 21);
  FullAtFirst recorder;
  FitOutcome outcome;
  ASSERT_TRUE(
      fit(session, *train, train.get(), options, recorder, &outcome).ok());
  EXPECT_EQ(recorder.improvements, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(outcome.bestEpoch, 2);
}

TEST_F(MonitorsTest, TheBestVariablesComeBack) {
  FitOptions options = this->options();
  options.monitors.reduceOnPlateau.metric.clear();
  FakeSession session(8, 8);
  session.rate = 0.3f; // Each epoch is worse than the one before.
  auto train = data(session, 21);
  options.epochs = 1;
  Improvements one;
  ASSERT_TRUE(fit(session, *train, train.get(), options, one).ok());
  double first = session.state[0][FakeSession::W];

  options.epochs = 40;
  FakeSession longer(8, 8);
  longer.rate = 0.3f;
  Improvements recorder;
  FitOutcome outcome;
  ASSERT_TRUE(
      fit(longer, *train, train.get(), options, recorder, &outcome).ok());
  EXPECT_EQ(outcome.endedAfter, 7);
  EXPECT_EQ(recorder.improvements, std::vector<int64_t>{1});
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(longer.state[rank][FakeSession::W], first);
  EXPECT_TRUE(recorder.tells("the model's variables are those of epoch 1"));
}

TEST_F(MonitorsTest, OtherFlagsBeginAnew) {
  FitOptions options = this->options();
  options.epochs = 2;
  options.checkpoint = folder / "ck";
  auto first = diverging();
  auto train = data(*first, 21);
  Improvements recorder;
  ASSERT_TRUE(fit(*first, *train, train.get(), options, recorder).ok());
  options.folder.use = FolderUse::Resume;
  options.epochs = 3;
  options.monitors.saveBest.metric = "loss";
  options.monitors.earlyStopping.metric.clear();
  options.monitors.earlyStopping.restoreBest = false;
  auto second = diverging();
  Improvements other;
  FitOutcome outcome;
  ASSERT_TRUE(fit(*second, *train, train.get(), options, other, &outcome).ok());
  EXPECT_TRUE(other.tells("--save-best watched 'val_loss' before"));
  EXPECT_TRUE(other.tells("--early-stopping watched 'val_loss' before"));
  EXPECT_FALSE(other.tells("--reduce-lr-on-plateau watched"));
  EXPECT_EQ(other.improvements, std::vector<int64_t>{3});
  // Then the state has no best variables.
  options.epochs = 5;
  options.monitors = this->options().monitors;
  auto third = diverging();
  Improvements last;
  ASSERT_TRUE(fit(*third, *train, train.get(), options, last, &outcome).ok());
  EXPECT_EQ(last.improvements.front(), 4);
}

TEST_F(MonitorsTest, MetricsAreCheckedBeforeTheFirstStep) {
  FakeSession session(8, 8);
  auto train = data(session, 21);
  Improvements recorder;
  auto refusal = [&](const FitOptions &options, const Dataset *validation) {
    Status status = fit(session, *train, validation, options, recorder);
    EXPECT_TRUE(session.calls.empty());
    return status.message();
  };
  FitOptions options;
  options.monitors.earlyStopping.metric = "accuracy";
  EXPECT_EQ(refusal(options, train.get()),
            "no such metric (--early-stopping): this run has no 'accuracy', it "
            "has loss, val_loss; give one of them, or add it to --metrics");
  options.monitors.earlyStopping.metric = "val_loss";
  EXPECT_EQ(refusal(options, nullptr),
            "no such metric (--early-stopping): this run has no 'val_loss', it "
            "has loss; add --validation-data or --validation-split");
  options.monitors = {};
  options.monitors.reduceOnPlateau.metric = "loss";
  EXPECT_EQ(refusal(options, nullptr),
            "the learning rate cannot be set (fake): the program has it "
            "compiled in; compile the model with --settable-lr");
}

} // namespace
