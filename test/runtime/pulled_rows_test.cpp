//===- pulled_rows_test.cpp - Rows of tables in letters -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/rows.h"
#include "runtime/parameter_server/session_shard.h"
#include "test/runtime/values_session.h"
#include <gtest/gtest.h>

namespace dist::ps {
namespace {

using Rows = std::vector<int64_t>;

template <typename T>
TensorView viewOf(const std::vector<T> &numbers, DataType type) {
  return {type, {int64_t(numbers.size())}, numbers.data()};
}

TEST(PulledRows, AreThoseOfABatchOnce) {
  RowFinder finder(10);
  finder.begin();
  finder.add(viewOf<int64_t>({7, -1, 7, 0, 9, -10}, manifest::I64));
  finder.add(viewOf<uint8_t>({3, 0}, manifest::U8));
  EXPECT_EQ(finder.finish(), (Rows{0, 3, 7, 9}));
  // What is no row is the step's to find.
  finder.begin();
  finder.add(viewOf<int32_t>({10, -11, 2, 1 << 30}, manifest::I32));
  EXPECT_EQ(finder.finish(), Rows{2});
  finder.begin();
  EXPECT_EQ(finder.finish(), Rows{});
}

bool reads(const Buffer &bytes, Rows *out, const char **rest) {
  *rest = bytes.data();
  return readNumbers(rest, bytes.data() + bytes.size(), /*rows=*/10,
                     /*most=*/4, out);
}

TEST(PulledRows, GoIntoLettersAndOut) {
  for (const Rows &numbers : {Rows{}, Rows{0}, Rows{1, 5, 8, 9}}) {
    Buffer bytes;
    writeNumbers(numbers, &bytes);
    bytes.push_back('x');
    Rows read;
    const char *rest;
    ASSERT_TRUE(reads(bytes, &read, &rest));
    EXPECT_EQ(read, numbers);
    EXPECT_EQ(rest, bytes.data() + bytes.size() - 1);
  }
}

TEST(PulledRows, OtherLettersAreRefused) {
  Rows read;
  const char *rest;
  for (const Rows &numbers :
       {Rows{1, 1}, Rows{2, 1}, Rows{-1}, Rows{10}, Rows{0, 1, 2, 3, 4}}) {
    Buffer bytes;
    writeNumbers(numbers, &bytes);
    EXPECT_FALSE(reads(bytes, &read, &rest));
  }
  for (int64_t count : {int64_t(2), int64_t(-1), INT64_MAX, INT64_MIN}) {
    Buffer bytes;
    writeNumbers({1}, &bytes);
    std::memcpy(bytes.data(), &count, sizeof count);
    EXPECT_FALSE(reads(bytes, &read, &rest)) << count;
  }
  EXPECT_FALSE(reads(Buffer(), &read, &rest));
  EXPECT_FALSE(reads(Buffer(7), &read, &rest));
}

/// `apply` adds its gradients to the variables.
class AddingSession : public ValuesSession {
public:
  using ValuesSession::ValuesSession;
  const manifest::Entry *findEntry(const std::string &) const override {
    return &apply;
  }
  Status run(const manifest::Entry &, const std::vector<TensorView> &gradients,
             std::vector<Tensor> *) override {
    for (size_t i = 0; i < gradients.size(); ++i) {
      float *to = reinterpret_cast<float *>(values[i].data.data());
      const float *from = static_cast<const float *>(gradients[i].data);
      for (size_t j = 0; j < values[i].data.size() / sizeof(float); ++j)
        to[j] += from[j];
    }
    return Status();
  }
  manifest::Entry apply;
};

/// A server with a bias of 3 and 4 rows of 2 of a table, of which a step looks
/// up 3 at most.
struct PulledShardTest : testing::Test {
  void SetUp() override {
    layout.tables.resize(1);
    layout.tables[0].most = 3;
    layout.tables[0].rowBytes = 2 * sizeof(float);
    ServerLayout &server = layout.servers.emplace_back();
    add(server, "bias", {3});
    add(server, "table/part_1", {4, 2});
    server.parts[1].table = 0;
    server.partBytes = 64;
    server.mostRowBytes = 8 + 3 * 16;
    session = std::make_unique<AddingSession>(server.manifest);
    auto *values = reinterpret_cast<float *>(session->values[1].data.data());
    for (int i = 0; i < 8; ++i)
      values[i] = float(i);
    ASSERT_TRUE(SessionShard::create(*session, layout, 0, &shard).ok());
  }
  static void add(ServerLayout &server, const char *name, Rows shape) {
    manifest::Variable *variable = server.manifest.add_variables();
    variable->set_name(name);
    variable->mutable_global_type()->set_type(manifest::F32);
    for (int64_t dim : shape)
      variable->mutable_global_type()->add_shape(dim);
    PlacedPart part;
    part.there = int(server.parts.size());
    part.type = manifest::F32;
    part.shape = shape;
    part.bytes = byteSize(variable->global_type());
    server.parts.push_back(part);
  }
  static Buffer pull(const Rows &numbers) {
    Buffer bytes;
    writeNumbers(numbers, &bytes);
    return bytes;
  }
  static Buffer push(const Rows &numbers, const std::vector<float> &rows) {
    Buffer bytes(64, 0);
    writeNumbers(numbers, &bytes);
    size_t at = bytes.size();
    bytes.resize(at + rows.size() * sizeof(float));
    if (!rows.empty())
      std::memcpy(bytes.data() + at, rows.data(), rows.size() * sizeof(float));
    return bytes;
  }
  std::vector<float> rowsOf(const Rows &numbers) {
    Buffer out;
    EXPECT_TRUE(shard->addRows(pull(numbers), &out).ok());
    std::vector<float> rows(out.size() / sizeof(float));
    if (!out.empty())
      std::memcpy(rows.data(), out.data(), out.size());
    return rows;
  }
  Layout layout;
  std::unique_ptr<AddingSession> session;
  std::unique_ptr<SessionShard> shard;
};

TEST_F(PulledShardTest, GivesTheRowsThatAreAskedFor) {
  EXPECT_TRUE(shard->isPull(pull({1, 3})));
  EXPECT_EQ(rowsOf({1, 3}), (std::vector<float>{2, 3, 6, 7}));
  EXPECT_EQ(rowsOf({}), std::vector<float>());
  Buffer others;
  ASSERT_TRUE(shard->readParameters(&others).ok());
  EXPECT_EQ(others.size(), 64u);
}

TEST_F(PulledShardTest, AddsTheRowsThatComeAndNoOthers) {
  AppliedBody body;
  Buffer first = push({0, 2}, {10, 20, 30, 40}), second = push({3}, {1, 1});
  ASSERT_TRUE(shard->isPush(first) && shard->isPush(second));
  EXPECT_EQ(rowsOf({0}), (std::vector<float>{0, 1}));
  ASSERT_TRUE(shard->apply(first, &body).ok());
  EXPECT_EQ(rowsOf({0, 2}), (std::vector<float>{10, 21, 34, 45}));
  // The rows of the update before are not in this one.
  ASSERT_TRUE(shard->apply(second, &body).ok());
  EXPECT_EQ(rowsOf({0, 2, 3}), (std::vector<float>{10, 21, 34, 45, 7, 8}));
}

TEST_F(PulledShardTest, WhatIsWrittenIsWhatIsPulled) {
  EXPECT_EQ(rowsOf({1}), (std::vector<float>{2, 3}));
  layout.servers[0].stateBytes = 128;
  layout.servers[0].stateOffsets = {0, 64};
  ASSERT_TRUE(shard->writeState(Buffer(128, 0)).ok());
  EXPECT_EQ(rowsOf({1}), (std::vector<float>{0, 0}));
}

TEST_F(PulledShardTest, RefusesOtherLetters) {
  EXPECT_FALSE(shard->isPull(Buffer()));
  EXPECT_FALSE(shard->isPull(pull({4})));
  EXPECT_FALSE(shard->isPull(pull({0, 1, 2, 3})));
  Buffer longer = pull({0});
  longer.push_back(0);
  EXPECT_FALSE(shard->isPull(longer));
  EXPECT_FALSE(shard->isPush(Buffer(10)));
  EXPECT_FALSE(shard->isPush(Buffer(64)));
  EXPECT_FALSE(shard->isPush(push({0, 1}, {1, 2, 3})));
  EXPECT_FALSE(shard->isPush(push({0}, {1, 2, 3})));
  EXPECT_FALSE(shard->isPush(push({1, 0}, {1, 2, 3, 4})));
}

} // namespace
} // namespace dist::ps
