//===- learning_rate_test.cpp - A learning rate that the host sets --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/learning_rate.h"
#include "test/runtime/train_fixture.h"
#include <algorithm>

using namespace dist;

namespace {

struct LearningRate : TrainTest {
  static bool tellsOfTheSavedRate(const Recorder &recorder) {
    return std::any_of(recorder.notes.begin(), recorder.notes.end(),
                       [](const std::string &note) {
                         return note ==
                                "the learning rate goes on from the saved "
                                "0.005, not from the 0.01 of --optimizer";
                       });
  }
};

TEST_F(LearningRate, IsSetOnAllRanksAsF32) {
  FakeSession session(8, 8);
  session.makeRateSettable();
  double rate = 0;
  ASSERT_TRUE(readLearningRate(session, &rate).ok());
  EXPECT_EQ(rate, 0.01f);
  ASSERT_TRUE(setLearningRate(session, 0.3).ok());
  ASSERT_TRUE(readLearningRate(session, &rate).ok());
  EXPECT_EQ(rate, 0.3f);
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(session.state[rank][FakeSession::Rate], 0.3f);
  EXPECT_TRUE(setLearningRate(session, 0).ok());
  for (double wrong : {-1.0, double(NAN), double(INFINITY), 1e300})
    EXPECT_EQ(setLearningRate(session, wrong).code(),
              StatusCode::InvalidArgument)
        << wrong;
  ASSERT_TRUE(readLearningRate(session, &rate).ok());
  EXPECT_EQ(rate, 0);
}

TEST_F(LearningRate, CannotBeSetWhereItIsCompiledIn) {
  FakeSession session(8, 8);
  EXPECT_FALSE(hasSettableLearningRate(session.manifest()));
  double rate = 0;
  EXPECT_EQ(readLearningRate(session, &rate).message(),
            "the learning rate cannot be set (fake): the program has it "
            "compiled in; compile the model with --settable-lr");
  EXPECT_EQ(setLearningRate(session, 1).code(), StatusCode::InvalidInput);
}

TEST_F(LearningRate, OfASavedStateGoesOnAndIsTold) {
  FitOptions options;
  options.checkpoint = folder / "ck";
  FakeSession first(8, 8);
  first.makeRateSettable();
  auto train = data(first, 16);
  Recorder recorder;
  ASSERT_TRUE(setLearningRate(first, 0.005).ok());
  ASSERT_TRUE(fit(first, *train, nullptr, options, recorder).ok());

  options.folder.use = FolderUse::Resume;
  options.epochs = 2;
  FakeSession second(8, 8);
  second.makeRateSettable();
  Recorder resumed;
  ASSERT_TRUE(fit(second, *train, nullptr, options, resumed).ok());
  EXPECT_TRUE(tellsOfTheSavedRate(resumed));
  EXPECT_EQ(resumed.steps.at(0).learningRate, 0.005f);

  // Another optimizer begins with its own.
  options.epochs = 3;
  FakeSession third(8, 8);
  third.makeRateSettable();
  (*const_cast<manifest::Manifest &>(third.manifest())
        .mutable_options())["optimizer"] = "adam";
  Recorder other;
  ASSERT_TRUE(fit(third, *train, nullptr, options, other).ok());
  EXPECT_FALSE(tellsOfTheSavedRate(other));
  EXPECT_EQ(other.steps.at(0).learningRate, 0.01f);
}

} // namespace
