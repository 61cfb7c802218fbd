//===- archives_test.cpp - What packed files unpack to --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/arrays.h"
#include "runtime/formats/npy.h"
#include "test/runtime/files_fixture.h"
#include <cstring>

using namespace dist;

namespace {

struct Member {
  std::string name, npy;
  bool deflated = false;
};

std::string deflated(const std::string &text) {
  // Without the header and the checksum that gzip puts around it.
  std::string packed = gzip(text);
  return packed.substr(10, packed.size() - 18);
}

/// An archive as numpy.savez and numpy.savez_compressed write it.
std::string archiveOf(const std::vector<Member> &members) {
  auto number = [](uint64_t value, int bytes) {
    return std::string(reinterpret_cast<char *>(&value), bytes);
  };
  std::string archive, directory;
  for (const Member &member : members) {
    std::string packed = member.deflated ? deflated(member.npy) : member.npy;
    std::string name = member.name + ".npy";
    std::string fields =
        number(20, 2) + number(0, 2) + number(member.deflated ? 8 : 0, 2) +
        number(0, 4) + number(crc32Of(member.npy), 4) +
        number(packed.size(), 4) + number(member.npy.size(), 4) +
        number(name.size(), 2) + number(0, 2);
    directory += "PK\1\2" + number(20, 2) + fields + number(0, 10 - 2) +
                 number(0, 2) + number(archive.size(), 4) + name;
    archive += "PK\3\4" + fields + name + packed;
  }
  return archive + directory + "PK\5\6" + number(0, 4) +
         number(members.size(), 2) + number(members.size(), 2) +
         number(directory.size(), 4) + number(archive.size(), 4) + number(0, 2);
}

struct ArchivesTest : FilesTest {
  /// An array of as many numbers as are given, as a .npy file.
  std::string npyOf(const std::vector<float> &values) {
    std::string path = folder / "values.npy";
    EXPECT_TRUE(
        writeNpy(path, {manifest::F32, {int64_t(values.size())}, values.data()})
            .ok());
    return contents(path);
  }
  Status read(const std::string &name, const std::string &bytes,
              const ArrayDemand &demand = ArrayDemand()) {
    return readArrays(put(name, bytes), &arrays, false, FileAccess::Read,
                      demand);
  }
  static void expectError(const Status &status, StatusCode code,
                          const std::string &text) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(text), std::string::npos)
        << status.message();
  }
  std::vector<NamedArray> arrays;
};

TEST_F(ArchivesTest, AreReadWholeWithTheirChecksums) {
  std::vector<float> many(200000, 7);
  for (bool packed : {false, true}) {
    std::string bytes = archiveOf(
        {{"a", npyOf({1, 2, 3}), packed}, {"b", npyOf(many), packed}});
    std::string where = put("a.npz", bytes);
    std::shared_ptr<const FileBytes> file;
    ASSERT_TRUE(FileBytes::open(where, &file).ok());
    ASSERT_TRUE(parseArrays(file->bytes(), file, where, &arrays).ok());
    ASSERT_EQ(arrays.size(), 2u);
    EXPECT_EQ(arrays[1].name, "b");
    EXPECT_EQ(arrays[1].array.shape, std::vector<int64_t>{200000});
    float last;
    std::memcpy(&last, arrays[1].array.data + 4 * 199999, sizeof last);
    EXPECT_EQ(last, 7);
    // What is stored as it is, is not copied.
    bool inFile = arrays[1].array.data > file->bytes().data() &&
                  arrays[1].array.data < file->bytes().data() + bytes.size();
    EXPECT_EQ(inFile, !packed);
    // A bit of the first member's last element: every size is still right.
    std::string damaged = bytes;
    size_t end = damaged.find("PK\3\4", 4);
    damaged[end - 2] ^= 1;
    Status status = read("a.npz", damaged);
    EXPECT_EQ(status.code(), StatusCode::InvalidInput);
    if (!packed)
      expectError(status, StatusCode::InvalidInput,
                  "checksum of member 'a.npy'");
    // The checksum that is written down, of data that are right.
    damaged = bytes;
    damaged[damaged.find("PK\1\2") + 16] ^= 1;
    expectError(read("a.npz", damaged), StatusCode::InvalidInput,
                "checksum of member 'a.npy'");
  }
}

