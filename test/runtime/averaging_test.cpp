//===- averaging_test.cpp - When workers average --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/averaging.h"
#include "test/runtime/values_session.h"
#include <gtest/gtest.h>
#include <limits>

namespace dist {
namespace {

/// Its only entry, if it has one, is `sync`.
class SyncedSession : public ps::ValuesSession {
public:
  using ValuesSession::ValuesSession;
  const manifest::Entry *findEntry(const std::string &name) const override {
    return hasSync && name == "sync" ? &sync : nullptr;
  }
  Status run(const manifest::Entry &entry,
             const std::vector<TensorView> &inputs,
             std::vector<Tensor> *outputs) override {
    EXPECT_EQ(&entry, &sync);
    EXPECT_TRUE(inputs.empty());
    if (fails)
      return Status::error(StatusCode::Unavailable, "a worker is lost");
    return ValuesSession::run(entry, inputs, outputs);
  }
  manifest::Entry sync;
  bool hasSync = true, fails = false;
};

struct AveragingTest : testing::Test {
  Status open(const char *every) {
    manifest::Manifest manifest;
    manifest.set_model_name("model");
    if (every)
      (*manifest.mutable_options())["sync-every"] = every;
    session = std::make_unique<SyncedSession>(manifest);
    session->hasSync = hasSync;
    return Averaging::create(*session, &averaging);
  }
  /// The steps from 1 to `last` behind which the variables were averaged.
  std::vector<int64_t> run(int64_t first, int64_t last) {
    std::vector<int64_t> averaged;
    for (int64_t step = first; step <= last; ++step) {
      const int before = session->runs;
      EXPECT_TRUE(averaging.afterStep(step).ok());
      if (session->runs > before)
        averaged.push_back(step);
    }
    return averaged;
  }
  bool hasSync = true;
  std::unique_ptr<SyncedSession> session;
  Averaging averaging;
};

TEST_F(AveragingTest, RunsEveryFewSteps) {
  ASSERT_TRUE(open("3").ok());
  EXPECT_EQ(stepsPerSync(session->manifest()), 3);
  EXPECT_TRUE(bool(averaging));
  averaging.begin(0);
  EXPECT_EQ(run(1, 10), (std::vector<int64_t>{3, 6, 9}));
  EXPECT_EQ(session->runs, 3);
}

TEST_F(AveragingTest, StepsUntilDueEndWithAnAverage) {
  ASSERT_TRUE(open("3").ok());
  EXPECT_EQ(averaging.stepsUntilDue(0), 3);
  EXPECT_EQ(averaging.stepsUntilDue(1), 2);
  EXPECT_EQ(averaging.stepsUntilDue(2), 1);
  EXPECT_EQ(averaging.stepsUntilDue(3), 3);
  ASSERT_TRUE(open("1").ok());
  EXPECT_EQ(averaging.stepsUntilDue(7), 1);
}

/// Steps count from the run's first, also in one that goes on: who resumes
/// averages where who never stopped does.
TEST_F(AveragingTest, ARunThatGoesOnKeepsTheSteps) {
  ASSERT_TRUE(open("4").ok());
  averaging.begin(6);
  EXPECT_EQ(averaging.stepsUntilDue(6), 2);
  EXPECT_EQ(run(7, 13), (std::vector<int64_t>{8, 12}));
}

TEST_F(AveragingTest, WhoReadsFindsEqualVariables) {
  ASSERT_TRUE(open("4").ok());
  averaging.begin(2);
  EXPECT_TRUE(averaging.beforeReading(2).ok()); // as they were saved
  EXPECT_EQ(session->runs, 0);
  EXPECT_TRUE(averaging.beforeReading(3).ok()); // between two averages
  EXPECT_EQ(session->runs, 1);
  EXPECT_TRUE(averaging.beforeReading(3).ok()); // the next reader
  EXPECT_EQ(session->runs, 1);
  EXPECT_TRUE(averaging.afterStep(4).ok());
  EXPECT_TRUE(averaging.beforeReading(4).ok());
  EXPECT_EQ(session->runs, 2);
}

/// An average that failed is none: who asks again runs it.
TEST_F(AveragingTest, AFailureIsTold) {
  ASSERT_TRUE(open("2").ok());
  averaging.begin(0);
  session->fails = true;
  Status status = averaging.afterStep(2);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  session->fails = false;
  EXPECT_TRUE(averaging.beforeReading(2).ok());
  EXPECT_EQ(session->runs, 1);
}

TEST_F(AveragingTest, OthersAverageNothing) {
  hasSync = false;
  for (const char *every : {static_cast<const char *>(nullptr), "0"}) {
    ASSERT_TRUE(open(every).ok());
    EXPECT_EQ(stepsPerSync(session->manifest()), 0);
    EXPECT_FALSE(bool(averaging));
    EXPECT_EQ(averaging.stepsUntilDue(5), std::numeric_limits<int64_t>::max());
    EXPECT_TRUE(averaging.afterStep(8).ok());
    EXPECT_TRUE(averaging.beforeReading(9).ok());
    EXPECT_EQ(session->runs, 0);
  }
}

TEST_F(AveragingTest, APackageWithoutSyncIsRefused) {
  hasSync = false;
  Status status = open("5");
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("'sync'"), std::string::npos);
  EXPECT_FALSE(open("-1").ok());
  hasSync = true;
  EXPECT_FALSE(open("-1").ok());
}

} // namespace
} // namespace dist
