//===- capi_test.cpp - The C interface over a program written by hand -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dist/api.h"
#include "test/runtime/session_fixture.h"
#include <cstring>

extern "C" int countEntriesInC(const dist_session_t *session);

namespace dist::test {
namespace {

class CApiTest : public SessionTest {
protected:
  dist_session_t *handle = nullptr;

  void SetUp() override {
    SessionTest::SetUp();
    describe(2);
    ASSERT_TRUE(open().ok()); // writes the manifest
    session.reset();
    expectOk(dist_session_open(folder.c_str(), nullptr, &handle));
    ASSERT_NE(handle, nullptr);
  }
  void TearDown() override {
    dist_session_close(handle);
    SessionTest::TearDown();
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
};

TEST_F(CApiTest, TrainsAndPredicts) {
  alignas(64) float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float scale = 2;
  const int64_t dims[] = {4, 2};
  dist_tensor_t inputs[] = {{DIST_DATA_TYPE_F32, 2, dims, x},
                            {DIST_DATA_TYPE_F32, 0, nullptr, &scale}};
  double loss = 0;
  expectOk(dist_session_train_step(handle, inputs, 2, &loss));
  EXPECT_EQ(loss, 112);
  expectOk(dist_session_train_step(handle, inputs, 2, nullptr));
  expectOk(dist_session_reset(handle));
  dist_tensor_t outputs[3];
  expectOk(dist_session_run(handle, "train_step", inputs, 2, outputs, 3));
  EXPECT_EQ(outputs[0].num_dims, 1);
  EXPECT_EQ(outputs[0].dims[0], 4);
  EXPECT_EQ(dist_tensor_bytes(&outputs[0]), 16u);
  EXPECT_EQ(static_cast<const float *>(outputs[0].data)[3], 46);
  int32_t w = dist_session_find_variable(handle, "w");
  ASSERT_EQ(w, 0);
  float value[2] = {3, 4};
  const int64_t two[] = {2};
  dist_tensor_t view = {DIST_DATA_TYPE_F32, 1, two, value};
  expectOk(dist_session_write_variable(handle, w, &view));
  expectOk(dist_session_predict(handle, nullptr, 0, outputs, 1));
  EXPECT_EQ(static_cast<const float *>(outputs[0].data)[0], 6);
  value[0] = 0;
  expectOk(dist_session_read_variable(handle, w, value, sizeof value));
  EXPECT_EQ(value[0], 3);
}

TEST_F(CApiTest, DescribesItself) {
  EXPECT_EQ(countEntriesInC(handle), 3);
  EXPECT_STREQ(dist_session_entry_name(handle, 0), "train_step");
  EXPECT_EQ(dist_session_input_count(handle, "train_step"), 2);
  EXPECT_EQ(dist_session_output_count(handle, "train_step"), 3);
  EXPECT_EQ(dist_session_input_count(handle, "none"), -1);
  dist_binding_t binding = DIST_BINDING_INIT;
  expectOk(dist_session_input(handle, "train_step", 0, &binding));
  EXPECT_STREQ(binding.name, "x");
  EXPECT_EQ(binding.role, DIST_ROLE_INPUT);
  EXPECT_EQ(binding.num_dims, 2);
  EXPECT_EQ(binding.dims[0], 4); // global
  expectOk(dist_session_output(handle, "train_step", 1, &binding));
  EXPECT_EQ(binding.role, DIST_ROLE_LOSS);
  expectOk(dist_session_output(handle, "train_step", 2, &binding));
  EXPECT_EQ(binding.role, DIST_ROLE_OTHER);
  EXPECT_EQ(dist_session_variable_count(handle), 3);
  dist_variable_t variable = DIST_VARIABLE_INIT;
  expectOk(dist_session_variable(handle, 1, &variable));
  EXPECT_STREQ(variable.name, "seen");
  EXPECT_EQ(variable.num_dims, 0);
  EXPECT_STREQ(dist_data_type_name(variable.type), "f32");
  EXPECT_EQ(dist_data_type_size(DIST_DATA_TYPE_I64), 8u);
  EXPECT_STREQ(dist_version_string(), "0.1.0");
}

TEST_F(CApiTest, SavesVariables) {
  std::string path = folder / "saved.safetensors";
  expectOk(dist_session_save(handle, path.c_str()));
  std::unique_ptr<SafetensorsFile> file;
  ASSERT_TRUE(SafetensorsFile::open(path, &file).ok());
  const TensorView *w = file->find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(static_cast<const float *>(w->data)[1], 2);
  dist_status_t *status = dist_session_save(handle, "/nowhere/at/all");
  EXPECT_NE(status, nullptr);
  dist_status_free(status);
}

TEST_F(CApiTest, ErrorsAreStatuses) {
  dist_session_t *none = nullptr;
  expectError(dist_session_open("/nowhere", nullptr, &none),
              DIST_STATUS_INVALID_INPUT, "/nowhere");
  EXPECT_EQ(none, nullptr);
  expectError(dist_session_open(nullptr, nullptr, &none),
              DIST_STATUS_INVALID_ARGUMENT, "path is needed");
  expectError(dist_session_run(handle, "fit", nullptr, 0, nullptr, 0),
              DIST_STATUS_INVALID_ARGUMENT, "train_step, predict, product");
  expectError(dist_session_run(handle, "predict", nullptr, 0, nullptr, 5),
              DIST_STATUS_INVALID_ARGUMENT, "more outputs");
  expectError(dist_session_train_step(handle, nullptr, 0, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "expected 2, but got 0");
  float numbers[2] = {1, 2};
  for (std::vector<int64_t> dims :
       {std::vector<int64_t>{-1, 2}, {int64_t(1) << 58, 64}, {INT64_MAX, 0}}) {
    dist_tensor_t impossible = {DIST_DATA_TYPE_F32, 2, dims.data(), numbers};
    EXPECT_EQ(dist_tensor_bytes(&impossible), 0u);
    expectError(dist_session_predict(handle, &impossible, 1, nullptr, 0),
                DIST_STATUS_INVALID_ARGUMENT, "a dim below 0, or more");
  }
  dist_tensor_t untyped = {};
  expectError(dist_session_train_step(handle, &untyped, 1, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "type, dims and data");
  float small;
  expectError(dist_session_read_variable(handle, 0, &small, sizeof small),
              DIST_STATUS_INVALID_ARGUMENT, "too little room");
  expectError(dist_session_read_variable(handle, 9, &small, sizeof small),
              DIST_STATUS_INVALID_ARGUMENT, "no variable (9)");
  expectError(dist_session_input(handle, "predict", 0, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "no binding");
  EXPECT_EQ(dist_session_find_variable(handle, "none"), -1);
  // NULL where a result belongs, or where a session does.
  expectError(dist_session_open("/nowhere", nullptr, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "path is needed");
  expectError(dist_session_variable(handle, 0, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "room for the result is needed");
  expectError(dist_session_variable(nullptr, 0, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "no variable (0)");
  expectError(dist_session_output(handle, "predict", 0, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "room for the result is needed");
  expectError(dist_session_predict(handle, nullptr, 0, nullptr, 1),
              DIST_STATUS_INVALID_ARGUMENT, "more outputs");
  expectError(dist_session_read_variable(handle, 0, nullptr, 1000),
              DIST_STATUS_INVALID_ARGUMENT, "too little room");
  expectError(dist_session_write_variable(handle, 0, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "type, dims and data");
  expectError(dist_session_save(handle, nullptr), DIST_STATUS_INVALID_ARGUMENT,
              "a path are needed");
  expectError(dist_session_reset(nullptr), DIST_STATUS_INVALID_ARGUMENT,
              "a session is needed");
  EXPECT_EQ(dist_session_input_count(nullptr, nullptr), -1);
  EXPECT_EQ(dist_session_output_count(handle, nullptr), -1);
  EXPECT_EQ(dist_session_variable_count(nullptr), 0);
  EXPECT_EQ(dist_session_entry_name(nullptr, 0), nullptr);
  EXPECT_EQ(dist_session_find_variable(handle, nullptr), -1);
  EXPECT_EQ(dist_tensor_bytes(nullptr), 0u);
  EXPECT_EQ(dist_session_entry_name(handle, -1), nullptr);
  EXPECT_EQ(dist_status_code(nullptr), DIST_STATUS_OK);
  EXPECT_STREQ(dist_status_message(nullptr), "");
  dist_status_free(nullptr);
  dist_session_close(nullptr);
}

} // namespace
} // namespace dist::test
