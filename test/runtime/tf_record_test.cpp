//===- tf_record_test.cpp - Examples of TFRecord files ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/tf_record.h"
#include "runtime/formats/arrays.h"
#include "test/runtime/folder_test.h"
#include "test/runtime/record_fixture.h"
#include <gtest/gtest.h>

using namespace dist;
using namespace dist::test;

namespace {

std::vector<NamedArray> parsed(const std::string &bytes) {
  std::vector<NamedArray> arrays;
  Status status = parseTfRecord(bytes, "f", ArrayDemand(), &arrays);
  EXPECT_TRUE(status.ok()) << status.message();
  return arrays;
}

std::string error(const std::string &bytes) {
  std::vector<NamedArray> arrays;
  Status status = parseTfRecord(bytes, "f", ArrayDemand(), &arrays);
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  return status.message();
}

template <typename T> std::vector<T> valuesOf(const NamedArray &item) {
  auto *data = reinterpret_cast<const T *>(item.array.data);
  return {data, data + elementCount(item.array.shape)};
}

TEST(Crc32c, KnownValues) {
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32cOf("123456789", 9), 0xe3069283);
  EXPECT_EQ(crc32cOf(std::string(32, 0).data(), 32), 0x8a9136aa);
  EXPECT_EQ(crc32cOf(std::string(32, char(0xff)).data(), 32), 0x62a8ab43);
}

