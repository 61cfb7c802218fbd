//===- formats_test.cpp - Readers and writers of file formats -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/arrays.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/npy.h"
#include "runtime/formats/safetensors.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
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
  ASSERT_TRUE(writer.finish().ok());

  std::unique_ptr<SafetensorsFile> file;
  Status status = SafetensorsFile::open(folder / "w.safetensors", &file);
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

// One tensor at a time, written and read.
TEST(Safetensors, Streams) {
  Folder folder;
  std::string path = folder / "w.safetensors";
  int alive = 0;
  SafetensorsWriter writer(path);
  for (float value : {1.f, 2.f, 3.f})
    writer.add("w" + std::to_string(int(value)), manifest::F32, {2},
               [&alive, value](Tensor *out) {
                 ++alive;
                 *out = {manifest::F32, {2}, Buffer(8)};
                 float pair[] = {value, -value};
                 std::memcpy(out->data.data(), pair, 8);
                 return Status();
               });
  SafetensorsSums sums;
  ASSERT_TRUE(writer.finish(false, &sums).ok());
  EXPECT_EQ(alive, 3);
  std::string bytes = contents(path);
  EXPECT_EQ(sums.bytes, int64_t(bytes.size()));
  EXPECT_EQ(sums.header, crc32Of(bytes.substr(0, bytes.size() - 24)));

  std::unique_ptr<SafetensorsReader> file;
  ASSERT_TRUE(SafetensorsReader::open(path, &file).ok());
  EXPECT_EQ(file->bytes(), sums.bytes);
  EXPECT_EQ(file->headerCrc(), sums.header);
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->tensors().at("w2").shape, (std::vector<int64_t>{2}));
  Tensor w2;
  ASSERT_TRUE(file->read("w2", &w2).ok());
  EXPECT_EQ(reinterpret_cast<const float *>(w2.data.data())[1], -2.f);
  uint32_t crc = 0;
  ASSERT_TRUE(file->readCrc("w2", &crc).ok());
  EXPECT_EQ(crc, sums.tensors["w2"]);
  EXPECT_EQ(crc, crc32Of(std::string_view(w2.data.data(), 8)));
  ASSERT_TRUE(file->readCrc(&crc).ok());
  EXPECT_EQ(crc, crc32Of(bytes));
  // Cut short meanwhile.
  std::filesystem::resize_file(path, bytes.size() - 1);
  EXPECT_EQ(file->read("w3", &w2).code(), StatusCode::InvalidInput);
  EXPECT_EQ(SafetensorsReader::open(path, &file).code(),
            StatusCode::InvalidInput);
  // What cannot be made leaves no file.
  SafetensorsWriter failing(folder / "none.safetensors");
  failing.add("w", manifest::F32, {2}, [](Tensor *) {
    return Status::error(StatusCode::Unavailable, "gone");
  });
  EXPECT_EQ(failing.finish().message(), "gone");
  EXPECT_FALSE(std::filesystem::exists(folder / "none.safetensors"));
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
  for (
      const char *header :
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

std::string npyBytes(const std::string &header, const std::string &data) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += char(header.size() & 0xff);
  bytes += char(header.size() >> 8);
  return bytes + header + data;
}

Status readNpy(const std::string &bytes, HostArray *out) {
  return parseNpy(bytes, nullptr, "f.npy", out);
}

TEST(Npy, RoundTripOfEveryType) {
  Folder folder;
  for (DataType type :
       {manifest::F32, manifest::F64, manifest::F16, manifest::BOOL,
        manifest::I8, manifest::I16, manifest::I32, manifest::I64, manifest::U8,
        manifest::U16, manifest::U32, manifest::U64}) {
    std::string data(6 * byteSize(type), '\0');
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = type == manifest::BOOL ? i % 2 : char(i * 37);
    ASSERT_TRUE(writeNpy(folder / "a.npy", {type, {2, 3}, data.data()}).ok());
    std::vector<NamedArray> arrays;
    Status status = readArrays(folder / "a.npy", &arrays);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(arrays[0].array.type, type);
    EXPECT_EQ(arrays[0].array.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(std::string(arrays[0].array.data, data.size()), data);
  }
}

TEST(Npy, ScalarsAndTypesThatNumpyLacks) {
  Folder folder;
  uint16_t value = floatToBfloat(1.5f);
  ASSERT_TRUE(writeNpy(folder / "a.npy", {manifest::BF16, {}, &value}).ok());
  std::vector<NamedArray> arrays;
  ASSERT_TRUE(readArrays(folder / "a.npy", &arrays).ok());
  EXPECT_EQ(arrays[0].array.type, manifest::F32);
  EXPECT_TRUE(arrays[0].array.shape.empty());
  EXPECT_EQ(*reinterpret_cast<const float *>(arrays[0].array.data), 1.5f);
}

TEST(Npy, FortranOrderAndBigEndian) {
  HostArray array;
  int16_t columns[6] = {1, 4, 2, 5, 3, 6};
  std::string data(reinterpret_cast<char *>(columns), sizeof columns);
  std::string big = data;
  for (size_t i = 0; i < big.size(); i += 2)
    std::swap(big[i], big[i + 1]);
  for (auto &[descr, bytes] :
       {std::pair<std::string, std::string>{"<i2", data}, {">i2", big}}) {
    std::string file = npyBytes(
        "{'descr': '" + descr + "', 'fortran_order': True, 'shape': (2, 3)}",
        bytes);
    Status status = readNpy(file, &array);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(elementAsDouble(array.type, array.data, i), i + 1);
  }
}

TEST(Npy, RefusesDamagedFiles) {
  HostArray array;
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_TRUE(readNpy(npyBytes(good, "1234"), &array).ok());
  EXPECT_FALSE(readNpy(npyBytes(good, "123"), &array).ok());
  for (
      const char *header :
      {"", "{", "{}", "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
       "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
       "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
       R"({'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9)})",
       "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
       "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
       "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}"})
    EXPECT_FALSE(readNpy(npyBytes(header, "1234"), &array).ok()) << header;
}

TEST(Idx, ReadsBigEndianDims) {
  HostArray array;
  std::string bytes("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef", 18);
  ASSERT_TRUE(parseIdx(bytes, nullptr, "f", &array).ok());
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array.data[5], 'f');
  EXPECT_FALSE(parseIdx(bytes.substr(0, 17), nullptr, "f", &array).ok());
  EXPECT_FALSE(parseIdx(bytes.substr(0, 7), nullptr, "f", &array).ok());
  std::string huge("\0\0\x0e\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                   16);
  EXPECT_FALSE(parseIdx(huge, nullptr, "f", &array).ok());
  // No bytes are claimed, but the product of the others still overflows.
  std::string zero("\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 16);
  EXPECT_FALSE(parseIdx(zero, nullptr, "f", &array).ok());
}

TEST(Cifar, SplitsLabelsFromPixels) {
  std::string bytes(2 * 3073, '\1');
  bytes[0] = 7;
  bytes[3073] = 9;
  std::vector<NamedArray> arrays;
  ASSERT_TRUE(parseArrays(bytes, nullptr, "b.bin", &arrays).ok());
  EXPECT_EQ(arrays[0].array.shape, (std::vector<int64_t>{2, 3, 32, 32}));
  EXPECT_EQ(arrays[1].array.data[1], 9);
  EXPECT_FALSE(parseArrays(bytes.substr(1), nullptr, "b.bin", &arrays).ok());
}

TEST(Convert, HalvesAreExactBothWays) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(bits);
    if (value == value) {
      EXPECT_EQ(floatToHalf(value), bits);
    }
    float wide = bfloatToFloat(bits);
    if (wide == wide) {
      EXPECT_EQ(floatToBfloat(wide), bits);
    }
  }
  EXPECT_EQ(floatToHalf(65520.f), 0x7c00);             // ties to infinity
  EXPECT_EQ(floatToHalf(2049.f), floatToHalf(2048.f)); // ties to even
}