// As zip adds a member once more; which one is meant differs by who reads it.
TEST_F(ArchivesTest, AMemberIsThereOnce) {
  std::string bytes = archiveOf(
      {{"a", npyOf({1}), false}, {"b", npyOf({2}), false}, {"a", npyOf({3})}});
  expectError(read("a.npz", bytes), StatusCode::InvalidInput,
              "ambiguous .npz archive");
  ArrayDemand other;
  other.choose = [](const std::vector<std::string> &names) {
    return std::vector<bool>{false, true, false};
  };
  EXPECT_TRUE(read("a.npz", bytes, other).ok());
}

TEST_F(ArchivesTest, MembersThatNobodyWantsStayPacked) {
  std::string other = npyOf(std::vector<float>(100000, 1));
  other[200] ^= 1;
  std::string bytes =
      archiveOf({{"a", npyOf({1, 2, 3}), true}, {"b", other, true}});
  size_t at = bytes.find("PK\1\2", bytes.find("PK\1\2") + 1);
  bytes[at + 16] ^= 1;
  EXPECT_FALSE(read("a.npz", bytes).ok());
  ArrayDemand first;
  first.choose = [](const std::vector<std::string> &names) {
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
    return std::vector<bool>{true, false};
  };
  Status status = read("a.npz", bytes, first);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].name, "a");
}

TEST_F(ArchivesTest, UnpackToWhatTheirHeadersSay) {
  std::string more = npyOf({1, 2, 3}) + std::string(1 << 20, '\0');
  expectError(read("a.npz", archiveOf({{"a", more, true}})),
              StatusCode::InvalidInput, "by its header, of shape [3], it has");
  expectError(read("a.npy.gz", gzip(more)), StatusCode::InvalidInput,
              "it unpacks to more than the 140 bytes that its header names");
  ASSERT_TRUE(read("a.npy.gz", gzip(npyOf({1, 2, 3}))).ok());
  EXPECT_EQ(arrays[0].array.shape, std::vector<int64_t>{3});
  std::string idx("\0\0\x08\1\0\0\0\3abc", 11);
  EXPECT_TRUE(read("a.gz", gzip(idx)).ok());
  expectError(read("a.gz", gzip(idx + std::string(1 << 20, 'x'))),
              StatusCode::InvalidInput,
              "it unpacks to more than the 11 bytes that its header names");
  // Before anything of it is unpacked.
  std::string huge("\0\0\x08\3\x7f\0\0\0\0\1\0\0\0\0\1\0abc", 19);
  expectError(read("a.gz", gzip(huge)), StatusCode::Unavailable,
              "cannot hold an unpacked file in memory");
}

TEST_F(ArchivesTest, ChecksComeBeforeElements) {
  ArrayDemand demand;
  demand.check = [](const std::string &name, DataType type,
                    const std::vector<int64_t> &shape) {
    EXPECT_EQ(type, manifest::F32);
    return Status::error(StatusCode::InvalidInput, "unfit", name,
                         toString(shape));
  };
  std::string npy = npyOf(std::vector<float>(1 << 20, 1));
  std::string packed = gzip(npy);
  // Cut short, which shows only where all of it is unpacked.
  packed.resize(packed.size() - 20);
  expectError(read("a.npy.gz", packed, demand), StatusCode::InvalidInput,
              "unfit: [1048576]");
  expectError(read("a.npz", archiveOf({{"a", npy, true}}), demand),
              StatusCode::InvalidInput, "unfit (a): [1048576]");
}

} // namespace