TEST(TfRecord, EachTypeAndItsShape) {
  auto arrays = parsed(record({{"f", floats({1, 2})},
                               {"i", integers({-3})},
                               {"s", strings({"ab"})}}) +
                       record({{"f", floats({3, 4})},
                               {"i", integers({1LL << 40})},
                               {"s", strings({"cd"})}}));
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays[0].name, "f");
  EXPECT_EQ(arrays[0].array.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(valuesOf<float>(arrays[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(arrays[1].array.type, manifest::I64);
  EXPECT_EQ(arrays[1].array.shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(valuesOf<int64_t>(arrays[1]),
            (std::vector<int64_t>{-3, 1LL << 40}));
  EXPECT_EQ(arrays[2].array.type, manifest::U8);
  EXPECT_EQ(valuesOf<char>(arrays[2]), (std::vector<char>{'a', 'b', 'c', 'd'}));
}

// Features that no input is for may be of any kind, and missing.
TEST(TfRecord, ReadsWhatIsChosen) {
  ArrayDemand demand;
  demand.choose = [](const std::vector<std::string> &names) {
    EXPECT_EQ(names, (std::vector<std::string>{"jpeg", "x"}));
    return std::vector<bool>{false, true};
  };
  std::vector<NamedArray> arrays;
  ASSERT_TRUE(parseTfRecord(record({{"x", floats({1})},
                                    {"jpeg", strings({"\xff\xd8\xff"})}}) +
                                record({{"x", floats({2})}}),
                            "f", demand, &arrays)
                  .ok());
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(valuesOf<float>(arrays[0]), (std::vector<float>{1, 2}));
  // What does not fit the model is refused at the first example.
  demand.check = [](const std::string &name, DataType type,
                    const std::vector<int64_t> &shape) {
    EXPECT_EQ(name, "x");
    EXPECT_EQ(type, manifest::F32);
    EXPECT_EQ(shape, std::vector<int64_t>{1});
    return Status::error(StatusCode::InvalidInput, "no fit");
  };
  EXPECT_EQ(parseTfRecord(
                record({{"x", floats({1})}, {"jpeg", strings({""})}}) + "rest",
                "f", demand, &arrays)
                .message(),
            "no fit");
}

TEST(TfRecord, ExamplesOfOneFileAreAlike) {
  std::string first = record({{"x", floats({1, 2})}});
  auto has = [&](const std::string &bytes, const char *part) {
    std::string text = error(bytes);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(first + record({{"x", floats({1})}}),
      "cannot read the feature 'x' (f, example 1): it has 1 values, in the "
      "examples before 2");
  has(first + record({{"x", integers({1, 2})}}),
      "of type i64, in the examples before of f32");
  has(first + record({{"z", floats({1, 2})}}), "no such feature");
  has(first + record({{"x", {}}}), "no values");
  has(record({{"x", strings({"a", "b"})}}), "2 strings, not one");
  has(record({{"x", strings({"\x89PNG..."})}}), "encoded image");
  has(frame("no message"), "no tf.train.Example");
}

TEST(TfRecord, DamageIsNamed) {
  std::string first = record({{"x", floats({1, 2})}}),
              whole = first + record({{"x", floats({3, 4})}});
  EXPECT_TRUE(isTfRecord(whole));
  EXPECT_FALSE(isTfRecord(whole.substr(1)));
  // Each bit and each length: nothing damaged passes for numbers.
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] ^= 1 << i % 8;
    EXPECT_NE(error(bad).find("damaged TFRecord file (f, example " +
                              std::to_string(int(i >= first.size())) + ")"),
              std::string::npos);
  }
  for (size_t size = 1; size < whole.size(); ++size)
    if (size != first.size())
      EXPECT_NE(error(whole.substr(0, size)).find("cut short"),
                std::string::npos)
          << size;
  // A length that runs over.
  std::string huge = first;
  for (int i = 0; i < 8; ++i)
    huge[i] = char(0xff);
  uint32_t crc = maskedCrc32c(huge.data(), 8);
  huge.replace(8, 4, reinterpret_cast<char *>(&crc), 4);
  EXPECT_NE(error(huge).find("cut short"), std::string::npos);
}

struct StoredRecordTest : FolderTest {
  std::string write(const std::string &name, const std::string &bytes) {
    EXPECT_TRUE(writeFile(folder / name, bytes).ok());
    return folder / name;
  }
};

TEST_F(StoredRecordTest, IndexedOnesAreDecodedWhenTheyAreAskedFor) {
  std::string bytes;
  for (int i = 0; i < 9; ++i)
    bytes += record({{"f", floats({float(i), float(-i)})},
                     {"i", integers({i * 1000LL})},
                     {"s", strings({std::string(3, char('a' + i))})}});
  ArrayDemand demand;
  demand.leavesRecords = true;
  std::vector<NamedArray> stored;
  for (FileAccess access : {FileAccess::Read, FileAccess::Map}) {
    ASSERT_TRUE(
        readArrays(write("a.tfrecord", bytes), &stored, false, access, demand)
            .ok());
    ASSERT_EQ(stored.size(), 3u);
    EXPECT_EQ(stored[0].array.data, nullptr);
    EXPECT_EQ(stored[0].array.shape, (std::vector<int64_t>{9, 2}));
    std::vector<int64_t> some = {8, 0, 3};
    std::vector<float> values(6);
    stored[0].stored->read(some.data(), 3,
                           reinterpret_cast<char *>(values.data()));
    EXPECT_EQ(values, (std::vector<float>{8, -8, 0, 0, 3, -3}));
    std::vector<int64_t> integers(3);
    stored[1].stored->read(some.data(), 3,
                           reinterpret_cast<char *>(integers.data()));
    EXPECT_EQ(integers, (std::vector<int64_t>{8000, 0, 3000}));
    std::string text(9, ' ');
    stored[2].stored->read(some.data(), 3, text.data());
    EXPECT_EQ(text, "iiiaaaddd");
  }
  // What is wrong with a file is told as before.
  Status damaged =
      readArrays(write("b.tfrecord", bytes.substr(0, bytes.size() - 1)),
                 &stored, false, FileAccess::Map, demand);
  EXPECT_NE(damaged.message().find("example 8): it is cut short"),
            std::string::npos)
      << damaged.message();
}

// A message's fields may be split, repeated, unknown, or none.
TEST(TfRecord, FieldsInAnyForm) {
  auto field = [](int number, const std::string &bytes) {
    return std::string(1, char(number << 3 | 2)) + char(bytes.size()) + bytes;
  };
  auto entry = [&](const std::string &name, float value) {
    return field(1, field(1, name) +
                        field(2, floats({value}).SerializeAsString()));
  };
  std::string unknown = std::string("\x18\x05") + field(9, "more");
  auto arrays = parsed(frame(field(1, entry("a", 1) + unknown) + unknown +
                             field(1, entry("b", 2) + entry("a", 3))));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(valuesOf<float>(arrays[0]), std::vector<float>{3});
  EXPECT_EQ(valuesOf<float>(arrays[1]), std::vector<float>{2});
  error(frame(field(1, entry("a", 1)) + std::string("\0\1\2", 3)));
  error(frame(field(1, entry("a", 1)) + "\x0b"));
}

} // namespace
