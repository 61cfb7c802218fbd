//===- program_library_test.cpp - Code under names that change ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/package_files.h"
#include "runtime/core/program_library.h"
#include "test/runtime/folder_test.h"
#include <fstream>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace dist;
namespace fs = std::filesystem;

namespace {

using ProgramLibraryTest = FolderTest;

// A server opens the package that has taken another one's place before it
// closes the session of that one.
TEST_F(ProgramLibraryTest, AReplacedFileIsLoadedAnew) {
  const std::string path = folder / "program.so";
  fs::copy_file(SESSION_PROGRAM, path);
  std::unique_ptr<ProgramLibrary> before, again, after;
  ASSERT_TRUE(ProgramLibrary::load(path, &before).ok());
  void *symbol = before->find("dist_program_init");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(before->find("none"), nullptr);
  // What is still the same file is one library.
  ASSERT_TRUE(ProgramLibrary::load(path, &again).ok());
  EXPECT_EQ(again->find("dist_program_init"), symbol);
  fs::rename(path, folder / "old.so");
  fs::copy_file(SESSION_PROGRAM, path);
  ASSERT_TRUE(ProgramLibrary::load(path, &after).ok());
  EXPECT_NE(after->find("dist_program_init"), symbol);
  // A descriptor's number is another file's when it is free.
  for (int i = 0; i < 3; ++i) {
    fs::rename(path, folder / ("old" + std::to_string(i)));
    fs::copy_file(SESSION_PROGRAM, path);
    std::unique_ptr<ProgramLibrary> next;
    ASSERT_TRUE(ProgramLibrary::load(path, &next).ok());
    EXPECT_NE(next->find("dist_program_init"), symbol);
    EXPECT_NE(next->find("dist_program_init"),
              after->find("dist_program_init"));
  }
}

TEST_F(ProgramLibraryTest, WhatCannotBeLoadedSaysWhy) {
  const std::string path = folder / "program.so";
  std::unique_ptr<ProgramLibrary> library;
  Status status = ProgramLibrary::load(path, &library);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find(path), std::string::npos);
  std::ofstream(path) << "no code";
  status = ProgramLibrary::load(path, &library);
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("(" + path + "): file too short"),
            std::string::npos)
      << status.message();
}

// Homes and temporary folders of many machines are such.
TEST_F(ProgramLibraryTest, AFileSystemWithoutCodeIsNoHindrance) {
  const std::string name = "dist-program-" + std::to_string(getpid()) + ".so";
  bool isTried = false;
  for (const fs::path place : {"/dev/shm", "/run", "/tmp"}) {
    struct statvfs info;
    std::error_code error;
    if (statvfs(place.c_str(), &info) != 0 || !(info.f_flag & ST_NOEXEC) ||
        !fs::copy_file(SESSION_PROGRAM, place / name, error))
      continue;
    isTried = true;
    std::unique_ptr<ProgramLibrary> library;
    Status status = ProgramLibrary::load(place / name, &library);
    fs::remove(place / name);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_NE(library->find("dist_program_init"), nullptr);
  }
  if (!isTried)
    GTEST_SKIP() << "no file system is mounted noexec";
}

// A package takes another one's place in the midst of its being opened.
TEST_F(ProgramLibraryTest, FilesOfTwoPackagesAreReadAgain) {
  const fs::path package = folder / "package", other = folder / "other";
  for (const fs::path &one : {package, other}) {
    fs::create_directory(one);
    std::ofstream(one / "manifest") << one.filename();
  }
  auto replace = [&] {
    fs::rename(package, folder / "old");
    fs::rename(other, package);
    fs::rename(folder / "old", other);
  };
  int reads = 0;
  auto read = [&](int replaced, Status status) {
    reads = 0;
    return ofOnePackage(package, true, [&] {
      if (++reads <= replaced)
        replace();
      return reads <= replaced ? status : Status();
    });
  };
  Status mixed = Status::error(StatusCode::InvalidInput, "mixed");
  for (const Status &status : {Status(), mixed}) {
    EXPECT_TRUE(read(1, status).ok());
    EXPECT_EQ(reads, 2);
  }
  // What the tools add to a package in their cache makes it no other one.
  Status status = ofOnePackage(package, true, [&] {
    std::ofstream(package / "digest") << "added";
    return mixed;
  });
  EXPECT_EQ(status.message(), mixed.message());
  // Whoever does not stop is told of, not waited for.
  EXPECT_EQ(read(1000, mixed).code(), StatusCode::Unavailable);
  EXPECT_LT(reads, 1000);
  // Other processes would not do it again.
  EXPECT_FALSE(ofOnePackage(package, false, [&] {
                 replace();
                 return mixed;
               }).ok());
}

} // namespace
