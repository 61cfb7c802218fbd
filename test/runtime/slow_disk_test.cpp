//===- slow_disk_test.cpp - Files that take longer than a deadline --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/checkpoint_processes_fixture.h"
#include "test/runtime/passing_files.h"

namespace dist::test {
namespace {

using namespace std::chrono_literals;

constexpr double kTimeout = 0.5; // of collectives
constexpr auto kStall = 1500ms;

/// The system's files; one call of one thread takes long.
class SlowFiles final : public PassingFiles {
public:
  enum class Call { None, Sync, List };
  /// The next such call of this thread.
  static void slow(Call call) { next = call; }
  std::atomic<int> stalls{0};

  int sync(int file) override {
    stall(Call::Sync);
    return PassingFiles::sync(file);
  }
  std::vector<std::string> list(const std::string &folder) override {
    stall(Call::List);
    return PassingFiles::list(folder);
  }

private:
  void stall(Call call) {
    if (next != call)
      return;
    next = Call::None;
    ++stalls;
    std::this_thread::sleep_for(kStall);
  }

  static thread_local Call next;
};
thread_local SlowFiles::Call SlowFiles::next = SlowFiles::Call::None;
using Call = SlowFiles::Call;

/// Two processes, one of which has a disk that stalls.
struct SlowDisk : CheckpointProcesses {
  SlowFiles files;
  SavedRun run;

  void SetUp() override {
    CheckpointProcesses::SetUp();
    run.processes.timeout = kTimeout;
    open(run, {0, 1});
    expectOk(begin(run, FolderUse::New));
    fill(run);
  }
  /// As all do `job`, with a slow call in one of them.
  template <typename Job> void expectOkWith(int slow, Call call, Job job) {
    files.stalls = 0;
    expectOk(run.processes.onAll([&](int process, Session &own) {
      if (process == slow)
        SlowFiles::slow(call);
      return job(process, own);
    }));
    EXPECT_EQ(files.stalls, 1);
  }
  static TrainingState at(int64_t step) {
    TrainingState state;
    state.step = step;
    return state;
  }
};

TEST_F(SlowDisk, ASaveIsWaitedFor) {
  for (int slow : {0, 1})
    expectOkWith(slow, Call::Sync, [&](int process, Session &own) {
      return run.folders[process]->save(3, own, at(5 + slow));
    });
  EXPECT_TRUE(fs::exists(states / kStep5));
  EXPECT_TRUE(fs::exists(states / kStep6));
}

/// What was written beside the training the chief makes a state while the
/// others wait.
TEST_F(SlowDisk, SoIsTheEndOfOneBesideTraining) {
  expectOkWith(0, Call::Sync, [&](int process, Session &own) {
    CheckpointFolder &states = *run.folders[process];
    Status failure;
    DIST_RETURN_IF_ERROR(states.beginSave(own, at(5), /*beside=*/true));
    while (!states.isWritten())
      std::this_thread::sleep_for(1ms);
    DIST_RETURN_IF_ERROR(states.finishSave(3, own, &failure));
    return failure;
  });
  EXPECT_TRUE(fs::exists(states / kStep5));
}

TEST_F(SlowDisk, SoIsAResume) {
  expectOk(save(run, 5));
  expectOkWith(0, Call::List, [&](int process, Session &own) {
    TrainingState state;
    bool found = false;
    return run.folders[process]->load(own, &state, &found, &run.notes[process]);
  });
}

TEST_F(SlowDisk, SoIsWhatTheChiefWrites) {
  expectOkWith(0, Call::Sync, [&](int, Session &own) {
    return saveVariables(folder / "w.safetensors", own);
  });
  EXPECT_TRUE(fs::exists(folder / "w.safetensors"));
}

/// It answers, and is at no work.
TEST_F(SlowDisk, OneThatDoesNotComeIsFoundAsEver) {
  std::atomic<bool> isOver{false};
  std::vector<Status> statuses =
      run.processes.onAll([&](int process, Session &own) {
        while (process == 1 && !isOver)
          std::this_thread::sleep_for(1ms);
        Status status =
            process == 0 ? run.folders[0]->save(3, own, at(5)) : Status();
        isOver = true;
        return status;
      });
  EXPECT_EQ(statuses[0].code(), StatusCode::Unavailable);
  EXPECT_NE(statuses[0].message().find("rank 1 did not arrive within 0.5 s"),
            std::string::npos)
      << statuses[0].message();
}

} // namespace
} // namespace dist::test
