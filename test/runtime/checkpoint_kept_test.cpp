//===- checkpoint_kept_test.cpp - States that processes keep in memory ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/kept_states.h"
#include "test/runtime/checkpoint_processes_fixture.h"

namespace dist::test {
namespace {

/// What each process keeps at a step.
std::vector<Status> keep(SavedRun &run, std::vector<KeptStates> &kept,
                         int64_t step) {
  return run.processes.onAll([&, step](int process, Session &own) {
    TrainingState state;
    state.step = step;
    return kept[process].keep(own, state);
  });
}

constexpr int64_t kNothing = -2;

/// Of a run of other processes, each of which has its folder of `parent`; the
/// step, -1 where what they have is not all of one, or `kNothing`.
int64_t loadAll(SavedRun &run, const fs::path &parent) {
  std::vector<int64_t> steps(run.processes.sessions.size());
  expectOk(run.processes.onAll([&](int process, Session &own) {
    TrainingState state;
    Kept found = Kept::Nothing;
    std::vector<std::string> notes;
    DIST_RETURN_IF_ERROR(loadKept(parent / std::to_string(process), own, &state,
                                  &found, &notes));
    EXPECT_TRUE(notes.empty());
    steps[process] = found == Kept::Whole  ? state.step
                     : found == Kept::Part ? -1
                                           : kNothing;
    return Status();
  }));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), steps[0]),
            std::ptrdiff_t(steps.size()));
  return steps[0];
}

TEST_F(CheckpointProcesses, TheNewestThatAllKeptIsTakenUp) {
  fs::path parent = folder / "kept";
  std::vector<KeptStates> kept(1);
  {
    SavedRun run;
    open(run, {0, 0});
    for (int step : {4, 5, 6}) {
      fill(run, step == 5 ? 0 : 100 * step);
      expectOk(keep(run, kept, step));
      EXPECT_EQ(kept[0].step(), step);
    }
  }
  // The sessions are gone. Two are kept, the older of which all have.
  ASSERT_TRUE(kept[0].write(parent / "0").ok());
  EXPECT_TRUE(kept[0].empty());
  EXPECT_EQ(namesIn(parent / "0"), (Names{kStep5, kStep6}));
  fs::copy(parent / "0", parent / "1", fs::copy_options::recursive);
  fs::remove_all(parent / "1" / kStep6);
  for (const std::vector<int> &after :
       std::vector<std::vector<int>>{{0, 1}, {1, 0}, {0, 0, 1, 1}}) {
    SavedRun run;
    open(run, after);
    EXPECT_EQ(loadAll(run, parent), 5);
    EXPECT_EQ(valueOf(run, Table), kTable);
    EXPECT_EQ(valueOf(run, Seen)[0], 7);
    EXPECT_EQ(valueOf(run, Moving), (std::vector<float>{.5, 1}));
  }
  // Who has none, as one that has just come, gets that of the first.
  fs::remove_all(parent / "1");
  SavedRun two;
  open(two, {0, 1});
  EXPECT_EQ(loadAll(two, parent), 6);
  EXPECT_EQ(valueOf(two, Table)[9], 609);
  EXPECT_EQ(namesIn(parent / "1"), Names{kStep6});
  // Whichever process has it gives it; what was handed over by half is no
  // state.
  const fs::path half = parent / "0" / (std::string(kStep6) + ".half");
  fs::rename(parent / "0" / kStep6, half);
  fs::remove_all(parent / "0" / kStep5);
  fs::remove(half / "state.json");
  EXPECT_EQ(loadAll(two, parent), 6);
  EXPECT_EQ(valueOf(two, Table)[9], 609);
  EXPECT_EQ(namesIn(parent / "0"), Names{kStep6});
  SavedRun one;
  open(one, {0});
  EXPECT_EQ(loadAll(one, parent), 6);
  EXPECT_EQ(valueOf(one, Table)[0], 600);
}

/// Where the first place has no room for all of it the rest goes elsewhere.
TEST_F(CheckpointProcesses, WhatCouldNotBeWrittenIsStillKept) {
  fs::path parent = folder / "kept";
  std::vector<KeptStates> kept(1);
  {
    SavedRun run;
    open(run, {0});
    for (int step : {5, 6}) {
      fill(run, 100 * step);
      expectOk(keep(run, kept, step));
    }
  }
  // When the index is to be there, all values are.
  for (const char *blocked : {"variables.safetensors", "index.json"}) {
    fs::create_directories(parent / "full" / kStep6 / blocked / "x");
    EXPECT_FALSE(kept[0].write(parent / "full").ok());
    EXPECT_EQ(namesIn(parent / "full"), Names{kStep5});
    EXPECT_EQ(kept[0].step(), 6);
  }
  ASSERT_TRUE(kept[0].write(parent / "0").ok());
  EXPECT_TRUE(kept[0].empty());
  EXPECT_EQ(namesIn(parent / "0"), Names{kStep6});
  SavedRun one;
  open(one, {0});
  EXPECT_EQ(loadAll(one, parent), 6);
  EXPECT_EQ(valueOf(one, Table)[9], 609);
}

/// Who cannot take what it is given is lost to the others, as if it had ended:
/// they do not fail by its error.
TEST_F(CheckpointProcesses, WhoHasNoRoomForAStateFailsAlone) {
  fs::path parent = folder / "kept";
  std::vector<KeptStates> kept(1);
  {
    SavedRun run;
    open(run, {0});
    fill(run);
    expectOk(keep(run, kept, 5));
  }
  ASSERT_TRUE(kept[0].write(parent / "0").ok());
  ASSERT_TRUE(writeFile(parent / "1", "").ok()); // where its folder is to be
  SavedRun two;
  two.processes.timeout = 1;
  open(two, {0, 1});
  std::vector<Status> all = two.processes.onAll([&](int process, Session &own) {
    TrainingState state;
    Kept found = Kept::Nothing;
    std::vector<std::string> notes;
    return loadKept(parent / std::to_string(process), own, &state, &found,
                    &notes);
  });
  EXPECT_EQ(all[0].code(), StatusCode::Unavailable);
  EXPECT_EQ(all[0].message().find("cannot make folder"), std::string::npos)
      << all[0].message();
  EXPECT_NE(all[1].message().find("cannot make folder"), std::string::npos)
      << all[1].message();
}

TEST_F(CheckpointProcesses, WhatIsNotWholeInMemoryIsNotTakenUp) {
  fs::path parent = folder / "kept";
  std::vector<KeptStates> kept(2);
  {
    SavedRun run;
    open(run, {0, 1}); // half of the table each
    fill(run);
    expectOk(keep(run, kept, 5));
  }
  ASSERT_TRUE(kept[0].write(parent / "0").ok());
  SavedRun one;
  open(one, {0});
  EXPECT_EQ(loadAll(one, parent), -1);
  // And no state at all.
  EXPECT_EQ(loadAll(one, folder / "nowhere"), kNothing);
}

} // namespace
} // namespace dist::test
