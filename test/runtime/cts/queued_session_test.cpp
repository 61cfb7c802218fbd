//===- queued_session_test.cpp - Sessions on a device that works later ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a session does beside compiled programs, which test/e2e has on it: it
// reads and writes variables, inputs and outputs that the host cannot reach.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/queued_device.h"
#include "test/runtime/session_fixture.h"

namespace dist::test {
namespace {

class QueuedSession : public SessionTest,
                      public testing::WithParamInterface<int> {
protected:
  void openQueued() {
    SessionOptions options;
    options.device = queuedDevice();
    openRanks(GetParam(), options);
  }
};

TEST_P(QueuedSession, HasTheInitialValues) {
  openQueued();
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
  EXPECT_EQ(read(2), (std::vector<float>{0.5, 0.5}));
}

TEST_P(QueuedSession, ReadsWhatWasWritten) {
  int ranks = GetParam();
  openQueued();
  float w[] = {5, 6};
  ASSERT_TRUE(session->writeVariable(0, {manifest::F32, {2}, w}).ok());
  EXPECT_EQ(read(0), (std::vector<float>{5, 6}));
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
  ASSERT_TRUE(session->resetVariables().ok());
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
  EXPECT_EQ(read(1), std::vector<float>{0});
}

// Inputs are copied there and outputs back, also from off any alignment.
TEST_P(QueuedSession, RunsAProgramThatOnlyEnqueues) {
  openQueued();
  static float memory[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  Status status = run("product", {{manifest::F32, {2, 2}, memory + 1},
                                  {manifest::F32, {2, 2}, memory + 5}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{19, 22, 43, 50}));
}

TEST_P(QueuedSession, DoesNotTrace) {
  describe(GetParam());
  SessionOptions options;
  options.device = queuedDevice();
  options.trace = true;
  Status status = open(options);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("does not time them"), std::string::npos)
      << status.message();
}

INSTANTIATE_TEST_SUITE_P(Ranks, QueuedSession, testing::Values(1, 2));

} // namespace
} // namespace dist::test
