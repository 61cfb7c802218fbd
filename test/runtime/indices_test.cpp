//===- indices_test.cpp - Integers that count classes or rows -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/indices.h"
#include <gtest/gtest.h>
#include <cstring>
#include <limits>
#include <vector>

using namespace dist;

namespace {

manifest::Binding ids(DataType type, int64_t rows) {
  manifest::Binding binding;
  binding.set_name("ids");
  binding.mutable_global_type()->set_type(type);
  binding.add_index_counts(rows);
  return binding;
}

manifest::Binding classes(int64_t count) {
  manifest::Binding binding;
  binding.set_name("y");
  binding.set_role(manifest::Binding::LABEL);
  binding.mutable_global_type()->set_type(manifest::I64);
  binding.set_class_count(count);
  return binding;
}

template <typename T>
std::string check(const manifest::Binding &binding, DataType type,
                  std::vector<T> values, std::vector<int64_t> shape = {}) {
  if (shape.empty())
    shape = {int64_t(values.size())};
  Status status = checkIndices(binding, {type, shape, values.data()});
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::InvalidInput);
  return status.message();
}

TEST(Indices, LabelsThatDoNotCountAreOfNoClass) {
  manifest::Binding labels = classes(3);
  labels.set_ignored_label(-100);
  EXPECT_EQ(check<int64_t>(labels, manifest::I64, {0, 2, -100, 1}), "");
  EXPECT_NE(check<int64_t>(labels, manifest::I64, {0, -100, -99})
                .find("it is -99, expected integers from 0 to 2, or -100"),
            std::string::npos);
  // 255 of a byte, but not what a negative one would be as a byte.
  labels.set_ignored_label(255);
  EXPECT_EQ(check<uint8_t>(labels, manifest::U8, {0, 255}), "");
  labels.set_ignored_label(-1);
  EXPECT_NE(check<uint8_t>(labels, manifest::U8, {0, 255}), "");
  EXPECT_NE(check<uint64_t>(labels, manifest::U64,
                            {std::numeric_limits<uint64_t>::max()}),
            "");
}

TEST(Indices, OfATableCountFromBothEnds) {
  EXPECT_EQ(check<int64_t>(ids(manifest::I64, 8), manifest::I64, {0, 7, -8}),
            "");
  EXPECT_EQ(check<int32_t>(ids(manifest::I32, 8), manifest::I32,
                           {0, 1, 2, 3, 8, 5}, {3, 2}),
            "an index is out of range (ids[2, 0]): it is 8, expected integers "
            "from -8 to 7; check how the input was numbered against the size "
            "of the model's table");
  EXPECT_NE(check<int64_t>(ids(manifest::I64, 8), manifest::I64, {-9})
                .find("it is -9"),
            std::string::npos);
  for (int64_t far : {std::numeric_limits<int64_t>::min(),
                      std::numeric_limits<int64_t>::max()})
    EXPECT_NE(check<int64_t>(ids(manifest::I64, 8), manifest::I64, {far}), "");
}

// Each coordinate has the size of its own dim; one of them may be anything.
TEST(Indices, OfCoordinates) {
  manifest::Binding places = ids(manifest::I64, 8);
  places.add_index_counts(3);
  EXPECT_EQ(check<int64_t>(places, manifest::I64, {7, 2, -8, -3}, {2, 2}), "");
  EXPECT_EQ(check<int64_t>(places, manifest::I64, {7, 2, 2, 7}, {2, 2}),
            "an index is out of range (ids[1, 1]): it is 7, expected integers "
            "from -3 to 2; check how the input was numbered against the size "
            "of the model's table");
  // The first in the tensor is named, not the first of a column.
  EXPECT_NE(check<int64_t>(places, manifest::I64, {7, 3, 8, 2}, {2, 2})
                .find("ids[0, 1]"),
            std::string::npos);
  places.set_index_counts(0, 0);
  EXPECT_EQ(check<int64_t>(places, manifest::I64, {99, 2}, {1, 2}), "");
}

// Without a sign there is nothing to count from the end.
TEST(Indices, WithoutSign) {
  EXPECT_EQ(check<uint8_t>(ids(manifest::U8, 8), manifest::U8, {0, 7}), "");
  EXPECT_NE(check<uint8_t>(ids(manifest::U8, 8), manifest::U8, {255}), "");
  // Nor in a file that has another type than the input.
  EXPECT_NE(check<uint64_t>(ids(manifest::I64, 8), manifest::U64,
                            {std::numeric_limits<uint64_t>::max()}),
            "");
  EXPECT_EQ(indexRanges(ids(manifest::U16, 8))[0].low, 0);
}

TEST(Indices, OfClasses) {
  EXPECT_EQ(check<int64_t>(classes(3), manifest::I64, {0, 2}), "");
  EXPECT_EQ(check<int64_t>(classes(3), manifest::I64, {0, 3}),
            "a label is no class of the model (y[1]): it is 3, expected "
            "integers from 0 to 2; check the labels and the model's number of "
            "classes");
  EXPECT_NE(check<int64_t>(classes(3), manifest::I64, {-1}), "");
}

// Rows that are no examples may hold anything.
TEST(Indices, OfMaskedRowsAreNotChecked) {
  manifest::Binding y = classes(3);
  std::vector<int64_t> values = {0, 2, -1, 7, 1, 3};
  TensorView rows = {manifest::I64, {3, 2}, values.data()};
  const bool none[] = {true, false, false}, last[] = {true, false, true};
  EXPECT_TRUE(checkIndices(y, rows, none).ok());
  EXPECT_NE(checkIndices(y, rows, last).message().find("(y[2, 1]): it is 3"),
            std::string::npos);
  // An argument without a batch has no such rows.
  y.set_batch_dim(-1);
  EXPECT_FALSE(checkIndices(y, rows, none).ok());
}

// Data in a mapped file begin where its header ends.
TEST(Indices, MayBeUnaligned) {
  std::vector<char> bytes(1 + 2 * sizeof(int64_t));
  int64_t values[] = {2, 9};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  Stray stray = findStray({manifest::I64, {2}, bytes.data() + 1}, {{0, 3}});
  EXPECT_EQ(stray.position, 1);
  EXPECT_EQ(stray.value, "9");
}

TEST(Indices, OfWhatIndexesNothingAreNotChecked) {
  EXPECT_EQ(check<int64_t>(ids(manifest::I64, 0), manifest::I64, {1 << 30}),
            "");
  EXPECT_EQ(check<int64_t>(classes(0), manifest::I64, {-5}), "");
  EXPECT_EQ(check<float>(ids(manifest::F32, 8), manifest::F32, {99}), "");
}

} // namespace
