//===- predict_test.cpp - Any number of examples --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/predict.h"
#include "test/runtime/fake_session.h"
#include <gtest/gtest.h>

namespace dist {
namespace {

/// The examples of the entries that cover `rows`, in order.
std::vector<int64_t> cover(const std::vector<PredictEntry> &entries,
                           int64_t rows) {
  std::vector<int64_t> batches;
  for (size_t number : coverExamples(entries, rows))
    batches.push_back(entries[number].rows);
  return batches;
}

using Batches = std::vector<int64_t>;

TEST(CoverExamples, TakesTheLeastTime) {
  // A call costs 1, an example 0.1; but 32 at once are cheaper.
  std::vector<PredictEntry> entries = {
      {nullptr, 32, 2}, {nullptr, 1, 1.1}, {nullptr, 8, 1.8}};
  EXPECT_EQ(cover(entries, 1), (Batches{1}));
  EXPECT_EQ(cover(entries, 2), (Batches{8})); // 1.8, twice one is 2.2
  EXPECT_EQ(cover(entries, 8), (Batches{8}));
  EXPECT_EQ(cover(entries, 9), (Batches{32})); // 2, 8 and 1 are 2.9
  EXPECT_EQ(cover(entries, 33), (Batches{32, 1}));
  EXPECT_EQ(cover(entries, 40), (Batches{32, 8}));
  Batches many = cover(entries, 32 * 1000 + 5);
  EXPECT_EQ(many.size(), 1001u);
  EXPECT_EQ(many.back(), 8);
}

TEST(CoverExamples, FillsUpTheLeastWithoutPredictions) {
  std::vector<PredictEntry> entries = {
      {nullptr, 32, 0}, {nullptr, 1, 0}, {nullptr, 8, 0}};
  EXPECT_EQ(cover(entries, 10), (Batches{8, 1, 1}));
  EXPECT_EQ(cover(entries, 41), (Batches{32, 8, 1}));
  EXPECT_EQ(cover({{nullptr, 32, 0}}, 41), (Batches{32, 32}));
}

TEST(PredictExamples, GoesThroughTheBatchesThatThereAre) {
  FakeSession session(32, 32);
  session.state[0][FakeSession::W] = 3;
  session.addPredictBatch(1, 0);
  session.addPredictBatch(8, 0);
  auto predict = [&](int64_t rows) {
    std::vector<float> x(rows);
    for (int64_t i = 0; i < rows; ++i)
      x[i] = float(i + 1);
    std::vector<Tensor> outputs;
    session.calls.clear();
    Status status = predictExamples(
        session, {{manifest::F32, {rows, 1}, x.data()}}, &outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(outputs.size(), 1u);
    ASSERT_EQ(outputs[0].shape, (std::vector<int64_t>{rows, 1}));
    for (int64_t i = 0; i < rows; ++i)
      EXPECT_EQ(reinterpret_cast<const float *>(outputs[0].data.data())[i],
                3 * x[i]);
  };
  using Calls = std::vector<std::string>;
  predict(8);
  EXPECT_EQ(session.calls, (Calls{"predict_batch8"}));
  predict(32);
  EXPECT_EQ(session.calls, (Calls{"predict"}));
  predict(42);
  EXPECT_EQ(session.calls, (Calls{"predict", "predict_batch8", "predict_batch1",
                                  "predict_batch1"}));
  float x = 0;
  std::vector<Tensor> outputs;
  EXPECT_NE(predictExamples(session, {}, &outputs)
                .message()
                .find("wrong number of inputs"),
            std::string::npos);
  EXPECT_NE(predictExamples(session, {{manifest::F32, {1, 2}, &x}}, &outputs)
                .message()
                .find("expected shape"),
            std::string::npos);
  EXPECT_NE(predictExamples(session, {{manifest::F32, {0, 1}, &x}}, &outputs)
                .message()
                .find("no examples"),
            std::string::npos);
}

TEST(PredictExamples, EndsBetweenTwoRuns) {
  FakeSession session(8, 8);
  std::vector<float> x(20);
  std::vector<Tensor> outputs;
  Status status =
      predictExamples(session, {{manifest::F32, {20, 1}, x.data()}}, &outputs,
                      [&] { return session.calls.size() == 2; });
  EXPECT_EQ(status.code(), StatusCode::Cancelled);
  EXPECT_EQ(session.calls.size(), 2u);
  EXPECT_TRUE(outputs.empty());
}

} // namespace
} // namespace dist
