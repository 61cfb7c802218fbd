//===- capi_fixture.h - Sessions of the C interface -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CAPI_FIXTURE_H
#define TEST_RUNTIME_CAPI_FIXTURE_H

#include "dist/api.h"
#include "test/runtime/session_fixture.h"

namespace dist::test {

/// The package of the session's tests through the C interface, on so many
/// devices.
class CApiDevices : public SessionTest,
                    public testing::WithParamInterface<int> {
protected:
  std::vector<dist_session_t *> handles;
  std::vector<std::string> messages; // "LEVEL TEXT"
  const int64_t xDims[2] = {4, 2};
  alignas(64) float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float scale = 2;

  void SetUp() override {
    SessionTest::SetUp();
    describe(GetParam());
    describeEndless(GetParam());
    describeHalves();
    ASSERT_TRUE(SessionTest::open().ok()); // writes the manifest
    session.reset();
  }
  void TearDown() override {
    for (dist_session_t *handle : handles)
      dist_session_close(handle);
    SessionTest::TearDown();
  }
  dist_session_t *openHandle(dist_team_t *team = nullptr) {
    dist_session_options_t options = DIST_SESSION_OPTIONS_INIT;
    options.log_data = &messages;
    options.log = [](void *data, dist_log_level_t level, const char *text) {
      static_cast<std::vector<std::string> *>(data)->push_back(
          std::to_string(level) + " " + text);
    };
    options.team = team;
    dist_session_t *handle = nullptr;
    expectOk(dist_session_open(folder.c_str(), &options, &handle));
    handles.push_back(handle);
    return handle;
  }
  static void expectOk(dist_status_t *status) {
    EXPECT_EQ(status, nullptr) << dist_status_message(status);
    dist_status_free(status);
  }
  static void expectError(dist_status_t *status, dist_status_code_t code,
                          const std::string &part) {
    EXPECT_EQ(dist_status_code(status), code);
    EXPECT_NE(std::string(dist_status_message(status)).find(part),
              std::string::npos)
        << dist_status_message(status);
    dist_status_free(status);
  }
  dist_status_t *train(dist_session_t *handle) {
    dist_tensor_t inputs[] = {{DIST_DATA_TYPE_F32, 2, xDims, x},
                              {DIST_DATA_TYPE_F32, 0, nullptr, &scale}};
    return dist_session_train_step(handle, inputs, 2, nullptr);
  }
  dist_status_t *predict(dist_session_t *handle) {
    dist_tensor_t output;
    return dist_session_predict(handle, nullptr, 0, &output, 1);
  }
  std::vector<float> readW(dist_session_t *handle) {
    std::vector<float> value(2);
    expectOk(dist_session_read_variable(handle, 0, value.data(), 8));
    return value;
  }
};

} // namespace dist::test

#endif // TEST_RUNTIME_CAPI_FIXTURE_H
