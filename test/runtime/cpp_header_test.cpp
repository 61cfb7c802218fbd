//===- cpp_header_test.cpp - The C API with owners ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dist/checkpoint.hpp"
#include "dist/session.hpp"
#include "test/runtime/session_fixture.h"

namespace dist::test {
namespace {

class CppHeaderTest : public SessionTest {
protected:
  void SetUp() override {
    SessionTest::SetUp();
    describe(2);
    ASSERT_TRUE(open().ok()); // writes the manifest
    session.reset();
  }
};

TEST_F(CppHeaderTest, TrainsReadsAndWrites) {
  api::Session session(folder);
  EXPECT_EQ(session.entries(),
            (std::vector<std::string>{"train_step", "predict", "product"}));
  EXPECT_EQ(session.inputs("train_step").size(), 2u);
  EXPECT_EQ(session.outputs("train_step").size(), 3u);
  alignas(64) float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float scale = 2;
  EXPECT_EQ(session.trainStep({api::view(x, {4, 2}), api::view(&scale, {})}),
            112);
  session.reset();
  auto outputs =
      session.run("train_step", {api::view(x, {4, 2}), api::view(&scale, {})});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0].dims(), (std::vector<int64_t>{4}));
  EXPECT_EQ(outputs[0].as<float>()[3], 46);
  float value[2] = {3, 4};
  session.write("w", api::view(value, {2}));
  EXPECT_EQ(session.read<float>("w"), (std::vector<float>{3, 4}));
  EXPECT_EQ(session.variables().size(), 3u);
  EXPECT_STREQ(session.variables()[1].name, "seen");
}

TEST_F(CppHeaderTest, OwnsTeamsAndCheckpoints) {
  auto team = std::make_unique<api::Team>();
  std::vector<std::string> messages;
  api::SessionOptions options;
  options.team = team.get();
  options.log = [&](dist_log_level_t level, const char *text) {
    messages.push_back(text);
  };
  api::Session session(folder, options);
  team.reset(); // the session keeps the threads
  EXPECT_EQ(messages.size(), 1u);
  std::string path = folder / "states", file = folder / "file";
  float value[2] = {3, 4};
  session.write("w", api::view(value, {2}));
  session.save(file);
  {
    api::Checkpoint states(path, session, DIST_CHECKPOINT_NEW);
    EXPECT_EQ(states.step(), -1);
    states.save(7);
  }
  session.reset();
  session.load(file);
  EXPECT_EQ(session.read<float>("w"), (std::vector<float>{3, 4}));
  session.reset();
  api::Checkpoint states(path, session, DIST_CHECKPOINT_RESUME);
  EXPECT_EQ(states.step(), 7);
  EXPECT_EQ(session.read<float>("w"), (std::vector<float>{3, 4}));
  EXPECT_THROW(api::Checkpoint(path, session, DIST_CHECKPOINT_NEW), api::Error);
  api::Session moved = std::move(session);
  moved.cancel();
  EXPECT_EQ(moved.read<float>("w"), (std::vector<float>{3, 4}));
}

TEST_F(CppHeaderTest, ReducesValues) {
  api::Session session(folder);
  float data[] = {1, 2, 3, 4, 6, 8};
  api::TensorView value = api::view(data, {2, 3});
  // One process: its own value.
  EXPECT_EQ(session.reduce<float>(DIST_REDUCTION_SUM, value),
            (std::vector<float>(data, data + 6)));
  EXPECT_EQ(session.reduce<float>(DIST_REDUCTION_MEAN, value, 0),
            (std::vector<float>{2.5, 4, 5.5}));
  EXPECT_EQ(session.reduce<float>(DIST_REDUCTION_MAX, value, 1),
            (std::vector<float>{3, 8}));
  EXPECT_THROW(session.reduce<float>(DIST_REDUCTION_SUM, value, 2), api::Error);
  EXPECT_THROW(session.reduce<double>(DIST_REDUCTION_SUM, value), api::Error);
}

TEST_F(CppHeaderTest, StatusesBecomeErrors) {
  try {
    api::Session session("/nowhere");
    FAIL() << "it was opened";
  } catch (const api::Error &error) {
    EXPECT_EQ(error.code(), DIST_STATUS_INVALID_INPUT);
    EXPECT_NE(std::string(error.what()).find("/nowhere"), std::string::npos);
  }
  api::Session session(folder);
  EXPECT_THROW(session.inputs("fit"), api::Error);
  EXPECT_THROW(session.read<float>("none"), api::Error);
  EXPECT_THROW(session.read<int64_t>("w"), api::Error);
  float one = 1;
  EXPECT_THROW(session.predict({api::view(&one, {1})}), api::Error);
}

} // namespace
} // namespace dist::test
