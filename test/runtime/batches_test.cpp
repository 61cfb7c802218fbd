//===- batches_test.cpp - Batches of a data set -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/batches.h"
#include "runtime/data/shards.h"
#include "test/runtime/data_fixture.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace dist;
using namespace dist::test;

namespace {

struct BatchTest : DataTest {
  std::unique_ptr<Dataset> numbers(int64_t n) {
    DataOptions options;
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.f);
    options.spec = "x=" + npy("x.npy", manifest::F32, {n, 1}, values) + ",y=" +
                   npy("y.npy", manifest::I64, {n}, std::vector<int64_t>(n));
    return opened(options, entry({4, 1}));
  }
  static std::vector<float> rows(const Batch &batch) {
    const float *data = static_cast<const float *>(batch.tensors[0].data);
    return {data, data + batch.tensors[0].shape[0]};
  }
};

TEST_F(BatchTest, FullBatchesPointIntoTheFile) {
  auto data = numbers(8);
  BatchPlan plan;
  plan.batch = plan.rows = 4;
  plan.endBatch = 2;
  BatchStream stream(*data, plan);
  const Batch *first = stream.next();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->partial);
  EXPECT_EQ(first->tensors[0].data, data->columns()[0].array.data);
  const Batch *second = stream.next();
  EXPECT_EQ(rows(*second), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_TRUE(second->lastOfPass);
  EXPECT_EQ(stream.next(), nullptr);
}

TEST_F(BatchTest, ByNumberTheyAreThoseOfTheStream) {
  auto data = numbers(10);
  BatchPlan plan;
  plan.batch = plan.rows = 4;
  plan.shuffle = 7;
  plan.endBatch = 9;
  std::vector<std::vector<int64_t>> inOrder;
  for (BatchStream stream(*data, plan); const Batch *batch = stream.next();)
    inOrder.push_back(batch->indices);
  ASSERT_EQ(inOrder.size(), 9u);
  BatchMaker maker(*data, plan);
  Batch batch;
  for (int64_t number : {8, 0, 3, 2, 5, 1, 7, 6, 4}) {
    maker.make(number, &batch);
    EXPECT_EQ(batch.number, number);
    EXPECT_EQ(batch.indices, inOrder[number]);
    EXPECT_EQ(rows(batch)[0], float(inOrder[number][0]));
  }
}

