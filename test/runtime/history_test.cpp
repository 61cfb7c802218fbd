//===- history_test.cpp - Histories of runs that go on --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/writers.h"
#include "test/runtime/folder_test.h"
#include <cmath>
#include <csignal>
#include <fstream>
#include <sys/resource.h>

namespace dist::test {
namespace {

struct HistoryTest : FolderTest {
  static StepRow step(int64_t epoch, int64_t number) {
    StepRow row;
    row.epoch = epoch;
    row.step = number;
    return row;
  }
  static EpochRow epoch(int64_t number) {
    EpochRow row;
    row.epoch = number;
    return row;
  }
  /// "s1 s2 e1": the rows by kind and number.
  std::string rows() {
    std::ifstream file(path);
    std::string text;
    for (std::string line; std::getline(file, line);) {
      const bool isStep = line.find("\"step\":") != std::string::npos;
      const std::string key = isStep ? "\"step\":" : "\"epoch\":";
      const size_t at = line.find(key) + key.size();
      text += (text.empty() ? "" : " ") + std::string(isStep ? "s" : "e") +
              line.substr(at, line.find(',', at) - at);
    }
    return text;
  }
  std::string path;
  void SetUp() override {
    FolderTest::SetUp();
    path = folder / "h.jsonl";
  }
};

// --steps ends a run within an epoch, of which it tells; the run that goes on
// there tells of the whole: readers had the epoch twice.
TEST_F(HistoryTest, AnEpochThatGoesOnIsToldOnce) {
  {
    HistoryFile history;
    ASSERT_TRUE(history.open(path, 0).ok());
    ASSERT_TRUE(history.add(step(1, 1)).ok());
    ASSERT_TRUE(history.add(step(1, 2)).ok());
    ASSERT_TRUE(history.add(epoch(1)).ok());
    ASSERT_TRUE(history.add(step(2, 3)).ok());
    ASSERT_TRUE(history.add(epoch(2)).ok());
  }
  {
    // Until its first step that run's end is the state.
    HistoryFile history;
    ASSERT_TRUE(history.open(path, 3).ok());
  }
  EXPECT_EQ(rows(), "s1 s2 e1 s3 e2");
  HistoryFile history;
  ASSERT_TRUE(history.open(path, 3).ok());
  ASSERT_TRUE(history.add(step(2, 4)).ok());
  ASSERT_TRUE(history.add(epoch(2)).ok());
  ASSERT_TRUE(history.add(step(3, 5)).ok());
  EXPECT_EQ(rows(), "s1 s2 e1 s3 s4 e2 s5");
}

TEST_F(HistoryTest, AnEpochThatWasWholeStays) {
  {
    HistoryFile history;
    ASSERT_TRUE(history.open(path, 0).ok());
    ASSERT_TRUE(history.add(step(1, 1)).ok());
    ASSERT_TRUE(history.add(epoch(1)).ok());
    ASSERT_TRUE(history.add(step(2, 2)).ok());
  }
  HistoryFile history;
  ASSERT_TRUE(history.open(path, 1).ok());
  ASSERT_TRUE(history.add(step(2, 2)).ok());
  EXPECT_EQ(rows(), "s1 e1 s2");
}

// A picture of a run that went on would begin with its last part.
TEST_F(HistoryTest, WhatIsKeptIsToldWithItsOrder) {
  {
    HistoryFile history;
    ASSERT_TRUE(history.open(path, 0).ok());
    StepRow first = step(1, 1), second = step(1, 2);
    first.loss = 0.25F;
    second.loss = NAN;
    EpochRow mean = epoch(1);
    mean.values = {{"loss", 0.5}, {"accuracy", 0.75}, {"val_loss", NAN}};
    mean.exposedSeconds = 1;
    ASSERT_TRUE(history.add(first).ok());
    ASSERT_TRUE(history.add(second).ok());
    ASSERT_TRUE(history.add(mean).ok());
    ASSERT_TRUE(history.add(step(2, 3)).ok());
  }
  std::ofstream(path, std::ios::app) << "[1]\n";
  HistoryFile history;
  ToldRows told;
  ASSERT_TRUE(history.open(path, 2, &told).ok());
  ASSERT_EQ(told.steps.size(), 2u);
  EXPECT_EQ(told.steps[0].step, 1);
  EXPECT_EQ(told.steps[0].loss, 0.25F);
  EXPECT_TRUE(std::isnan(told.steps[1].loss));
  ASSERT_EQ(told.epochs.size(), 1u);
  const auto &values = told.epochs[0].values;
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].first, "loss");
  EXPECT_EQ(values[1], std::make_pair(std::string("accuracy"), 0.75));
  EXPECT_TRUE(std::isnan(values[2].second));
}

// A line that finds no room leaves no half of itself: what follows once there
// is some would be lost with it.
TEST_F(HistoryTest, ALineWithoutRoomIsLeftOutAsAWhole) {
  HistoryFile history;
  ASSERT_TRUE(history.open(path, 0).ok());
  ASSERT_TRUE(history.add(step(1, 1)).ok());
  const uintmax_t whole = std::filesystem::file_size(path);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = whole + whole / 2;
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_FALSE(history.add(step(1, 2)).ok());
  EXPECT_EQ(std::filesystem::file_size(path), whole);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(history.add(step(1, 3)).ok());
  EXPECT_EQ(rows(), "s1 s3");
}

} // namespace
} // namespace dist::test
