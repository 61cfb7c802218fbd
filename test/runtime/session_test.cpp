//===- session_test.cpp - Sessions over a program written by hand ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/session_fixture.h"

namespace dist::test {
namespace {

class SessionRanks : public SessionTest,
                     public testing::WithParamInterface<int> {};

TEST_P(SessionRanks, StepsAreThoseOfOneDevice) {
  openRanks(GetParam());
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
  Status status = step();
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0].shape, (Shape{4}));
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{10, 22, 34, 46}));
  EXPECT_EQ(floats(outputs[1]), std::vector<float>{112});
  EXPECT_EQ(floats(outputs[2]), std::vector<float>{112});
  std::vector<float> w = read(0);
  EXPECT_FLOAT_EQ(w[0], 1 - 1.6f);
  EXPECT_FLOAT_EQ(w[1], 2 - 2.0f);
  EXPECT_EQ(read(1), std::vector<float>{4});
  ASSERT_TRUE(step().ok());
  EXPECT_EQ(read(1), std::vector<float>{8});
  ASSERT_TRUE(session->resetVariables().ok());
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
  EXPECT_EQ(read(1), std::vector<float>{0});
}

TEST_P(SessionRanks, OnReadVariables) {
  int ranks = GetParam();
  openRanks(ranks);
  // A sum's parts add up; a value that is written is there once.
  float three = 3;
  ASSERT_TRUE(session->writeVariable(1, {manifest::F32, {}, &three}).ok());
  EXPECT_EQ(read(1), std::vector<float>{3});
  ASSERT_TRUE(
      session->writeSlice(1, ranks - 1, {manifest::F32, {}, &three}).ok());
  EXPECT_EQ(read(1), std::vector<float>{ranks == 1 ? 3.0f : 6.0f});
  Tensor slice;
  ASSERT_TRUE(session->readSlice(1, 0, &slice).ok());
  EXPECT_EQ(floats(slice), std::vector<float>{3});
  // A mean is that of the ranks' rows.
  EXPECT_EQ(read(2), (std::vector<float>{0.5, 0.5}));
  float row[] = {1.5, 4.5};
  ASSERT_TRUE(session->writeSlice(2, 0, {manifest::F32, {1, 2}, row}).ok());
  float mean = ranks == 1 ? 1 : 0.5;
  EXPECT_EQ(read(2), (std::vector<float>{0.5f + mean, 0.5f + 4 * mean}));
  ASSERT_TRUE(session->writeVariable(2, {manifest::F32, {2}, row}).ok());
  EXPECT_EQ(read(2), (std::vector<float>{1.5, 4.5}));
  ASSERT_TRUE(session->readSlice(2, ranks - 1, &slice).ok());
  EXPECT_EQ(slice.shape, (Shape{1, 2}));
  EXPECT_EQ(floats(slice), (std::vector<float>{1.5, 4.5}));
}

TEST_P(SessionRanks, PreparesOnlyAfterChanges) {
  openRanks(GetParam());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{2, 1}));
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{2, 1}));
  float w[] = {5, 6};
  ASSERT_TRUE(session->writeVariable(0, {manifest::F32, {2}, w}).ok());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{10, 2}));
  ASSERT_TRUE(step().ok());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0])[1], 3);
  // Of a variable that the entry does not read.
  float seen = 1;
  ASSERT_TRUE(session->writeVariable(1, {manifest::F32, {}, &seen}).ok());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0])[1], 3);
}

TEST_P(SessionRanks, FailuresNameTheirPlaceAndPass) {
  SessionOptions options;
  options.collectiveTimeout = 60;
  openRanks(GetParam(), options);
  Status status = step(999); // on the first rank; others wait in all_reduce
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("a label is out of range"),
            std::string::npos);
  EXPECT_NE(status.message().find("node 'Softmax_3'"), std::string::npos)
      << status.message();
  status = step(777);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("code 7"), std::string::npos);
  ASSERT_TRUE(session->resetVariables().ok());
  ASSERT_TRUE(step().ok());
  EXPECT_EQ(floats(outputs[1]), std::vector<float>{112});
}

TEST_P(SessionRanks, LibraryKernelsAndTrace) {
  SessionOptions options;
  options.trace = true;
  openRanks(GetParam(), options);
  alignas(64) float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  std::vector<TensorView> inputs = {{manifest::F32, {2, 2}, a},
                                    {manifest::F32, {2, 2}, b}};
  ASSERT_TRUE(run("product", inputs).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{19, 22, 43, 50}));
  std::vector<TraceEvent> events = session->takeTrace();
  ASSERT_EQ(events.size(), size_t(GetParam()));
  EXPECT_EQ(events[0].category, "library");
  EXPECT_EQ(events[0].name.substr(0, 7), "MATMUL ");
  EXPECT_LE(events[0].begin, events[0].end);
  ASSERT_TRUE(step().ok());
  events = session->takeTrace();
  ASSERT_EQ(events.size(), 3 * size_t(GetParam()));
  EXPECT_EQ(events[2].category, "collective");
  EXPECT_NE(events[2].name.find("loss"), std::string::npos);
  EXPECT_TRUE(session->takeTrace().empty());
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionRanks, testing::Values(1, 2));

} // namespace
} // namespace dist::test
