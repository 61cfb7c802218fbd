//===- etcd_journal_test.cpp - The journal, torn and damaged ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/journal.h"
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace dist;
using namespace dist::cluster;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class JournalTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/dist-journal-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/journal";
  }
  void TearDown() override {
    unlink(path.c_str());
    rmdir(folder.c_str());
  }
  /// The epochs in it, as the records' only content.
  Status open(std::vector<int64_t> *epochs) {
    epochs->clear();
    journal.reset();
    return Journal::open(
        path, JournalSync::Never,
        [&](const JournalRecord &record) {
          epochs->push_back(record.epoch());
          return Status();
        },
        &journal, &cut);
  }
  Status append(int64_t epoch) {
    JournalRecord record;
    record.set_epoch(epoch);
    return journal->append(record);
  }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string &text) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  /// One of three records, whose places are in `ends`.
  std::string makeThree(std::vector<size_t> *ends) {
    std::vector<int64_t> epochs;
    EXPECT_TRUE(open(&epochs).ok());
    ends->push_back(bytes().size());
    for (int64_t epoch : {1, 200, 30000}) {
      EXPECT_TRUE(append(epoch).ok());
      ends->push_back(bytes().size());
    }
    journal.reset();
    return bytes();
  }

  std::string folder, path;
  std::unique_ptr<Journal> journal;
  uint64_t cut = 0;
};

} // namespace

TEST_F(JournalTest, KeepsRecordsInOrder) {
  std::vector<int64_t> epochs;
  ASSERT_TRUE(open(&epochs).ok());
  for (int64_t epoch : {3, 1, 2})
    ASSERT_TRUE(append(epoch).ok());
  ASSERT_TRUE(open(&epochs).ok());
  EXPECT_THAT(epochs, ElementsAre(3, 1, 2));
  ASSERT_TRUE(append(4).ok());
  ASSERT_TRUE(open(&epochs).ok());
  EXPECT_THAT(epochs, ElementsAre(3, 1, 2, 4));
  EXPECT_EQ(cut, 0u);
}

/// Wherever a crash has cut it, whole records are there, and it goes on.
TEST_F(JournalTest, AnUnfinishedEndIsCutOff) {
  std::vector<size_t> ends;
  std::string whole = makeThree(&ends);
  for (size_t size = 0; size <= whole.size(); ++size)
    for (size_t zeros : {0, 40}) {
      write(whole.substr(0, size) + std::string(zeros, 0));
      std::vector<int64_t> epochs;
      Status status = open(&epochs);
      if (size < ends[0] && zeros > 0) {
        EXPECT_THAT(status.message(), HasSubstr("no journal")) << size;
        continue;
      }
      ASSERT_TRUE(status.ok()) << size << ": " << status.message();
      size_t count = 0;
      while (count + 1 < ends.size() && ends[count + 1] <= size)
        ++count;
      EXPECT_EQ(epochs.size(), count) << size;
      ASSERT_TRUE(append(7).ok());
      ASSERT_TRUE(open(&epochs).ok());
      ASSERT_EQ(epochs.size(), count + 1) << size;
      EXPECT_EQ(epochs.back(), 7);
    }
}

/// A disk writes blocks in any order: of the last record any may be missing.
TEST_F(JournalTest, AnEndWithHolesIsCutOff) {
  std::vector<size_t> ends;
  std::string whole = makeThree(&ends);
  for (size_t begin = ends[2]; begin < whole.size(); ++begin)
    for (size_t end = begin + 1; end <= whole.size(); ++end) {
      std::string torn = whole;
      std::fill(torn.begin() + begin, torn.begin() + end, 0);
      if (torn == whole)
        continue;
      write(torn);
      std::vector<int64_t> epochs;
      Status status = open(&epochs);
      ASSERT_TRUE(status.ok()) << begin << ": " << status.message();
      EXPECT_THAT(epochs, ElementsAre(1, 200)) << begin;
      ASSERT_TRUE(append(7).ok());
      ASSERT_TRUE(open(&epochs).ok());
      EXPECT_THAT(epochs, ElementsAre(1, 200, 7));
    }
}

/// A flipped bit never gives another record; before the last one it is an
/// error.
TEST_F(JournalTest, DamageIsFound) {
  std::vector<size_t> ends;
  std::string whole = makeThree(&ends);
  for (size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = char(damaged[at] ^ 1 << bit);
      write(damaged);
      std::vector<int64_t> epochs;
      Status status = open(&epochs);
      if (at >= ends[2]) {
        if (status.ok())
          EXPECT_LE(epochs.size(), 2u);
      } else {
        EXPECT_FALSE(status.ok()) << at;
      }
      std::vector<int64_t> sound = {1, 200, 30000};
      sound.resize(epochs.size());
      EXPECT_EQ(epochs, sound) << at;
    }
}

TEST_F(JournalTest, IsOneServersAlone) {
  std::vector<int64_t> epochs;
  ASSERT_TRUE(open(&epochs).ok());
  std::unique_ptr<Journal> second;
  uint64_t bytes = 0;
  Status status = Journal::open(
      path, JournalSync::Never, [](const JournalRecord &) { return Status(); },
      &second, &bytes);
  EXPECT_THAT(status.message(), HasSubstr("the journal is in use"));
  EXPECT_EQ(int(status.code()), int(StatusCode::Unavailable));
}

TEST_F(JournalTest, OtherFilesAreLeftAlone) {
  write("a letter to my aunt");
  std::vector<int64_t> epochs;
  EXPECT_THAT(open(&epochs).message(), HasSubstr("this is no journal"));
  EXPECT_EQ(bytes(), "a letter to my aunt");
  std::unique_ptr<Journal> other;
  uint64_t count = 0;
  EXPECT_FALSE(Journal::open(
                   folder, JournalSync::Never,
                   [](const JournalRecord &) { return Status(); }, &other,
                   &count)
                   .ok());
}

TEST_F(JournalTest, WhatDoesNotFitLeavesTheFileAsItWas) {
  std::vector<int64_t> epochs;
  ASSERT_TRUE(open(&epochs).ok());
  ASSERT_TRUE(append(1).ok());
  // The kernel says so by a signal, too, which the tools leave out.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {bytes().size() + 5, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = append(2);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(status.message(), HasSubstr("cannot write the journal"));
  ASSERT_TRUE(append(3).ok());
  ASSERT_TRUE(open(&epochs).ok());
  EXPECT_THAT(epochs, ElementsAre(1, 3));
}
