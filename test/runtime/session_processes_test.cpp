//===- session_processes_test.cpp - Sessions of parts of a mesh -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/processes_fixture.h"

namespace dist::test {
namespace {

class SessionProcesses : public SessionTest,
                         public testing::WithParamInterface<Between> {
protected:
  Processes processes{GetParam()};

  /// Two ranks, of two processes. The whole mesh in `session`, too.
  void openTwo() {
    openRanks(2);
    Status status = processes.open(folder, m, {0, 1});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// Each process's half of what `step` takes.
  static std::vector<TensorView> halfOf(int process, float first = 1) {
    static float memory[2][9];
    static const float scale = 2;
    float *x = memory[process] + 1;
    for (int i = 0; i < 4; ++i)
      x[i] = 4 * process + i + 1;
    if (process == 0)
      x[0] = first;
    return {{manifest::F32, {2, 2}, x}, {manifest::F32, {}, &scale}};
  }
};

TEST_P(SessionProcesses, TakeAndGiveTheirWindows) {
  openTwo();
  std::vector<std::vector<Tensor>> results(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(step().ok());
    expectOk(processes.onAll([&](int process, Session &own) {
      return own.run(*own.findEntry("train_step"), halfOf(process),
                     &results[process]);
    }));
  }
  std::vector<float> y = floats(outputs[0]);
  for (int process : {0, 1}) {
    Session &own = *processes.sessions[process];
    const manifest::Entry &entry = *own.findEntry("train_step");
    EXPECT_EQ(own.localRanks(), std::vector<int>{process});
    EXPECT_EQ(own.inputWindow(entry, 0).start, (Shape{2 * process, 0}));
    EXPECT_EQ(own.inputWindow(entry, 0).shape, (Shape{2, 2}));
    EXPECT_EQ(own.inputWindow(entry, 1).shape, Shape{});
    EXPECT_EQ(own.outputWindow(entry, 0).start, (Shape{2 * process}));
    EXPECT_EQ(results[process][0].shape, (Shape{2}));
    EXPECT_EQ(floats(results[process][0]),
              std::vector<float>(y.begin() + 2 * process,
                                 y.begin() + 2 * process + 2));
    // The loss, and what is a partial sum on each rank.
    EXPECT_EQ(floats(results[process][1]), floats(outputs[1]));
    EXPECT_EQ(floats(results[process][2]), floats(outputs[2]));
  }
}

// An entry in which no rank meets others is no step that all count.
TEST_P(SessionProcesses, RunAloneWhatMeetsNobody) {
  openTwo();
  std::vector<Tensor> results[2], prediction;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(step().ok());
    expectOk(processes.onAll([&](int process, Session &own) {
      if (process == 1)
        DIST_RETURN_IF_ERROR(
            own.run(*own.findEntry("predict"), {}, &prediction));
      return own.run(*own.findEntry("train_step"), halfOf(process),
                     &results[process]);
    }));
  }
  for (const auto &one : results)
    EXPECT_EQ(floats(one[1]), floats(outputs[1]));
}

TEST_P(SessionProcesses, ReadVariablesTogether) {
  openTwo();
  std::vector<Tensor> results[2];
  ASSERT_TRUE(step().ok());
  float three[] = {3, 4};
  ASSERT_TRUE(session->writeSlice(2, 1, {manifest::F32, {1, 2}, three}).ok());
  expectOk(processes.onAll([&](int process, Session &own) {
    Status status = own.run(*own.findEntry("train_step"), halfOf(process),
                            &results[process]);
    if (status.ok() && process == 1)
      status = own.writeSlice(2, 1, {manifest::F32, {1, 2}, three});
    return status;
  }));
  for (int variable : {0, 1, 2}) {
    Tensor values[2];
    expectOk(processes.onAll([&](int process, Session &own) {
      return own.readVariable(variable, &values[process]);
    }));
    for (const Tensor &value : values)
      EXPECT_EQ(floats(value), read(variable));
  }
  // A slice is its rank's process's.
  Tensor slice;
  EXPECT_TRUE(processes.sessions[1]->readSlice(0, 1, &slice).ok());
  Status status = processes.sessions[1]->readSlice(0, 0, &slice);
  EXPECT_NE(status.message().find("rank 0 is of another process"),
            std::string::npos)
      << status.message();
  // Each writes its own part of a value.
  float w[] = {5, 6};
  expectOk(processes.onAll([&](int, Session &own) {
    DIST_RETURN_IF_ERROR(own.writeVariable(0, {manifest::F32, {2}, w}));
    DIST_RETURN_IF_ERROR(own.writeVariable(1, {manifest::F32, {}, w}));
    Tensor value;
    DIST_RETURN_IF_ERROR(own.readVariable(0, &value));
    EXPECT_EQ(floats(value), (std::vector<float>{5, 6}));
    DIST_RETURN_IF_ERROR(own.readVariable(1, &value));
    EXPECT_EQ(floats(value), std::vector<float>{5});
    return Status();
  }));
}

// One that stops stops all, at the same call.
TEST_P(SessionProcesses, GoOnTogether) {
  openTwo();
  size_t done[2] = {};
  std::vector<Tensor> results[2][4];
  expectOk(processes.onAll([&](int process, Session &own) {
    std::vector<TensorView> inputs = halfOf(process);
    std::vector<StepCall> calls;
    for (std::vector<Tensor> &result : results[process])
      calls.push_back({own.findEntry("train_step"), &inputs, &result});
    return own.runSteps(
        calls, [&](size_t i) { return process == 0 || i < 1; }, &done[process]);
  }));
  EXPECT_EQ(done[0], 2u);
  EXPECT_EQ(done[1], 2u);
  EXPECT_EQ(results[0][2].front().data.size(), 8u);
}

TEST_P(SessionProcesses, FailuresEndTheGeneration) {
  openTwo();
  std::vector<Tensor> results[2];
  auto run = [&](float first) {
    return processes.onAll([&](int process, Session &own) {
      return own.run(*own.findEntry("train_step"), halfOf(process, first),
                     &results[process]);
    });
  };
  std::vector<Status> failed = run(999);
  EXPECT_EQ(failed[0].code(), StatusCode::InvalidInput);
  EXPECT_NE(failed[1].message().find("a label is out of range"),
            std::string::npos)
      << failed[1].message();
  for (const Status &status : run(1))
    EXPECT_EQ(status.code(), StatusCode::Unavailable) << status.message();
  EXPECT_EQ(processes.sessions[0]->rebuild(nullptr).code(),
            StatusCode::InvalidArgument);
  EXPECT_EQ(session->rebuild(processes.worlds[0]).code(),
            StatusCode::InvalidArgument);
  auto next = Processes::makeWorlds(m, {0, 1}, GetParam());
  expectOk(processes.onAll([&](int process, Session &own) {
    DIST_RETURN_IF_ERROR(own.rebuild(next[process]));
    return own.resetVariables();
  }));
  expectOk(run(1));
  ASSERT_TRUE(step().ok());
  EXPECT_EQ(floats(results[1][1]), floats(outputs[1]));
}

// A value that one asked for and the other did not: its next exchange would
// meet this one's rest.
TEST_P(SessionProcesses, ReadingAloneEndsTheGeneration) {
  openTwo();
  Session &lonely = *processes.sessions[1]; // who takes what the other has
  auto impatient = Processes::makeWorlds(m, {0, 1}, GetParam(), 0.05);
  ASSERT_TRUE(lonely.rebuild(impatient[1]).ok());
  Tensor value;
  // What fails before anything is exchanged ends nothing.
  EXPECT_EQ(lonely.readVariable(99, &value).code(),
            StatusCode::InvalidArgument);
  Status alone = lonely.readVariable(0, &value);
  EXPECT_EQ(alone.message().find("the generation"), std::string::npos);
  EXPECT_EQ(alone.code(), StatusCode::Unavailable) << alone.message();
  Status after = lonely.readVariable(0, &value);
  EXPECT_EQ(after.code(), StatusCode::Unavailable);
  EXPECT_NE(after.message().find("the generation"), std::string::npos)
      << after.message();
}

TEST_P(SessionProcesses, RefuseWrongPlacements) {
  describe(2);
  ASSERT_TRUE(open().ok());
  auto refusal = [&](std::vector<RankPlacement> ranks, int process = 0) {
    SessionOptions options;
    options.world = Processes::makeWorlds(m, {0, 0}, GetParam())[0];
    options.placement.emplace();
    options.process = process;
    Status status = Placement::create(std::move(ranks), &*options.placement);
    std::unique_ptr<Session> own;
    if (status.ok())
      status = Session::open(folder, options, &own);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  EXPECT_NE(refusal({}).find("there is no rank"), std::string::npos);
  EXPECT_NE(refusal({{0, 0, 0, 0}, {0, 0, 0, 0}})
                .find("device 0 of process 0 is another rank's already"),
            std::string::npos);
  EXPECT_NE(refusal({{0, 0, 0, 0}, {2, 0, 0, 0}}).find("has no rank"),
            std::string::npos);
  EXPECT_NE(refusal({{0, 0, 0, 0}, {0, 1, 1, 0}}).find("is on two hosts"),
            std::string::npos);
  EXPECT_NE(refusal({{0, 0, 0, 0}, {1, 1, 0, 0}}).find("domain 0"),
            std::string::npos);
  EXPECT_NE(refusal({{0, 0, 0, 0}, {-1, 0, 0, 0}}).find("negative"),
            std::string::npos);
  EXPECT_NE(refusal({{0, 0, 0, 0}}).find("it is for 2 ranks"),
            std::string::npos);
  EXPECT_NE(
      refusal({{0, 0, 0, 0}, {1, 0, 0, 0}}, 2).find("no rank is placed in it"),
      std::string::npos);
  // Memory of another domain.
  m.set_shares_memory(true);
  ASSERT_TRUE(open().ok());
  EXPECT_NE(
      refusal({{0, 0, 0, 0}, {1, 0, 0, 1}}).find("read each other's memory"),
      std::string::npos);
  // Without a world it reaches itself alone.
  SessionOptions options;
  options.placement.emplace();
  ASSERT_TRUE(
      Placement::create({{0, 0, 0, 0}, {1, 0, 0, 0}}, &*options.placement)
          .ok());
  std::unique_ptr<Session> own;
  Status status = Session::open(folder, options, &own);
  EXPECT_NE(status.message().find("do not reach all ranks"), std::string::npos)
      << status.message();
}

// A package says which processes it is for; it runs in one as well.
TEST(Placement, IsWhatThePackageSays) {
  manifest::Manifest m;
  m.set_ranks(4);
  Placement placement;
  ASSERT_TRUE(Placement::ofPackage(m, {}, &placement).ok());
  EXPECT_EQ(placement.ranksOf(0), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(placement.isOneDomain());
  // Stages, which are the mesh's major axis, over the devices of each process.
  for (int process : {0, 1, 0, 1})
    m.add_process_of_rank(process);
  ASSERT_TRUE(Placement::ofPackage(m, {}, &placement).ok());
  EXPECT_EQ(placement.processes(), 2);
  EXPECT_EQ(placement.ranksOf(1), (std::vector<int>{1, 3}));
  EXPECT_EQ(placement.of(3).device, 1);
  EXPECT_EQ(placement.of(3).host, 1);
  EXPECT_EQ(placement.of(3).domain, 1);
  EXPECT_FALSE(placement.isOneDomain());
  ASSERT_TRUE(Placement::ofPackage(m, {7, 7}, &placement).ok());
  EXPECT_EQ(placement.of(0).host, 7);
  EXPECT_EQ(placement.of(1).host, 7);
  EXPECT_EQ(placement.of(1).domain, 1);
  Status status = Placement::ofPackage(m, {0}, &placement);
  EXPECT_NE(status.message().find("process 1 has no host"), std::string::npos)
      << status.message();
}

INSTANTIATE_TEST_SUITE_P(Between, SessionProcesses,
                         testing::Values(Between::Memory, Between::Messages),
                         nameOf);

} // namespace
} // namespace dist::test
