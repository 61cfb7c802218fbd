//===- checkpoint_test.cpp - Saved states -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/checkpoint_fixture.h"
#include "runtime/formats/safetensors.h"
#include <cmath>
#include <fstream>

using namespace dist;

namespace {

TEST_F(CheckpointTest, EveryRanksSliceComesBack) {
  FakeSession session(4, 4);
  session.state = {{1.5, 7, 10, 2, 0}, {1.5, 7, 30, 3, 0}};
  TrainingState state;
  state.step = 12;
  state.batch = 4;
  state.seed = ~uint64_t(0);
  state.epochLoss = 0.1 + 0.2;
  save(session, state);

  FakeSession other(4, 4);
  TrainingState read;
  bool found = false;
  Status status = load(other, &read, &found);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(found);
  EXPECT_EQ(other.state, session.state);
  EXPECT_EQ(read.step, 12);
  EXPECT_EQ(read.seed, ~uint64_t(0));
  EXPECT_EQ(read.epochLoss, 0.1 + 0.2);
  EXPECT_FALSE(read.pendingEpoch);
  EXPECT_TRUE(notes.empty());
}

// JSON has no such numbers; a state that holds them is as good as any.
TEST_F(CheckpointTest, NumbersThatAreNotFiniteComeBack) {
  for (double value : {double(NAN), double(INFINITY), double(-INFINITY)}) {
    FakeSession session(4, 4);
    TrainingState state;
    state.step = 3;
    state.epochLoss = value;
    state.pendingEpoch.emplace().values = {{"loss", value}, {"accuracy", 0.5}};
    save(session, state, FolderUse::Overwrite);
    FakeSession other(4, 4);
    TrainingState read;
    bool found = false;
    Status status = load(other, &read, &found);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(read.pendingEpoch);
    for (double got : {read.epochLoss, read.pendingEpoch->values[0].second})
      EXPECT_TRUE(got == value || (std::isnan(got) && std::isnan(value)));
    EXPECT_EQ(read.pendingEpoch->values[1].second, 0.5);
  }
}

TEST_F(CheckpointTest, OtherNumbersOfRanksGetTheReducedValue) {
  FakeSession two(4, 4);
  two.state = {{1.5, 7, 10, 2, 0}, {1.5, 7, 30, 3, 0}};
  save(two, {});
  FakeSession four(4, 4, 1, 4);
  TrainingState state;
  bool found;
  ASSERT_TRUE(load(four, &state, &found).ok());
  EXPECT_EQ(four.state[0][FakeSession::Total], 40);
  EXPECT_EQ(four.state[1][FakeSession::Total], 0);
  EXPECT_EQ(four.state[3][FakeSession::W], 1.5);
}

TEST_F(CheckpointTest, AnotherModelsStateIsRefused) {
  FakeSession session(4, 4);
  save(session, {});
  auto change = [](FakeSession &other) {
    return const_cast<manifest::Manifest &>(other.manifest())
        .mutable_variables(0);
  };
  FakeSession renamed(4, 4);
  change(renamed)->set_name("v");
  TrainingState state;
  bool found;
  Status status = load(renamed, &state, &found);
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("variable 'v' is missing"),
            std::string::npos);
  FakeSession shaped(4, 4);
  change(shaped)->mutable_global_type()->add_shape(3);
  EXPECT_NE(load(shaped, &state, &found).message().find("has shape"),
            std::string::npos);
  // A part of the saved model is another model, too.
  FakeSession part(4, 4);
  change(part)->set_name("optimizer/w/m");
  change(part)->set_group("slot");
  EXPECT_NE(load(part, &state, &found)
                .message()
                .find("variable 'w' is there, but not in this model"),
            std::string::npos);
}

