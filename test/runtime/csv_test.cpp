//===- csv_test.cpp - Tables of numbers as text ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/arrays.h"
#include "runtime/formats/convert.h"
#include <cstring>
#include <gtest/gtest.h>

namespace dist::test {
namespace {

TEST(Csv, HeaderLabelAndErrors) {
  std::vector<NamedArray> arrays;
  std::string text = "a,label,b\r\n1,0,2.5\n3,1,-4e1\n";
  ASSERT_TRUE(parseArrays(text, nullptr, "f.csv", &arrays).ok());
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].array.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(elementAsDouble(manifest::F64, arrays[0].array.data, 3), -40);
  EXPECT_EQ(arrays[1].name, "label");
  EXPECT_EQ(elementAsDouble(manifest::F64, arrays[1].array.data, 1), 1);
  for (const char *bad : {"1,2\n3\n", "1,2\n3,x\n", "a,b\n", "a,b\nc,d\n",
                          "1,,2\n3,4,5\n4,,1\n"}) {
    Status status = parseArrays(bad, nullptr, "f.csv", &arrays);
    EXPECT_FALSE(status.ok()) << bad;
  }
}

// The first line is names or numbers. An example of which a number is missing
// was taken for the names, and left out.
TEST(Csv, AnExampleIsNoHeader) {
  std::vector<NamedArray> arrays;
  for (const char *bad : {"1,,2\n3,4,5\n", "5.1,NA,0\n4.9,3.0,1\n",
                          "0,0,?\n1,2,1\n", "a,b,b\n1,2,0\n"}) {
    Status status = parseArrays(bad, nullptr, "f.csv", &arrays);
    EXPECT_FALSE(status.ok()) << bad;
  }
  // pandas' numbers of columns, and the rows' own without a name.
  for (const char *good : {",0,1,label\n0,7,8,1\n", "0,1,target\n7,8,1\n",
                           "a b,\"c, cm\",y\n7,\"8\",1\n"}) {
    ASSERT_TRUE(parseArrays(good, nullptr, "f.csv", &arrays).ok()) << good;
    EXPECT_EQ(elementAsDouble(manifest::F64, arrays[1].array.data, 0), 1);
  }
}

// Numbers of users and the like lost their last bits in f64.
TEST(Csv, IntegersOf64BitsKeepTheirBits) {
  std::vector<NamedArray> arrays;
  auto at = [&](int array, int64_t i) {
    int64_t value = 0;
    std::memcpy(&value, arrays[array].array.data + i * sizeof value,
                sizeof value);
    return value;
  };
  std::string text = "id,n,label\n1,+2,0\n9007199254740993,3,1\n"
                     "-9223372036854775808,9223372036854775807,1.0\n";
  ASSERT_TRUE(parseArrays(text, nullptr, "f.csv", &arrays).ok());
  ASSERT_EQ(arrays[0].array.type, manifest::I64);
  EXPECT_EQ(at(0, 0), 1);
  EXPECT_EQ(at(0, 1), 2);
  EXPECT_EQ(at(0, 2), 9007199254740993);
  EXPECT_EQ(at(0, 4), INT64_MIN);
  EXPECT_EQ(at(0, 5), INT64_MAX);
  ASSERT_EQ(arrays[1].array.type, manifest::I64);
  EXPECT_EQ(at(1, 2), 1);
  // With others they are what a float holds.
  for (const char *some :
       {"9007199254740993,2.5,1\n", "9223372036854775808,2,1\n"}) {
    ASSERT_TRUE(parseArrays(some, nullptr, "f.csv", &arrays).ok());
    EXPECT_EQ(arrays[0].array.type, manifest::F64);
  }
}

TEST(Csv, TheLabelIsTheColumnOfThePlainestName) {
  std::vector<NamedArray> arrays;
  for (const char *text : {"label,x,y\n9,1,2\n", "x,y,target,z\n1,2,9,2\n",
                           "x,y,z\n1,9,2\n", "u,v,w\n1,2,9\n"}) {
    ASSERT_TRUE(parseArrays(text, nullptr, "f.csv", &arrays).ok());
    EXPECT_EQ(elementAsDouble(manifest::F64, arrays[1].array.data, 0), 9)
        << text;
  }
}

} // namespace
} // namespace dist::test
