//===- folder_test.h - A test with a folder of its own -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_FOLDER_TEST_H
#define TEST_RUNTIME_FOLDER_TEST_H

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace dist {

/// Has an empty temporary folder while a test runs.
struct FolderTest : testing::Test {
  std::filesystem::path folder;
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "dist-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

} // namespace dist

#endif // TEST_RUNTIME_FOLDER_TEST_H