TEST(Convert, IntegersSaturate) {
  float in[3] = {300.f, -5.f, 7.9f};
  uint8_t out[3];
  convertElements(manifest::F32, in, manifest::U8, out, 3);
  EXPECT_EQ(out[0], 255);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 7);
}

/// Mutants of one good file of each form: none may crash (run it under the
/// sanitizers), and an accepted one must have all the bytes it claims.
TEST(Formats, MutantsNeverCrash) {
  Folder folder;
  float values[6] = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(writeNpy(folder / "a.npy", {manifest::F32, {2, 3}, values}).ok());
  SafetensorsWriter writer(folder / "a.safetensors");
  writer.add("w", manifest::F32, {2, 3}, values);
  ASSERT_TRUE(writer.finish().ok());
  std::vector<std::pair<std::string, std::string>> seeds = {
      {"f.npy", contents(folder / "a.npy")},
      {"f.safetensors", contents(folder / "a.safetensors")},
      {"f", std::string("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef", 18)},
      {"f.csv", "a,label\n1,2\n3,4\n"},
      // A stored archive of one small array, written by numpy.savez.
      {"f.npz", [&] {
         std::string npy = contents(folder / "a.npy");
         uint32_t size = npy.size(), crc = crc32Of(npy);
         auto u32 = [](uint32_t v) { return std::string((char *)&v, 4); };
         std::string local = std::string("PK\3\4\x14\0\0\0\0\0\0\0\0\0", 14) +
                             u32(crc) + u32(size) + u32(size) +
                             std::string("\5\0\0\0", 4) + "a.npy" + npy;
         std::string entry =
             std::string("PK\1\2\x14\0\x14\0\0\0\0\0\0\0\0\0", 16) + u32(crc) +
             u32(size) + u32(size) + std::string("\5\0\0\0\0\0\0\0\0\0", 10) +
             u32(0) + u32(0) + "a.npy";
         return local + entry + std::string("PK\5\6\0\0\0\0\1\0\1\0", 12) +
                u32(entry.size()) + u32(local.size()) + std::string(2, '\0');
       }()}};
  std::mt19937 random(1);
  for (auto &[name, seed] : seeds) {
    std::vector<NamedArray> arrays;
    Status whole = parseArrays(seed, nullptr, name, &arrays);
    ASSERT_TRUE(whole.ok()) << name << ": " << whole.message();
    for (int round = 0; round < 3000; ++round) {
      std::string bytes = seed;
      switch (random() % 4) {
      case 0:
        bytes.resize(random() % bytes.size());
        break;
      case 1:
        bytes.insert(random() % bytes.size(), random() % 20, char(random()));
        break;
      default:
        for (unsigned k = 0, n = 1 + random() % 6; k < n; ++k)
          bytes[random() % bytes.size()] ^= 1 << random() % 8;
      }
      // A copy of the exact size, so that overruns are seen.
      std::vector<char> exact(bytes.begin(), bytes.end());
      if (!parseArrays({exact.data(), exact.size()}, nullptr, name, &arrays)
               .ok())
        continue;
      for (NamedArray &item : arrays) {
        uint8_t sum = 0;
        for (size_t i = 0; i < item.array.view().bytes(); ++i)
          sum += item.array.data[i];
        volatile uint8_t sink = sum;
        (void)sink;
      }
    }
  }
}

} // namespace
