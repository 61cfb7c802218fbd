//===- session_test.cpp - Sessions over a program written by hand ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/session_fixture.h"
#include <list>

namespace dist::test {
namespace {

class SessionRanks : public SessionTest,
                     public testing::WithParamInterface<int> {};

/// Calls, and the tensors that they read and write.
struct Launch {
  explicit Launch(Session &session) : session(session) {}
  void add(const char *entry, std::vector<TensorView> views) {
    entries.push_back(session.findEntry(entry));
    inputs.push_back(std::move(views));
    outputs.emplace_back();
  }
  void addStep(float first) {
    // Off any alignment, as a user's memory may be.
    std::vector<float> &memory = memories.emplace_back(9);
    for (int i = 0; i < 8; ++i)
      memory[i + 1] = i + 1;
    memory[1] = first;
    static const float scale = 2;
    add("train_step", {{manifest::F32, {4, 2}, memory.data() + 1},
                       {manifest::F32, {}, &scale}});
  }
  std::vector<StepCall> calls() {
    std::vector<StepCall> all;
    for (size_t i = 0; i < entries.size(); ++i)
      all.push_back({entries[i], &inputs[i], &outputs[i]});
    return all;
  }
  Session &session;
  std::vector<const manifest::Entry *> entries;
  std::list<std::vector<float>> memories;
  std::vector<std::vector<TensorView>> inputs;
  std::vector<std::vector<Tensor>> outputs;
};

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

// A package may be moved, removed or replaced while it is in use.
TEST_P(SessionRanks, InitialValuesAreThoseOfThePackageThatWasOpened) {
  openRanks(GetParam());
  ASSERT_TRUE(step().ok());
  static const float others[] = {7, 8};
  SafetensorsWriter weights(folder / "weights.safetensors");
  weights.add("w.initial", manifest::F32, {2}, others);
  ASSERT_TRUE(weights.finish().ok());
  ASSERT_TRUE(session->resetVariables().ok());
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
  fs::remove_all(folder);
  ASSERT_TRUE(step().ok());
  ASSERT_TRUE(session->resetVariables().ok());
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
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

TEST_P(SessionRanks, OnReadOfTheFirstReplica) {
  int ranks = GetParam();
  describe(ranks);
  m.mutable_variables(2)->set_aggregation("only_first_replica");
  Status status = open();
  ASSERT_TRUE(status.ok()) << status.message();
  float last[] = {1.5, 4.5}, first[] = {-1, 8};
  ASSERT_TRUE(
      session->writeSlice(2, ranks - 1, {manifest::F32, {1, 2}, last}).ok());
  ASSERT_TRUE(session->writeSlice(2, 0, {manifest::F32, {1, 2}, first}).ok());
  EXPECT_EQ(read(2), (std::vector<float>{-1, 8}));
  // An assignment from outside is each replica's.
  ASSERT_TRUE(session->writeVariable(2, {manifest::F32, {2}, last}).ok());
  Tensor slice;
  ASSERT_TRUE(session->readSlice(2, ranks - 1, &slice).ok());
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

TEST_P(SessionRanks, StepsOfOneLaunchAreThoseOfSeveral) {
  openRanks(GetParam());
  std::vector<float> losses, w;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(step(float(i)).ok());
    losses.push_back(floats(outputs[1])[0]);
    losses.push_back(floats(outputs[2])[0]);
  }
  ASSERT_TRUE(run("predict", {}).ok());
  w = floats(outputs[0]);

  ASSERT_TRUE(session->resetVariables().ok());
  Launch launch(*session);
  for (int i = 0; i < 4; ++i)
    launch.addStep(float(i));
  launch.add("predict", {});
  size_t done = 0;
  Status status = session->runSteps(launch.calls(), nullptr, &done);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(done, 5u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(floats(launch.outputs[i][1])[0], losses[2 * i]);
    EXPECT_EQ(floats(launch.outputs[i][2])[0], losses[2 * i + 1]);
  }
  // What is prepared follows the steps before it.
  std::vector<float> prepared = floats(launch.outputs[4][0]);
  EXPECT_EQ(prepared[0], w[0]);
  EXPECT_EQ(prepared[1], w[1] + 1); // how often
}

TEST_P(SessionRanks, ALaunchStopsWhereItIsTold) {
  openRanks(GetParam());
  Launch launch(*session);
  for (int i = 0; i < 4; ++i)
    launch.addStep(float(i));
  std::vector<size_t> asked;
  size_t done = 0;
  auto goOn = [&](size_t i) {
    asked.push_back(i);
    // The outputs of the step are there.
    EXPECT_EQ(launch.outputs[i].size(), 3u);
    return i < 2;
  };
  ASSERT_TRUE(session->runSteps(launch.calls(), goOn, &done).ok());
  EXPECT_EQ(done, 3u);
  EXPECT_EQ(asked, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(read(1), std::vector<float>{12});
  // Nothing prepared by what did not run is taken for granted.
  ASSERT_TRUE(run("predict", {}).ok());
}

TEST_P(SessionRanks, AFailureEndsALaunch) {
  for (bool asks : {false, true}) {
    m.Clear();
    openRanks(GetParam());
    Launch launch(*session);
    for (float first : {1.f, 999.f, 1.f})
      launch.addStep(first);
    size_t done = 0;
    std::function<bool(size_t)> goOn;
    if (asks)
      goOn = [](size_t) { return true; };
    Status status = session->runSteps(launch.calls(), goOn, &done);
    EXPECT_EQ(status.code(), StatusCode::InvalidInput) << status.message();
    // Unasked, a rank may fail while another is still in the step before.
    EXPECT_LE(done, 1u);
    if (asks || GetParam() == 1)
      EXPECT_EQ(done, 1u);
    if (done == 1)
      EXPECT_EQ(floats(launch.outputs[0][1]), std::vector<float>{112});
    ASSERT_TRUE(session->resetVariables().ok());
    ASSERT_TRUE(step().ok());
    EXPECT_EQ(floats(outputs[1]), std::vector<float>{112});
  }
}

// What a program starts and does not wait for is done, or has failed, when its
// step has.
TEST_F(SessionTest, FailuresNothingWaitsForAreTold) {
  describe(2);
  describeEndless(2, "careless");
  SessionOptions options;
  options.collectiveTimeout = 0.5;
  Status status = open(options);
  ASSERT_TRUE(status.ok()) << status.message();
  float x[8] = {};
  status = run("careless", {{manifest::F32, {4, 2}, x}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(read(0), (std::vector<float>{2, 4}));
  x[4] = 999; // the second rank's first
  status = run("careless", {{manifest::F32, {4, 2}, x}});
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("rank 1 did not arrive"), std::string::npos)
      << status.message();
}

TEST_F(SessionTest, CollectivesAreThoseOfTheList) {
  describe(2);
  describeEndless(2, "hasty");
  Status status = open();
  ASSERT_TRUE(status.ok()) << status.message();
  float x[8] = {};
  status = run("hasty", {{manifest::F32, {4, 2}, x}});
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(
      status.message().find(
          "a collective was not started that is waited for (hasty: op 3)"),
      std::string::npos)
      << status.message();
  ASSERT_TRUE(session->resetVariables().ok());
  x[0] = x[4] = 1;
  status = run("hasty", {{manifest::F32, {4, 2}, x}});
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("no collective 1"), std::string::npos)
      << status.message();
  // What follows has plans of its own.
  ASSERT_TRUE(session->resetVariables().ok());
  status = step();
  ASSERT_TRUE(status.ok()) << status.message();
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
  ASSERT_EQ(events.size(), 2 * size_t(GetParam()));
  EXPECT_EQ(events[0].category, "step");
  EXPECT_EQ(events[0].name, "product");
  EXPECT_EQ(events[1].category, "library");
  // The model's node that the manifest names, then the library's kernel.
  EXPECT_EQ(events[1].name.substr(0, 16), "/fc/Gemm (MATMUL");
  EXPECT_LE(events[0].begin, events[1].begin);
  EXPECT_LE(events[1].begin, events[1].end);
  EXPECT_LE(events[1].end, events[0].end);
  ASSERT_TRUE(step().ok());
  events = session->takeTrace();
  ASSERT_EQ(events.size(), 4 * size_t(GetParam()));
  EXPECT_EQ(events[3].category, "collective");
  EXPECT_NE(events[3].name.find("loss"), std::string::npos);
  EXPECT_TRUE(session->takeTrace().empty());
}

TEST_P(SessionRanks, TakesWhatItHasGiven) {
  describe(GetParam());
  manifest::Entry *entry = m.mutable_programs(0)->add_entries();
  entry->set_name("reversed");
  entry->set_symbol("reversed");
  bind(entry->mutable_arguments(), Binding::INPUT, "x", {4}, {4});
  bind(entry->mutable_results(), Binding::OUTPUT, "y", {4}, {4});
  Status status = open();
  ASSERT_TRUE(status.ok()) << status.message();
  float x[] = {1, 2, 3, 4};
  ASSERT_TRUE(run("reversed", {{manifest::F32, {4}, x}}).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{4, 3, 2, 1}));
  for (int i = 0; i < 3; ++i) {
    std::vector<float> given = floats(outputs[0]);
    ASSERT_TRUE(run("reversed", {outputs[0].view()}).ok());
    std::reverse(given.begin(), given.end());
    EXPECT_EQ(floats(outputs[0]), given);
  }
  // What has failed has changed nothing.
  const char *data = outputs[0].data.data();
  TensorView wrong = outputs[0].view();
  wrong.shape = {2};
  EXPECT_FALSE(run("reversed", {wrong}).ok());
  EXPECT_EQ(outputs[0].data.data(), data);
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{1, 2, 3, 4}));
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionRanks, testing::Values(1, 2));

} // namespace
} // namespace dist::test
