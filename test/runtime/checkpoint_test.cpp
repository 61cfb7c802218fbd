//===- checkpoint_test.cpp - Saved states -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/folder_test.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/formats/safetensors.h"
#include "test/runtime/fake_session.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace dist;

namespace {

struct CheckpointTest : FolderTest {
  static Status load(const std::string &path, Session &session,
                     TrainingState *state, bool *found) {
    std::vector<std::string> notes;
    return loadCheckpoint(path, session, state, found, &notes);
  }
};

TEST_F(CheckpointTest, EveryRanksSliceComesBack) {
  FakeSession session(4, 4);
  session.state = {{1.5, 7, 10, 2, 0}, {1.5, 7, 30, 3, 0}};
  TrainingState state;
  state.step = 12;
  state.batch = 4;
  state.seed = ~uint64_t(0);
  state.epochLoss = 0.1 + 0.2;
  ASSERT_TRUE(saveCheckpoint(folder, 3, session, state).ok());

  FakeSession other(4, 4);
  TrainingState read;
  bool found = false;
  Status status = load(folder, other, &read, &found);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(found);
  EXPECT_EQ(other.state, session.state);
  EXPECT_EQ(read.step, 12);
  EXPECT_EQ(read.seed, ~uint64_t(0));
  EXPECT_EQ(read.epochLoss, 0.1 + 0.2);
}

TEST_F(CheckpointTest, OtherNumbersOfRanksGetTheReducedValue) {
  FakeSession two(4, 4);
  two.state = {{1.5, 7, 10, 2, 0}, {1.5, 7, 30, 3, 0}};
  ASSERT_TRUE(saveCheckpoint(folder, 3, two, {}).ok());
  FakeSession four(4, 4, 1, 4);
  TrainingState state;
  bool found;
  ASSERT_TRUE(load(folder, four, &state, &found).ok());
  EXPECT_EQ(four.state[0][FakeSession::Total], 40);
  EXPECT_EQ(four.state[1][FakeSession::Total], 0);
  EXPECT_EQ(four.state[3][FakeSession::W], 1.5);
}

TEST_F(CheckpointTest, OldStatesAndRemainsOfKillsGo) {
  FakeSession session(4, 4);
  std::filesystem::create_directories(folder / ".saving-1");
  for (int64_t step : {1, 2, 3, 4, 10}) {
    TrainingState state;
    state.step = step;
    ASSERT_TRUE(saveCheckpoint(folder, 2, session, state).ok());
  }
  std::vector<std::string> names;
  for (auto &item : std::filesystem::directory_iterator(folder))
    names.push_back(item.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-000000000004",
                                             "step-000000000010"}));
}

TEST_F(CheckpointTest, AnotherProgramsStateIsRefused) {
  FakeSession session(4, 4);
  ASSERT_TRUE(saveCheckpoint(folder, 2, session, {}).ok());
  FakeSession other(4, 4);
  auto &description = const_cast<manifest::Manifest &>(other.manifest());
  description.mutable_variables(0)->set_name("v");
  TrainingState state;
  bool found;
  Status status = load(folder, other, &state, &found);
  EXPECT_NE(status.message().find("variable 'v' is missing"),
            std::string::npos);
  description.mutable_variables(0)->set_name("w");
  description.mutable_variables(0)->mutable_global_type()->add_shape(3);
  status = load(folder, other, &state, &found);
  EXPECT_NE(status.message().find("has shape"), std::string::npos);
}

TEST_F(CheckpointTest, AChangedByteIsFound) {
  FakeSession session(4, 4);
  ASSERT_TRUE(saveCheckpoint(folder, 2, session, {}).ok());
  std::filesystem::path state = folder / "step-000000000000";
  for (const char *name : {"state.json", "variables.safetensors"}) {
    size_t size = std::filesystem::file_size(state / name);
    for (size_t at = 0; at < size; at += 7) {
      std::fstream file(state / name,
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      int old = file.get();
      file.seekp(at);
      file.put(char(old ^ 4));
      file.close();
      FakeSession other(4, 4);
      TrainingState read;
      bool found;
      // White space of the JSON file is all that may change unseen.
      if (load(folder, other, &read, &found).ok()) {
        EXPECT_EQ(other.state, session.state) << name << " byte " << at;
      }
      std::fstream repair(state / name,
                          std::ios::in | std::ios::out | std::ios::binary);
      repair.seekp(at);
      repair.put(char(old));
    }
  }
  FakeSession other(4, 4);
  TrainingState read;
  bool found = false;
  EXPECT_TRUE(load(folder, other, &read, &found).ok());
  EXPECT_TRUE(found);
}

TEST_F(CheckpointTest, AFileInTheWayIsAnError) {
  FakeSession session(4, 4);
  std::ofstream(folder / "file") << "in the way";
  Status status = saveCheckpoint(folder / "file", 2, session, {});
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
}

TEST_F(CheckpointTest, VariablesByTheirModelNames) {
  FakeSession session(4, 4);
  session.state[0][FakeSession::W] = 2.5;
  ASSERT_TRUE(saveVariables(folder / "w.safetensors", session).ok());
  std::unique_ptr<SafetensorsFile> file;
  ASSERT_TRUE(SafetensorsFile::map(folder / "w.safetensors", &file).ok());
  ASSERT_EQ(file->tensors().size(), 1u); // No slots, no metrics.
  EXPECT_EQ(*static_cast<const float *>(file->find("w")->data), 2.5f);
}

} // namespace