TEST_F(BatchTest, ShortBatchIsSharedOutAndMasked) {
  auto data = numbers(7);
  BatchPlan plan;
  plan.batch = plan.rows = 4;
  plan.replicas = 2;
  plan.prefetch = 0;
  BatchStream stream(*data, plan);
  stream.next();
  const Batch *last = stream.next();
  EXPECT_TRUE(last->partial);
  EXPECT_EQ(last->count, 3.f);
  EXPECT_EQ(rows(*last), (std::vector<float>{4, 5, 6, 6}));
  EXPECT_EQ(last->mask, (std::vector<char>{1, 1, 1, 0}));
  // The next pass starts anew.
  const Batch *again = stream.next();
  EXPECT_EQ(again->pass, 1);
  EXPECT_EQ(rows(*again), (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(BatchTest, AReplicaWithoutExamplesCopiesAnothers) {
  auto data = numbers(1);
  BatchPlan plan;
  plan.batch = plan.rows = 4;
  plan.replicas = 2;
  BatchStream stream(*data, plan);
  const Batch *only = stream.next();
  EXPECT_EQ(rows(*only), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(only->mask, (std::vector<char>{1, 0, 0, 0}));
}

// A worker that is through its data is still in the sums: 0 * NaN is NaN.
TEST_F(BatchTest, AWorkerWithoutExamplesCopiesAFiniteOne) {
  DataOptions options;
  const float nan = std::nanf(""), infinity = HUGE_VALF;
  options.spec =
      "x=" +
      npy("x.npy", manifest::F32, {4, 1},
          std::vector<float>{nan, infinity, 2, 3}) +
      ",y=" + npy("y.npy", manifest::I64, {4}, std::vector<int64_t>(4));
  auto data = opened(options, entry({4, 1}));
  BatchPlan plan;
  plan.batch = plan.rows = 4;
  plan.replicas = 2;
  plan.endBatch = 3;
  ASSERT_TRUE(
      setShards({{4, 0, 2}, {6, 2, 4}}, 0, ShardPolicy::File, &plan).ok());
  plan.endRow = 2;
  Batch batch;
  BatchMaker maker(*data, plan);
  maker.make(0, &batch);
  EXPECT_TRUE(std::isnan(rows(batch)[0])); // its own are as they are
  maker.make(2, &batch);
  EXPECT_TRUE(batch.indices.empty());
  EXPECT_EQ(rows(batch)[0], 2);
  EXPECT_EQ(rows(batch)[1], 2);
}

// Unequal devices: by weight, and what is left one by one; each finds room for
// its part of any number of examples.
TEST_F(BatchTest, SharesFollowTheWeights) {
  BatchPlan plan;
  plan.batch = plan.rows = 8;
  plan.replicas = 3;
  plan.weights = {1, 2, 1};
  auto shares = [&](int64_t examples) {
    std::vector<int64_t> all;
    for (int64_t r = 0; r < plan.replicas; ++r)
      all.push_back(BatchStream::portionOf(examples, plan, r));
    return all;
  };
  EXPECT_EQ(shares(8), (std::vector<int64_t>{2, 4, 2}));
  EXPECT_EQ(shares(5), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(shares(3), (std::vector<int64_t>{1, 2, 0}));
  EXPECT_EQ(shares(1), (std::vector<int64_t>{1, 0, 0}));
  for (plan.weights = {7, 1, 3}, plan.rows = 22; plan.rows <= 110;
       plan.rows += 22)
    for (int64_t examples = 0; examples <= plan.rows; ++examples) {
      int64_t sum = 0;
      for (int64_t r = 0; r < plan.replicas; ++r) {
        EXPECT_LE(shares(examples)[r], BatchStream::rowsOf(plan, r));
        sum += shares(examples)[r];
      }
      EXPECT_EQ(sum, examples);
    }
  // Equal weights are as none.
  plan.rows = 9;
  plan.weights = {1, 1, 1};
  auto equal = shares(8);
  plan.weights.clear();
  EXPECT_EQ(shares(8), equal);
}

TEST_F(BatchTest, ShortBatchOfUnequalShares) {
  auto data = numbers(11);
  BatchPlan plan;
  plan.batch = plan.rows = 8;
  plan.replicas = 2;
  plan.weights = {3, 1};
  plan.prefetch = 0;
  BatchStream stream(*data, plan);
  EXPECT_FALSE(stream.next()->partial);
  const Batch *last = stream.next();
  EXPECT_TRUE(last->partial);
  EXPECT_EQ(last->count, 3.f);
  // Two and one left over for the first; the second copies an example.
  EXPECT_EQ(rows(*last), (std::vector<float>{8, 9, 10, 8, 8, 8, 8, 8}));
  EXPECT_EQ(last->mask, (std::vector<char>{1, 1, 1, 0, 0, 0, 0, 0}));
}

TEST_F(BatchTest, IndivisibleBatchIsAlwaysPartial) {
  auto data = numbers(10);
  BatchPlan plan;
  plan.batch = 5;
  plan.rows = 6;
  plan.replicas = 2;
  BatchStream stream(*data, plan);
  const Batch *first = stream.next();
  EXPECT_TRUE(first->partial);
  EXPECT_EQ(rows(*first), (std::vector<float>{0, 1, 2, 3, 4, 3}));
  EXPECT_EQ(first->mask, (std::vector<char>{1, 1, 1, 1, 1, 0}));
}

TEST_F(BatchTest, TheOrderDoesNotDependOnPrefetchNorOnTheStart) {
  auto data = numbers(23);
  auto order = [&](int64_t prefetch, int64_t first) {
    BatchPlan plan;
    plan.batch = plan.rows = 4;
    plan.shuffle = 3;
    plan.prefetch = prefetch;
    plan.firstBatch = first;
    plan.endBatch = 15;
    BatchStream stream(*data, plan);
    std::vector<std::vector<int64_t>> all;
    while (const Batch *batch = stream.next()) {
      EXPECT_EQ(batch->number, first + int64_t(all.size()));
      all.push_back(batch->indices);
    }
    return all;
  };
  auto whole = order(2, 0);
  EXPECT_EQ(whole.size(), 15u);
  EXPECT_EQ(order(0, 0), whole);
  EXPECT_EQ(order(5, 8), decltype(whole)(whole.begin() + 8, whole.end()));
}

TEST_F(BatchTest, DroppedRemainder) {
  BatchPlan plan;
  plan.batch = plan.rows = 4;
  EXPECT_EQ(BatchStream::batchesPerPass(7, plan), 2);
  plan.dropRemainder = true;
  EXPECT_EQ(BatchStream::batchesPerPass(7, plan), 1);
}

} // namespace