// What training keeps beside the model may differ.
TEST_F(CheckpointTest, AnotherOptimizerBeginsAnew) {
  auto prepare = [](FakeSession &session, const char *optimizer,
                    const char *slot) {
    auto &description = const_cast<manifest::Manifest &>(session.manifest());
    (*description.mutable_options())["optimizer"] = optimizer;
    description.mutable_variables(FakeSession::Sum)->set_group("slot");
    description.mutable_variables(FakeSession::Sum)->set_name(slot);
  };
  FakeSession session(4, 4);
  prepare(session, "adam:lr=0.1", "optimizer/w/m");
  session.state = {{1.5, 7, 10, 2, 5}, {1.5, 7, 30, 3, 5}};
  save(session, {});
  TrainingState state;
  bool found;
  // The same with other keys goes on.
  FakeSession same(4, 4);
  prepare(same, "adam:lr=0.2", "optimizer/w/m");
  ASSERT_TRUE(load(same, &state, &found).ok());
  EXPECT_EQ(same.state, session.state);
  EXPECT_TRUE(notes.empty());
  // Another one does not take slots over, whatever their names are.
  FakeSession other(4, 4);
  prepare(other, "lamb", "optimizer/w/m");
  ASSERT_TRUE(load(other, &state, &found).ok());
  EXPECT_EQ(other.state[0], (FakeSession::Ranks{1.5, 0, 10, 2, 0}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("'adam' before, 'lamb' now"), std::string::npos);
}

TEST_F(CheckpointTest, OtherMetricsBeginAnew) {
  FakeSession session(4, 4);
  session.state = {{1.5, 7, 10, 2, 0}, {1.5, 7, 30, 3, 0}};
  save(session, {});
  FakeSession other(4, 4);
  const_cast<manifest::Manifest &>(other.manifest())
      .mutable_variables(FakeSession::Total)
      ->set_name("metric/auc/total");
  TrainingState state;
  bool found;
  ASSERT_TRUE(load(other, &state, &found).ok());
  EXPECT_EQ(other.state[0], (FakeSession::Ranks{1.5, 7, 0, 2, 0}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("metrics (metric/auc/total)"), std::string::npos);
}

TEST_F(CheckpointTest, AnotherAccumulationBeginsAnew) {
  FakeSession session(4, 4, 2);
  session.state = {{1.5, 3, 0, 0, 9}, {1.5, 3, 0, 0, 9}};
  TrainingState state;
  state.step = 7;
  save(session, state);
  bool found;
  FakeSession same(4, 4, 2);
  ASSERT_TRUE(load(same, &state, &found).ok());
  EXPECT_EQ(same.state, session.state);
  EXPECT_EQ(state.updatesFrom, 0);
  FakeSession other(4, 4, 3);
  ASSERT_TRUE(load(other, &state, &found).ok());
  EXPECT_EQ(other.state[0], (FakeSession::Ranks{1.5, 3, 0, 0, 0}));
  EXPECT_EQ(state.updatesFrom, 7);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("1 batches that were summed"), std::string::npos);
}

TEST_F(CheckpointTest, AChangedByteIsFound) {
  FakeSession session(4, 4);
  save(session, {});
  std::filesystem::path state = folder / "step-000000000000";
  for (const char *name :
       {"state.json", "index.json", "variables.safetensors"}) {
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
      if (load(other, &read, &found).ok()) {
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
  EXPECT_TRUE(load(other, &read, &found).ok());
  EXPECT_TRUE(found);
}

TEST_F(CheckpointTest, AFileInTheWayIsAnError) {
  std::ofstream(folder / "file") << "in the way";
  FakeSession session(4, 4);
  std::unique_ptr<CheckpointFolder> opened;
  EXPECT_EQ(CheckpointFolder::open(folder / "file", FolderUse::New, session,
                                   &opened, &notes)
                .code(),
            StatusCode::Unavailable);
}

TEST_F(CheckpointTest, VariablesByTheirModelNames) {
  FakeSession session(4, 4);
  session.state[0][FakeSession::W] = 2.5;
  ASSERT_TRUE(saveVariables(folder / "w.safetensors", session).ok());
  std::unique_ptr<SafetensorsFile> file;
  ASSERT_TRUE(SafetensorsFile::open(folder / "w.safetensors", &file).ok());
  ASSERT_EQ(file->tensors().size(), 1u); // No slots, no metrics.
  EXPECT_EQ(*static_cast<const float *>(file->find("w")->data), 2.5f);
}

} // namespace
