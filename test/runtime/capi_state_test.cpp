//===- capi_state_test.cpp - States, messages, threads and ends of calls --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/capi_fixture.h"
#include <atomic>
#include <thread>

namespace dist::test {
namespace {

using CApiState = CApiDevices;

TEST_P(CApiState, OldAndNewStructs) {
  dist_session_t *handle = openHandle();
  // Nobody has set the size.
  dist_binding_t unset = {};
  expectError(dist_session_input(handle, "train_step", 0, &unset),
              DIST_STATUS_INVALID_ARGUMENT,
              "struct_size is not set (dist_binding_t)");
  dist_variable_t none = {};
  expectError(dist_session_variable(handle, 0, &none),
              DIST_STATUS_INVALID_ARGUMENT, "struct_size is not set");
  // A newer app's is longer; what the library does not know stays as it is.
  struct {
    dist_variable_t known = DIST_VARIABLE_INIT;
    int64_t more = 7;
  } newer;
  newer.known.struct_size = sizeof newer;
  expectOk(dist_session_variable(handle, 0, &newer.known));
  EXPECT_STREQ(newer.known.name, "w");
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  EXPECT_EQ(newer.more, 7);

  // An older app's options end behind the timeout: nothing is read there.
  struct {
    size_t struct_size;
    double collective_timeout;
    void *notOurs;
  } older = {16, 5, reinterpret_cast<void *>(1)};
  dist_session_t *second = nullptr;
  expectOk(dist_session_open(
      folder.c_str(), reinterpret_cast<const dist_session_options_t *>(&older),
      &second));
  dist_session_close(second);
  struct {
    dist_session_options_t known = DIST_SESSION_OPTIONS_INIT;
    int64_t more = 0;
  } options;
  options.known.struct_size = sizeof options;
  expectOk(dist_session_open(folder.c_str(), &options.known, &second));
  dist_session_close(second);
  options.more = 1;
  expectError(dist_session_open(folder.c_str(), &options.known, &second),
              DIST_STATUS_INVALID_ARGUMENT,
              "an option is set that this library does not know");
  options.known.struct_size = 8;
  expectError(dist_session_open(folder.c_str(), &options.known, &second),
              DIST_STATUS_INVALID_ARGUMENT, "struct_size is not set");
}

// As far as options went before they got more members.
TEST_P(CApiState, OptionsOfOlderApps) {
  dist_session_t *handle = openHandle();
  auto begins = [&](size_t size) {
    dist_fit_options_t options = DIST_FIT_OPTIONS_INIT;
    options.struct_size = size;
    options.epochs = -1;
    return dist_session_fit(handle, nullptr, 0, nullptr, &options, nullptr);
  };
  for (size_t size :
       {offsetof(dist_fit_options_t, async_save), sizeof(dist_fit_options_t)})
    expectError(begins(size), DIST_STATUS_INVALID_ARGUMENT, "is negative");
  dist_fit_options_t nameless = DIST_FIT_OPTIONS_INIT;
  nameless.checkpoint = "";
  expectError(dist_session_fit(handle, nullptr, 0, nullptr, &nameless, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "has no name");
  expectError(begins(offsetof(dist_fit_options_t, data)),
              DIST_STATUS_INVALID_ARGUMENT,
              "struct_size is not set (dist_fit_options_t)");
}

TEST_P(CApiState, MessagesAreOneLine) {
  dist_session_t *none = nullptr;
  dist_status_t *status =
      dist_session_open("/nowhere/a\nb\x1b[31m", nullptr, &none);
  EXPECT_NE(std::string(dist_status_message(status)).find("a b?[31m"),
            std::string::npos)
      << dist_status_message(status);
  dist_status_free(status);
  dist_session_t *handle = openHandle();
  std::string states = folder / "a\nb";
  dist_checkpoint_t *checkpoint = nullptr;
  expectOk(dist_checkpoint_open(states.c_str(), handle, nullptr, &checkpoint,
                                nullptr));
  expectOk(dist_checkpoint_save(checkpoint, 1));
  dist_checkpoint_close(checkpoint);
  // A damaged one, of which a note tells.
  fs::create_directories(states + "/step-000000000002");
  messages.clear();
  dist_checkpoint_options_t options = DIST_CHECKPOINT_OPTIONS_INIT;
  options.use = DIST_CHECKPOINT_RESUME;
  expectOk(dist_checkpoint_open(states.c_str(), handle, &options, &checkpoint,
                                nullptr));
  dist_checkpoint_close(checkpoint);
  ASSERT_FALSE(messages.empty());
  for (const std::string &message : messages)
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST_P(CApiState, ValuesOfRowsHaveTheDimsThatAreRead) {
  dist_session_t *handle = openHandle();
  int32_t moving = dist_session_find_variable(handle, "moving");
  dist_variable_t variable = DIST_VARIABLE_INIT;
  expectOk(dist_session_variable(handle, moving, &variable));
  ASSERT_EQ(variable.num_dims, 1);
  EXPECT_EQ(variable.dims[0], 2);
  float value[3] = {3, 4, 5};
  dist_tensor_t view = {variable.type, variable.num_dims, variable.dims, value};
  expectOk(dist_session_write_variable(handle, moving, &view));
  value[0] = value[1] = 0;
  expectOk(dist_session_read_variable(handle, moving, value,
                                      dist_tensor_bytes(&view)));
  EXPECT_EQ(value[0], 3);
  EXPECT_EQ(value[1], 4);
  EXPECT_EQ(value[2], 5);
}

TEST_P(CApiState, ACallIsCancelled) {
  dist_session_t *handle = openHandle();
  dist_session_cancel(handle); // no call: nothing happens
  expectOk(train(handle));
  std::vector<float> before = readW(handle);
  dist_tensor_t input = {DIST_DATA_TYPE_F32, 2, xDims, x};
  x[0] = 999; // the first rank's; others wait for it
  std::atomic<bool> ended{false};
  std::thread canceller([&] {
    while (!ended.load()) {
      dist_session_cancel(handle);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  expectError(dist_session_run(handle, "endless", &input, 1, nullptr, 0),
              DIST_STATUS_CANCELLED, "cancelled (endless)");
  ended.store(true);
  canceller.join();

  // What the entry changes is of no step; what it leaves alone is.
  float value[2];
  expectError(dist_session_read_variable(handle, 0, value, sizeof value),
              DIST_STATUS_INVALID_ARGUMENT,
              "the variable is between two steps (w): a call of 'endless' was "
              "cancelled");
  expectOk(dist_session_read_variable(handle, 1, value, sizeof value));
  x[0] = 1;
  expectError(train(handle), DIST_STATUS_INVALID_ARGUMENT, "two steps (w)");
  expectError(predict(handle), DIST_STATUS_INVALID_ARGUMENT, "two steps (w)");
  expectError(dist_session_save(handle, (folder / "torn").c_str()),
              DIST_STATUS_INVALID_ARGUMENT, "two steps (w)");
  EXPECT_FALSE(fs::exists(folder / "torn"));
  // Written anew it is a value again.
  const int64_t two[] = {2};
  dist_tensor_t view = {DIST_DATA_TYPE_F32, 1, two, before.data()};
  expectOk(dist_session_write_variable(handle, 0, &view));
  EXPECT_EQ(readW(handle), before);
  expectOk(train(handle));
  expectOk(predict(handle));
  expectOk(dist_session_reset(handle));
  EXPECT_EQ(readW(handle), (std::vector<float>{1, 2}));
  dist_session_cancel(nullptr);
}

// What is refused before anything is changed does no harm; what other ranks
// have changed by then is not left so unnoticed.
TEST_P(CApiState, ARefusedInputTearsOnlyWhatRanksDifferIn) {
  dist_session_t *handle = openHandle();
  x[0] = 998; // the first rank's
  dist_tensor_t input = {DIST_DATA_TYPE_F32, 2, xDims, x};
  expectError(dist_session_run(handle, "endless", &input, 1, nullptr, 0),
              DIST_STATUS_INVALID_INPUT, "a label is out of range");
  if (GetParam() == 1) {
    EXPECT_EQ(readW(handle), (std::vector<float>{1, 2}));
    return;
  }
  float value[2];
  dist_status_t *status =
      dist_session_read_variable(handle, 0, value, sizeof value);
  // The other rank may have been freed before it began.
  if (status)
    expectError(status, DIST_STATUS_INVALID_ARGUMENT,
                "two steps (w): a call of 'endless' failed");
  else
    EXPECT_EQ(value[0], 1);
  expectOk(dist_session_reset(handle));
  EXPECT_EQ(readW(handle), (std::vector<float>{1, 2}));
}

TEST_P(CApiState, VariablesAreSavedAndLoaded) {
  dist_session_t *handle = openHandle();
  std::string path = folder / "saved.safetensors";
  expectOk(train(handle));
  std::vector<float> after = readW(handle);
  expectOk(dist_session_save(handle, path.c_str()));
  expectOk(dist_session_reset(handle));
  messages.clear();
  expectOk(dist_session_load(handle, path.c_str()));
  EXPECT_EQ(readW(handle), after);
  float seen = 0;
  expectOk(dist_session_read_variable(handle, 1, &seen, sizeof seen));
  EXPECT_EQ(seen, 4);
  EXPECT_TRUE(messages.empty()) << messages[0];

  // All that a file has must fit; nothing is written otherwise.
  auto write = [&](const std::string &name, const Shape &shape) {
    float data[4] = {8, 9, 10, 11};
    SafetensorsWriter writer(path);
    writer.add("w", manifest::F32, {2}, data);
    writer.add(name, manifest::F32, shape, data);
    EXPECT_TRUE(writer.finish().ok());
  };
  write("moving", {4});
  expectError(dist_session_load(handle, path.c_str()),
              DIST_STATUS_INVALID_INPUT,
              "variable 'moving' is f32[4] there, but f32[2] here");
  EXPECT_EQ(readW(handle), after);
  write("strange", {1});
  expectOk(dist_session_load(handle, path.c_str()));
  EXPECT_EQ(readW(handle), (std::vector<float>{8, 9}));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "1 " + path +
                             ": 1 tensors are no variables of this program "
                             "(strange)");
  expectError(dist_session_load(handle, "/nowhere"), DIST_STATUS_INVALID_INPUT,
              "/nowhere");
  expectError(dist_session_load(nullptr, path.c_str()),
              DIST_STATUS_INVALID_ARGUMENT, "are needed");
}

TEST_P(CApiState, RunsGoOnFromCheckpoints) {
  std::string states = folder / "states";
  dist_checkpoint_t *checkpoint = nullptr;
  int64_t step = 0;
  std::vector<float> second;
  dist_checkpoint_options_t options = DIST_CHECKPOINT_OPTIONS_INIT;
  options.keep = 2;
  {
    dist_session_t *handle = openHandle();
    expectOk(dist_checkpoint_open(states.c_str(), handle, &options, &checkpoint,
                                  &step));
    EXPECT_EQ(step, -1);
    for (int64_t i = 1; i <= 3; ++i) {
      expectOk(train(handle));
      expectOk(dist_checkpoint_save(checkpoint, i));
      if (i == 2)
        second = readW(handle);
    }
    EXPECT_FALSE(fs::exists(fs::path(states) / "step-000000000001"));
    // One process at a time holds it.
    dist_checkpoint_t *other = nullptr;
    options.use = DIST_CHECKPOINT_RESUME;
    expectError(
        dist_checkpoint_open(states.c_str(), handle, &options, &other, &step),
        DIST_STATUS_UNAVAILABLE, "is in use");
    EXPECT_EQ(other, nullptr);
    expectError(dist_checkpoint_save(checkpoint, -1),
                DIST_STATUS_INVALID_ARGUMENT, "a step are needed");
    dist_checkpoint_close(checkpoint);
  }
  // The newest is damaged: it is passed over, and the log says so.
  fs::resize_file(
      fs::path(states) / "step-000000000003" / "variables.safetensors", 20);
  dist_session_t *handle = openHandle();
  expectError(
      dist_checkpoint_open(states.c_str(), handle, nullptr, &checkpoint, &step),
      DIST_STATUS_INVALID_INPUT, "another run's states");
  messages.clear();
  expectOk(dist_checkpoint_open(states.c_str(), handle, &options, &checkpoint,
                                &step));
  EXPECT_EQ(step, 2);
  EXPECT_EQ(readW(handle), second);
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0].substr(0, 20), "1 damaged checkpoint");
  dist_checkpoint_close(checkpoint);
  options.use = DIST_CHECKPOINT_OVERWRITE;
  expectOk(dist_checkpoint_open(states.c_str(), handle, &options, &checkpoint,
                                nullptr));
  EXPECT_FALSE(fs::exists(fs::path(states) / "step-000000000002"));
  dist_checkpoint_close(checkpoint);
  options.use = static_cast<dist_checkpoint_use_t>(9);
  expectError(dist_checkpoint_open(states.c_str(), handle, &options,
                                   &checkpoint, nullptr),
              DIST_STATUS_INVALID_ARGUMENT, "no such use");
  expectError(
      dist_checkpoint_open(nullptr, handle, nullptr, &checkpoint, nullptr),
      DIST_STATUS_INVALID_ARGUMENT, "are needed");
  dist_checkpoint_close(nullptr);
}

// An app may count in nanoseconds.
TEST_P(CApiState, StepsHaveAsManyDigitsAsTheyNeed) {
  std::string states = folder / "states";
  dist_session_t *handle = openHandle();
  dist_checkpoint_t *checkpoint = nullptr;
  dist_checkpoint_options_t options = DIST_CHECKPOINT_OPTIONS_INIT;
  options.keep = 2;
  expectOk(dist_checkpoint_open(states.c_str(), handle, &options, &checkpoint,
                                nullptr));
  for (int64_t step : {int64_t(999999999999), int64_t(1000000000000),
                       int64_t(1785000000000000000), INT64_MAX})
    expectOk(dist_checkpoint_save(checkpoint, step));
  dist_checkpoint_close(checkpoint);
  EXPECT_FALSE(fs::exists(fs::path(states) / "step-1000000000000"));
  options.use = DIST_CHECKPOINT_RESUME;
  int64_t step = 0;
  expectOk(dist_checkpoint_open(states.c_str(), handle, &options, &checkpoint,
                                &step));
  EXPECT_EQ(step, INT64_MAX);
  dist_checkpoint_close(checkpoint);
}

int countThreads() {
  fs::directory_iterator tasks("/proc/self/task");
  return std::distance(fs::begin(tasks), fs::end(tasks));
}

TEST_P(CApiState, SessionsShareATeam) {
  dist_team_t *team = nullptr;
  expectOk(dist_team_create(&team));
  int before = countThreads();
  std::vector<dist_session_t *> sessions;
  for (int i = 0; i < 3; ++i)
    sessions.push_back(openHandle(team));
  // A thread a device but the first, not a session: it is the caller's.
  EXPECT_EQ(countThreads(), before + GetParam() - 1);
  dist_team_free(team); // the sessions keep it
  std::vector<std::thread> callers;
  for (dist_session_t *handle : sessions)
    callers.emplace_back([&, handle] {
      for (int i = 0; i < 50; ++i)
        expectOk(train(handle));
    });
  for (std::thread &caller : callers)
    caller.join();
  dist_session_t *alone = openHandle();
  for (int i = 0; i < 50; ++i)
    expectOk(train(alone));
  for (dist_session_t *handle : sessions)
    EXPECT_EQ(readW(handle), readW(alone));
  expectError(dist_team_create(nullptr), DIST_STATUS_INVALID_ARGUMENT,
              "room for a team");
  dist_team_free(nullptr);
}

TEST_P(CApiState, ASessionTellsWhatItIs) {
  openHandle();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("0 "), std::string::npos);
  EXPECT_NE(messages[0].find(std::to_string(GetParam()) + " x 1 threads"),
            std::string::npos)
      << messages[0];
}

INSTANTIATE_TEST_SUITE_P(Devices, CApiState, testing::Values(1, 2));

} // namespace
} // namespace dist::test
