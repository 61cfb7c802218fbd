//===- checkpoint_takeover_test.cpp - Folders taken over -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file.h"
#include "test/runtime/checkpoint_fixture.h"
#include <fstream>

using namespace dist;
using Names = std::vector<std::string>;

namespace {

struct TakeOverTest : CheckpointTest {
  FakeSession session{4, 4};

  static FolderClaim takingOver(FolderUse use) {
    FolderClaim claim(use);
    claim.takesOver = true;
    return claim;
  }
  std::unique_ptr<CheckpointFolder> takeOver(FolderUse use) {
    return begin(session, takingOver(use));
  }
  /// By one that does not begin; null with an error of the test's.
  std::unique_ptr<CheckpointFolder> open(const FolderClaim &claim) {
    std::unique_ptr<CheckpointFolder> opened;
    Status status =
        CheckpointFolder::open(folder, claim, session, &opened, &notes);
    EXPECT_TRUE(status.ok()) << status.message();
    return opened;
  }
  /// Why a run that has begun here does not go on; empty where it does.
  std::string refusalOf(const std::string &run) {
    FolderClaim claim = takingOver(FolderUse::Resume);
    claim.run = run;
    std::unique_ptr<CheckpointFolder> opened;
    Status status =
        CheckpointFolder::open(folder, claim, session, &opened, &notes);
    if (status.ok())
      status = opened->begin(session);
    EXPECT_TRUE(!status.ok() || opened->runId() == run);
    return status.message();
  }
  std::string runFile() const {
    std::ifstream file(folder / "run.json");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
};

/// Its process is frozen, and wakes before a save, or within one.
TEST_F(TakeOverTest, WhoTakesAFolderOverWritesThereAlone) {
  auto frozen = begin(session, FolderUse::New);
  ASSERT_TRUE(frozen->save(3, session, at(1)).ok());
  ASSERT_TRUE(frozen->beginSave(session, at(2), /*beside=*/false).ok());
  EXPECT_NE(refusal(FolderUse::Resume).find("in use"), std::string::npos);
  auto next = takeOver(FolderUse::Resume);
  Status failure;
  EXPECT_TRUE(frozen->finishSave(3, session, &failure).ok());
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(names(), Names{named(1)});
  Status status = frozen->save(3, session, at(3));
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("in use"), std::string::npos);
  frozen.reset();
  ASSERT_TRUE(next->save(3, session, at(4)).ok());
  EXPECT_EQ(names(), (Names{named(1), named(4)}));
  EXPECT_NE(refusal(FolderUse::Resume).find("in use"), std::string::npos);
  // Where nobody holds it, it is as any other's.
  next.reset();
  takeOver(FolderUse::Resume);
}

/// It is frozen before it begins, and wakes when another has begun.
TEST_F(TakeOverTest, WhoWakesBehindATakeOverLeavesTheFolderAsItIs) {
  save(session, at(1));
  auto frozen = open(FolderUse::Resume);
  ASSERT_TRUE(frozen);
  auto next = takeOver(FolderUse::Resume);
  const std::string its = runFile();
  Status status = frozen->begin(session);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("taken the folder over"), std::string::npos);
  EXPECT_EQ(runFile(), its);
  // It was frozen within that: what it has written so late is no hindrance.
  std::string late = its;
  const size_t epoch = late.find("\"epoch\": 2");
  ASSERT_NE(epoch, std::string::npos) << its;
  late[epoch + 9] = '1';
  ASSERT_TRUE(writeFile(folder / "run.json", late).ok());
  EXPECT_TRUE(next->save(3, session, at(2)).ok());
  EXPECT_EQ(runFile(), its);
}

/// Also where it was to remove what an older run has left.
TEST_F(TakeOverTest, WhoWakesBehindATakeOverRemovesNothing) {
  save(session, at(1));
  auto frozen = open(FolderUse::Overwrite);
  ASSERT_TRUE(frozen);
  auto next = takeOver(FolderUse::Resume);
  ASSERT_TRUE(next->save(3, session, at(2)).ok());
  EXPECT_EQ(frozen->begin(session).code(), StatusCode::Unavailable);
  EXPECT_EQ(names(), (Names{named(1), named(2)}));
}

/// A run that is to overwrite, and loses its first process before that has: it
/// does not go on from what another run has left.
TEST_F(TakeOverTest, WhoTakesAFolderOverMayHaveToOverwriteIt) {
  save(session, at(7));
  auto frozen = open(FolderUse::Overwrite);
  ASSERT_TRUE(frozen);
  auto next = takeOver(FolderUse::Overwrite);
  EXPECT_FALSE(next->resumes());
  EXPECT_EQ(names(), Names{});
  ASSERT_TRUE(next->save(3, session, at(2)).ok());
  EXPECT_EQ(frozen->begin(session).code(), StatusCode::Unavailable);
  EXPECT_EQ(names(), Names{named(2)});
}

/// Another run has begun there since, and trains, or has ended.
TEST_F(TakeOverTest, WhoGoesOnLeavesAnotherRunsFolderAlone) {
  auto first = begin(session, FolderUse::New);
  const std::string run = first->runId();
  ASSERT_TRUE(first->save(3, session, at(7)).ok());
  first.reset();
  auto other = begin(session, FolderUse::Overwrite);
  const std::string its = runFile();
  for (bool isThere : {true, false}) {
    const std::string why = refusalOf(run);
    EXPECT_NE(why.find("taken over"), std::string::npos) << why;
    EXPECT_NE(why.find("this is run " + run), std::string::npos) << why;
    EXPECT_EQ(runFile(), its);
    if (isThere)
      EXPECT_TRUE(other->save(3, session, at(2)).ok());
    other.reset();
  }
  EXPECT_EQ(names(), Names{named(2)});
}

/// Nor does the file have to be there: states say it, too.
TEST_F(TakeOverTest, StatesOfAnotherRunAreNotGoneOnFrom) {
  auto other = begin(session, FolderUse::New);
  ASSERT_TRUE(other->save(3, session, at(2)).ok());
  other.reset();
  std::filesystem::remove(folder / "run.json");
  EXPECT_NE(refusalOf("0123456789abcdef").find("taken over"),
            std::string::npos);
  EXPECT_EQ(names(), Names{named(2)});
}

/// It is frozen as it sweeps: what another run saves is of a later epoch.
TEST_F(TakeOverTest, EpochsOfAFolderAreOfOneOrder) {
  begin(session, FolderUse::New);
  begin(session, FolderUse::Resume);
  auto other = begin(session, FolderUse::Overwrite);
  EXPECT_NE(runFile().find("\"epoch\": 3"), std::string::npos) << runFile();
  other.reset();
  begin(session, FolderUse::New);
  EXPECT_NE(runFile().find("\"epoch\": 4"), std::string::npos) << runFile();
}

/// Who has taken it over is gone before it has begun.
TEST_F(TakeOverTest, WhoWasReplacedByNoOneGoesOn) {
  auto run = begin(session, FolderUse::New);
  ASSERT_TRUE(run->save(3, session, at(1)).ok());
  {
    auto next = open(takingOver(FolderUse::Resume));
    ASSERT_TRUE(next);
    EXPECT_FALSE(run->save(3, session, at(2)).ok());
  }
  Status status = run->save(3, session, at(3));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(names(), (Names{named(1), named(3)}));
}

/// Nothing there is another's: it goes on as the run that it was.
TEST_F(TakeOverTest, WhoGoesOnIsTheSameRun) {
  const std::string run = begin(session, FolderUse::New)->runId();
  EXPECT_EQ(refusalOf(run), "");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(refusalOf(run), "");
}

} // namespace
