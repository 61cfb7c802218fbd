//===- formats_test.cpp - Readers and writers of file formats -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/safetensors.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dist;

namespace {

/// A folder that goes away with the test.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "dist-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const char *name) const { return path / name; }
};

std::string contents(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string safetensorsBytes(const std::string &header,
                             const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<char *>(&size), 8) + header + data;
}

TEST(FileSink, LeavesNothingWithoutCommit) {
  Folder folder;
  {
    FileSink sink;
    ASSERT_TRUE(sink.open(folder / "a").ok());
    ASSERT_TRUE(sink.write("half").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(FileSink, KeepsTheOldFileUntilCommit) {
  Folder folder;
  ASSERT_TRUE(writeFile(folder / "a", "old").ok());
  FileSink sink;
  ASSERT_TRUE(sink.open(folder / "a").ok());
  ASSERT_TRUE(sink.write("new").ok());
  EXPECT_EQ(contents(folder / "a"), "old");
  ASSERT_TRUE(sink.commit(true).ok());
  EXPECT_EQ(contents(folder / "a"), "new");
}

TEST(FileSink, WritesThroughDevices) {
  EXPECT_TRUE(writeFile("/dev/null", "text").ok());
  Status status = writeFile("/dev/full", "text");
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Safetensors, RoundTrip) {
  Folder folder;
  float weights[6] = {1, 2, 3, 4, 5, 6};
  uint8_t odd[3] = {7, 8, 9};
  double scalar = 0.5;
  SafetensorsWriter writer(folder / "w.safetensors");
  writer.add("odd", manifest::U8, {3}, odd);
  writer.add("w", manifest::F32, {2, 3}, weights);
  writer.add("s", manifest::F64, {}, &scalar);
  writer.add("none", manifest::F32, {0, 4}, nullptr);
  writer.setMetadata("step", "12");
  uint32_t crc = 0;
  ASSERT_TRUE(writer.finish(false, &crc).ok());
  EXPECT_EQ(crc, crc32Of(contents(folder / "w.safetensors")));

  std::unique_ptr<SafetensorsFile> file;
  Status status = SafetensorsFile::map(folder / "w.safetensors", &file);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(file->metadata().at("step"), "12");
  const TensorView *w = file->find("w");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w->data) % 4, 0u);
  EXPECT_EQ(std::memcmp(w->data, weights, sizeof weights), 0);
  EXPECT_EQ(std::memcmp(file->find("odd")->data, odd, sizeof odd), 0);
  EXPECT_EQ(file->find("absent"), nullptr);
}

TEST(Safetensors, RefusesDamagedFiles) {
  auto refused = [](const std::string &bytes) {
    std::unique_ptr<SafetensorsFile> file;
    Status status = SafetensorsFile::parse(bytes, "f", &file);
    return status.code() == StatusCode::InvalidInput;
  };
  std::string four(4, '\0');
  EXPECT_FALSE(refused(safetensorsBytes(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", four)));
  for (const char *header :
       {"", "[]", "{", R"({"a":1})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
        R"({"a":{"dtype":"X","shape":[1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[9223372036854775807,2],"data_offsets":[0,4]}})",
        R"({"__metadata__":3})"})
    EXPECT_TRUE(refused(safetensorsBytes(header, four))) << header;
  EXPECT_TRUE(refused("short"));
  EXPECT_TRUE(refused(std::string(8, '\xff') + "{}"));
}

} // namespace
