//===- replaced_folders_test.cpp - Names given at once ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file.h"
#include "test/runtime/files_fixture.h"
#include <atomic>
#include <thread>

using namespace dist;

namespace {

// Several processes that compile one model at once give their packages the same
// name, while others load it.
TEST_F(FilesTest, OfFoldersThatAreOfferedTheFirstIsTakenAndNoneIsLost) {
  constexpr int kRounds = 100, kThreads = 4;
  std::atomic<int> taken{0}, failed{0}, missing{0};
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = std::to_string(round), to = folder / ("to" + name);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        const std::string from = "from" + name + "-" + std::to_string(thread);
        put(from + "/file", "good");
        auto isGood = [&] { return contents(to + "/file") == "good"; };
        bool isTaken = false;
        failed += !offerFolder(folder / from, to, isGood,
                               folder / (from + ".old"), &isTaken)
                       .ok();
        taken += isTaken;
        missing += !isGood();
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  EXPECT_EQ(taken, kRounds);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(missing, 0);
}

TEST_F(FilesTest, AFolderThatIsNotGoodGivesWayToTheOneOffered) {
  put("from/file", "good");
  put("to/file", "bad");
  const std::string to = folder / "to", aside = folder / "aside";
  bool taken = false;
  ASSERT_TRUE(offerFolder(
                  folder / "from", to,
                  [&] { return contents(to + "/file") == "good"; }, aside,
                  &taken)
                  .ok());
  EXPECT_TRUE(taken);
  EXPECT_EQ(contents(to + "/file"), "good");
  EXPECT_EQ(contents(aside + "/file"), "bad");
  // One that is not there is an error that names it.
  Status status = offerFolder(
      folder / "none", folder / "new", [] { return true; }, aside, &taken);
  EXPECT_FALSE(taken);
  EXPECT_NE(status.message().find("cannot rename folder"), std::string::npos);
  EXPECT_NE(status.message().find("new"), std::string::npos);
}

// Two runs that end at once, and write their models to one name.
TEST_F(FilesTest, OfFoldersThatReplaceOneAtOnceNoneFails) {
  constexpr int kRounds = 100, kThreads = 4;
  std::atomic<int> failed{0};
  int missing = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = std::to_string(round), to = folder / ("to" + name);
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        const std::string from = "from" + name + "-" + std::to_string(thread);
        put(from + "/file", "good");
        for (++ready; ready < kThreads;)
          std::this_thread::yield();
        failed += !replaceFolder(folder / from, to).ok();
      });
    for (std::thread &thread : threads)
      thread.join();
    missing += contents(to + "/file") != "good";
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(missing, 0);
}

TEST_F(FilesTest, AFolderTakesThePlaceOfAnother) {
  put("from/file", "new");
  put("to/file", "old");
  ASSERT_TRUE(replaceFolder(folder / "from", folder / "to").ok());
  EXPECT_EQ(contents(folder / "to/file"), "new");
  EXPECT_EQ(contents(folder / "from/file"), "old");
  ASSERT_TRUE(replaceFolder(folder / "from", folder / "third").ok());
  EXPECT_EQ(contents(folder / "third/file"), "old");
  // Neither at once nor by two steps: all is where it was.
  put("third/inner/file", "kept");
  Status status = replaceFolder(folder / "third", folder / "third/inner");
  EXPECT_NE(status.message().find("cannot rename folder"), std::string::npos);
  EXPECT_EQ(contents(folder / "third/inner/file"), "kept");
  EXPECT_EQ(contents(folder / "third/file"), "old");
}

} // namespace
