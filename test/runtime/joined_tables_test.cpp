//===- joined_tables_test.cpp - Tables in several files -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/file_list.h"
#include "test/runtime/data_fixture.h"
#include <cstring>
#include <fstream>

namespace dist::test {
namespace {

struct JoinedTables : DataTest {
  void write(const char *name, const char *text) {
    std::ofstream(file(name)) << text;
  }
  Status join(const std::vector<const char *> &texts,
              std::vector<NamedArray> *out) {
    JoinedArrays joined;
    for (const char *text : texts) {
      std::vector<NamedArray> arrays;
      DIST_RETURN_IF_ERROR(parseArrays(text, nullptr, "f.csv", &arrays));
      DIST_RETURN_IF_ERROR(joined.append(std::move(arrays), "f.csv"));
    }
    *out = joined.take();
    return Status();
  }
};

// They were joined by place, and the second file's examples were others.
TEST_F(JoinedTables, ColumnsOfAnotherOrderAreRefused) {
  write("o1.csv", "a,b,c,label\n1,2,3,1\n");
  write("o2.csv", "c,b,a,label\n3,2,1,1\n");
  DataOptions options;
  options.spec = file("o*.csv");
  std::unique_ptr<Dataset> data;
  Status status = Dataset::open(options, entry({4, 3}), &data);
  EXPECT_NE(status.message().find("o2.csv): its columns are 'c', 'b', 'a', "
                                  "those of the files before it 'a', 'b', 'c'"),
            std::string::npos)
      << status.message();
  // Where the label stands is no matter, and pieces have no names.
  write("o2.csv", "label,a,b,c\n1,1,2,3\n");
  write("o3.csv", "4,5,6,1\n");
  auto all = opened(options, entry({4, 3}));
  EXPECT_EQ(example(*all, 1), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(example(*all, 2), (std::vector<float>{4, 5, 6}));
}

TEST_F(JoinedTables, LargeIntegersOfOneFileMakeAllIntegers) {
  const char *small = "1,2,0\n", *large = "9007199254740993,3,1\n",
             *fraction = "0.5,3,1\n";
  for (const std::vector<const char *> &texts :
       {std::vector<const char *>{small, small, large, small},
        std::vector<const char *>{large, small, small}}) {
    std::vector<NamedArray> joined;
    Status status = join(texts, &joined);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(joined[0].array.type, manifest::I64);
    ASSERT_EQ(joined[0].array.shape[0], int64_t(texts.size()));
    for (size_t i = 0; i < texts.size(); ++i) {
      int64_t value = 0;
      std::memcpy(&value, joined[0].array.data + i * 2 * sizeof value,
                  sizeof value);
      EXPECT_EQ(value, texts[i] == large ? 9007199254740993 : 1);
    }
  }
  std::vector<NamedArray> joined;
  EXPECT_FALSE(join({large, fraction}, &joined).ok());
  EXPECT_FALSE(join({small, fraction, large}, &joined).ok());
}

} // namespace
} // namespace dist::test
