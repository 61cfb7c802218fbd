//===- capi_loop_test.cpp - What loops of the app's own need --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/capi_fixture.h"
#include <cmath>

namespace dist::test {
namespace {

using CApiLoop = CApiDevices;

TEST_P(CApiLoop, TheLearningRateIsSet) {
  dist_session_t *handle = openHandle();
  double rate = 0;
  expectError(dist_session_learning_rate(handle, &rate),
              DIST_STATUS_INVALID_INPUT, "--settable-lr");
  expectError(dist_session_set_learning_rate(handle, 0.5),
              DIST_STATUS_INVALID_INPUT, "--settable-lr");
  variable("optimizer/learning_rate", {})->set_fill(0.25);
  ASSERT_TRUE(SessionTest::open().ok());
  session.reset();
  handle = openHandle();
  expectOk(dist_session_learning_rate(handle, &rate));
  EXPECT_EQ(rate, 0.25);
  expectOk(dist_session_set_learning_rate(handle, 0.5));
  expectOk(dist_session_learning_rate(handle, &rate));
  EXPECT_EQ(rate, 0.5);
  expectError(dist_session_set_learning_rate(handle, -1),
              DIST_STATUS_INVALID_ARGUMENT, "-1");
  expectError(dist_session_learning_rate(handle, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "room for a rate");
}

TEST_P(CApiLoop, TheTwoHalvesOfAStep) {
  dist_session_t *handle = openHandle();
  dist_binding_t binding = DIST_BINDING_INIT;
  expectOk(dist_session_output(handle, "gradients", 1, &binding));
  EXPECT_EQ(binding.role, DIST_ROLE_GRADIENT);
  EXPECT_STREQ(binding.name, "w");
  const int64_t two[] = {2};
  dist_tensor_t input = {DIST_DATA_TYPE_F32, 1, two, x}, gradients[2];
  double loss = 0;
  expectOk(dist_session_gradients(handle, &input, 1, &loss, gradients, 2));
  EXPECT_EQ(loss, 3);
  EXPECT_EQ(static_cast<const float *>(gradients[1].data)[1], 2);
  // What one entry gave is there until its own next run: the other takes it.
  expectOk(predict(handle));
  expectOk(dist_session_apply(handle, gradients, 1));
  EXPECT_EQ(readW(handle), (std::vector<float>{-1, -2}));
  EXPECT_EQ(static_cast<const float *>(gradients[0].data)[0], 2);
  expectOk(dist_session_apply(handle, gradients, 1));
  EXPECT_EQ(readW(handle), (std::vector<float>{-3, -6}));
  expectOk(dist_session_gradients(handle, &input, 1, nullptr, nullptr, 0));
  expectError(dist_session_gradients(handle, &input, 1, nullptr, gradients, 3),
              DIST_STATUS_INVALID_ARGUMENT, "more gradients than the entry");
  expectError(dist_session_apply(handle, gradients, 2),
              DIST_STATUS_INVALID_ARGUMENT, "expected 1, but got 2");
}

TEST_P(CApiLoop, ValuesAreReduced) {
  dist_session_t *handle = openHandle();
  const int64_t dims[] = {2, 3};
  float data[] = {1, 2, 3, 4, 6, 8}, out[6] = {};
  dist_tensor_t value = {DIST_DATA_TYPE_F32, 2, dims, data};
  // One process: its own value.
  expectOk(dist_session_reduce(handle, DIST_REDUCTION_SUM, -1, &value, out,
                               sizeof out));
  EXPECT_EQ(out[5], 8);
  expectOk(dist_session_reduce(handle, DIST_REDUCTION_MEAN, 0, &value, out,
                               3 * sizeof(float)));
  EXPECT_EQ((std::vector<float>(out, out + 3)),
            (std::vector<float>{2.5, 4, 5.5}));
  expectOk(dist_session_reduce(handle, DIST_REDUCTION_MAX, 1, &value, out,
                               2 * sizeof(float)));
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], 8);
  data[1] = NAN;
  expectOk(
      dist_session_reduce(handle, DIST_REDUCTION_MIN, 1, &value, out, 100));
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 4);
  int64_t whole[] = {int64_t(1) << 60, 1, 2}, sum = 0;
  const int64_t three[] = {3};
  dist_tensor_t integers = {DIST_DATA_TYPE_I64, 1, three, whole};
  expectOk(dist_session_reduce(handle, DIST_REDUCTION_SUM, 0, &integers, &sum,
                               sizeof sum));
  EXPECT_EQ(sum, (int64_t(1) << 60) + 3);
  expectError(dist_session_reduce(handle, DIST_REDUCTION_MEAN, 0, &integers,
                                  &sum, sizeof sum),
              DIST_STATUS_INVALID_ARGUMENT, "a mean is of floats (i64)");
  expectError(
      dist_session_reduce(handle, DIST_REDUCTION_SUM, 2, &value, out, 100),
      DIST_STATUS_INVALID_ARGUMENT, "no such axis (2)");
  expectError(
      dist_session_reduce(handle, DIST_REDUCTION_SUM, 0, &value, out, 11),
      DIST_STATUS_INVALID_ARGUMENT, "too little room for the result (12 bytes");
  expectError(dist_session_reduce(handle, static_cast<dist_reduction_t>(9), 0,
                                  &value, out, 100),
              DIST_STATUS_INVALID_ARGUMENT, "no such reduction (9)");
  dist_tensor_t untyped = value;
  untyped.type = static_cast<dist_data_type_t>(99);
  expectError(
      dist_session_reduce(handle, DIST_REDUCTION_SUM, 0, &untyped, out, 100),
      DIST_STATUS_INVALID_ARGUMENT, "a tensor needs a type");
  expectError(
      dist_session_reduce(nullptr, DIST_REDUCTION_SUM, 0, &value, out, 12),
      DIST_STATUS_INVALID_ARGUMENT, "a session is needed");
}

INSTANTIATE_TEST_SUITE_P(Devices, CApiLoop, testing::Values(1, 2));

} // namespace
} // namespace dist::test
