//===- shards_test.cpp - Which worker reads which examples ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/shards.h"
#include "runtime/data/batches.h"
#include "runtime/data/source.h"
#include "test/runtime/data_fixture.h"
#include <algorithm>
#include <fstream>
#include <numeric>

using namespace dist;
using namespace dist::test;

namespace {

ShardDecision decided(const std::string &asked, int64_t workers, int64_t files,
                      bool shuffles = true) {
  ShardDecision decision;
  Status status = decideShards(asked, workers, files, shuffles, &decision);
  EXPECT_TRUE(status.ok()) << status.message();
  return decision;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(ShardDecisionTest, AutoTakesDataAndNamesWhatTensorFlowWouldTake) {
  ShardDecision one = decided("auto", 2, 1);
  EXPECT_EQ(one.policy, ShardPolicy::Data);
  EXPECT_FALSE(has(one.text, "TensorFlow")) << one.text;
  ShardDecision many = decided("auto", 2, 5);
  EXPECT_EQ(many.policy, ShardPolicy::Data);
  EXPECT_TRUE(has(many.text, "all 5 files")) << many.text;
  EXPECT_TRUE(has(many.text, "--shard-policy file: 2 files a worker, one more "
                             "for worker 0"))
      << many.text;
  EXPECT_FALSE(has(decided("auto", 3, 2).text, "TensorFlow"));
  EXPECT_FALSE(has(decided("data", 2, 5).text, "TensorFlow"));
}

TEST(ShardDecisionTest, FilesAndOrders) {
  EXPECT_EQ(decided("file", 3, 8).policy, ShardPolicy::File);
  EXPECT_TRUE(has(decided("file", 3, 8).text, "for worker 0 to 1"));
  EXPECT_EQ(decided("off", 2, 1).policy, ShardPolicy::Off);
  EXPECT_TRUE(has(decided("off", 2, 1).text, "an order of its own"));
  EXPECT_TRUE(has(decided("off", 2, 1, false).text, "the same examples"));
  ShardDecision decision;
  Status few = decideShards("file", 3, 2, true, &decision);
  EXPECT_TRUE(has(few.message(), "--data has 2 files for 3 workers"))
      << few.message();
  EXPECT_TRUE(has(few.message(), "--shard-policy data"));
}

TEST(ShardDecisionTest, FilesGoRound) {
  std::vector<std::string> files = {"a", "b", "c", "d", "e"};
  EXPECT_EQ(filesOfWorker(files, 0, 2),
            (std::vector<std::string>{"a", "c", "e"}));
  EXPECT_EQ(filesOfWorker(files, 1, 2), (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(filesOfWorker(files, 4, 5), (std::vector<std::string>{"e"}));
}

BatchPlan planOf(int64_t batch, int64_t rows, int64_t replicas) {
  BatchPlan plan;
  plan.batch = batch;
  plan.rows = rows;
  plan.replicas = replicas;
  plan.prefetch = 0;
  return plan;
}

TEST(ShardsTest, UnequalEndsAreOfWhatIsThere) {
  BatchPlan plan = planOf(8, 8, 4);
  ASSERT_TRUE(
      setShards({{10, 0, 4}, {3, 4, 8}}, 0, ShardPolicy::File, &plan).ok());
  EXPECT_EQ(BatchStream::batchesPerPass(0, plan), 3);
  std::vector<int64_t> examples;
  for (int64_t step = 0; step < 3; ++step)
    examples.push_back(BatchStream::examplesOf(0, plan, step));
  EXPECT_EQ(examples, (std::vector<int64_t>{7, 4, 2}));
  EXPECT_EQ(BatchStream::portionsOf(0, plan, 0),
            (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(BatchStream::portionsOf(0, plan, 2),
            (std::vector<int64_t>{1, 1, 0, 0}));
  plan.shards.clear();
  plan.dropRemainder = true;
  Status refused =
      setShards({{10, 0, 4}, {3, 4, 8}}, 0, ShardPolicy::File, &plan);
  EXPECT_TRUE(has(refused.message(), "worker 1 has 3 examples"))
      << refused.message();
  ASSERT_TRUE(
      setShards({{10, 0, 4}, {9, 4, 8}}, 0, ShardPolicy::File, &plan).ok());
  EXPECT_EQ(BatchStream::batchesPerPass(0, plan), 2);
  EXPECT_EQ(BatchStream::examplesOf(0, plan, 1), 8);
}

TEST(ShardsTest, WeightsAndRowsBeyondTheBatch) {
  BatchPlan uneven = planOf(7, 8, 4); // 2, 2, 2, 1 true ones
  ASSERT_TRUE(
      setShards({{9, 0, 4}, {9, 4, 8}}, 1, ShardPolicy::Off, &uneven).ok());
  EXPECT_EQ(uneven.shards[0].batch, 4);
  EXPECT_EQ(uneven.shards[1].batch, 3);
  EXPECT_EQ(BatchStream::portionsOf(0, uneven, 0),
            (std::vector<int64_t>{2, 2, 2, 1}));
  BatchPlan weighted = planOf(8, 8, 2);
  weighted.weights = {3, 1};
  ASSERT_TRUE(
      setShards({{6, 0, 6}, {6, 6, 8}}, 0, ShardPolicy::File, &weighted).ok());
  EXPECT_EQ(weighted.shards[0].batch, 6);
  EXPECT_EQ(BatchStream::batchesPerPass(0, weighted), 3);
  EXPECT_EQ(BatchStream::examplesOf(0, weighted, 1), 2);
}

TEST(ShardsTest, RefusesWhatCannotBeRight) {
  auto refused = [](std::vector<WorkerFacts> workers, int64_t batch,
                    int64_t rows) {
    BatchPlan plan = planOf(batch, rows, 2);
    Status status = setShards(workers, 0, ShardPolicy::File, &plan);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  EXPECT_TRUE(has(refused({{4, 0, 1}, {4, 1, 2}}, 1, 2),
                  "worker 1 gives none of 1 examples to 2 replicas"));
  EXPECT_TRUE(has(refused({{4, 0, 4}, {0, 4, 8}}, 8, 8), "worker 1's files"));
  EXPECT_TRUE(has(refused({{4, 0, 8}, {4, 0, 8}}, 8, 8), "another one takes"));
  EXPECT_TRUE(has(refused({{4, 0, 3}, {4, 3, 8}}, 8, 8), "another one takes"));
  EXPECT_TRUE(has(refused({{4, 0, 4}, {4, 0, 4}}, 8, 8), "another one takes"));
}

struct ShardDataTest : DataTest {
  std::unique_ptr<Dataset> numbers(int64_t first, int64_t n) {
    DataOptions options;
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), float(first));
    options.spec = "x=" + npy("x.npy", manifest::F32, {n, 1}, values) + ",y=" +
                   npy("y.npy", manifest::I64, {n}, std::vector<int64_t>(n));
    return opened(options, entry({4, 1}));
  }
  /// The rows that a worker fills.
  static std::vector<float> rows(const Batch &batch, const BatchPlan &plan) {
    const float *data = static_cast<const float *>(batch.tensors[0].data);
    return {data + plan.firstRow, data + plan.endRow};
  }
};

TEST_F(ShardDataTest, EachWorkerFillsItsRowsAndKnowsAllMasks) {
  for (int worker : {0, 1}) {
    auto data = numbers(100 * worker, worker == 0 ? 5 : 2);
    BatchPlan plan = planOf(4, 4, 2);
    plan.firstRow = 2 * worker;
    plan.endRow = plan.firstRow + 2;
    ASSERT_TRUE(
        setShards({{5, 0, 2}, {2, 2, 4}}, worker, ShardPolicy::File, &plan)
            .ok());
    BatchMaker maker(*data, plan);
    Batch batch;
    float base = 100 * worker;
    maker.make(0, &batch);
    EXPECT_FALSE(batch.partial);
    EXPECT_EQ(batch.examples, 4);
    EXPECT_EQ(rows(batch, plan), (std::vector<float>{base, base + 1}));
    maker.make(1, &batch);
    EXPECT_TRUE(batch.partial);
    EXPECT_EQ(batch.count, 2.f);
    EXPECT_EQ(batch.mask, (std::vector<char>{1, 1, 0, 0}));
    // Who has ended holds an example of its own, which counts nothing.
    EXPECT_EQ(rows(batch, plan), worker == 0 ? (std::vector<float>{2, 3})
                                             : (std::vector<float>{100, 100}));
    EXPECT_EQ(batch.indices.size(), worker == 0 ? 2u : 0u);
    maker.make(2, &batch);
    EXPECT_TRUE(batch.lastOfPass);
    EXPECT_EQ(batch.mask, (std::vector<char>{1, 0, 0, 0}));
    EXPECT_EQ(batch.count, 1.f);
    maker.make(3, &batch); // the next pass
    EXPECT_EQ(batch.pass, 1);
    EXPECT_EQ(rows(batch, plan), (std::vector<float>{base, base + 1}));
  }
}

TEST_F(ShardDataTest, ShuffledPassesHaveEachExampleOnce) {
  auto data = numbers(0, 7);
  BatchPlan plan = planOf(4, 4, 2);
  plan.firstRow = 0;
  plan.endRow = 2;
  plan.shuffle = 3;
  ASSERT_TRUE(
      setShards({{7, 0, 2}, {20, 2, 4}}, 0, ShardPolicy::File, &plan).ok());
  BatchMaker maker(*data, plan);
  for (int64_t pass : {0, 1}) {
    std::vector<int64_t> seen;
    for (int64_t step = 0; step < 10; ++step) {
      Batch batch;
      maker.make(10 * pass + step, &batch);
      seen.insert(seen.end(), batch.indices.begin(), batch.indices.end());
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(ShardDataTest, OneWorkersFilesAlone) {
  for (int i = 0; i < 3; ++i) {
    int64_t n = i + 1;
    npy("x" + std::to_string(i) + ".npy", manifest::F32, {n, 1},
        std::vector<float>(n, float(i)));
    npy("y" + std::to_string(i) + ".npy", manifest::I64, {n},
        std::vector<int64_t>(n, i));
  }
  DataOptions options;
  options.spec = "x=" + file("x*.npy") + ",y=" + file("y*.npy");
  options.workers = 2;
  EXPECT_TRUE(checkSharedFiles(options.spec).ok());
  EXPECT_EQ(opened(options, entry({4, 1}))->examples(), 4); // files 0 and 2
  options.worker = 1;
  auto second = opened(options, entry({4, 1}));
  EXPECT_EQ(second->examples(), 2);
  EXPECT_EQ(example(*second, 0), (std::vector<float>{1}));

  // Files that do not go together, whatever their sums are.
  npy("z0.npy", manifest::I64, {3}, std::vector<int64_t>(3));
  npy("z1.npy", manifest::I64, {2}, std::vector<int64_t>(2));
  npy("z2.npy", manifest::I64, {1}, std::vector<int64_t>(1));
  options.worker = 0;
  options.spec = "x=" + file("x*.npy") + ",y=" + file("z*.npy");
  EXPECT_TRUE(has(error(options, entry({4, 1})),
                  "it has 3 examples, the file that goes with it 1"));
  EXPECT_TRUE(
      has(checkSharedFiles("x=" + file("x*.npy") + ",y=" + file("y[01].npy"))
              .message(),
          "'y' has 2 files, 'x' has 3"));
  EXPECT_TRUE(
      has(checkSharedFiles("x=" + file("x*.npy") + "[0:2],y=" + file("y*.npy"))
              .message(),
          "a range is of all files together"));
}

// Each of CIFAR-10's batches is a file of its own, as TensorFlow counts them.
TEST_F(ShardDataTest, AFolderOfBatchesIsSeveralFiles) {
  for (int i = 1; i <= 5; ++i) {
    std::string bytes;
    for (int example = 0; example < i; ++example)
      bytes += char(i) + std::string(3 * 32 * 32, char(10 * i));
    std::ofstream(file("data_batch_" + std::to_string(i) + ".bin")) << bytes;
  }
  std::ofstream(file("test_batch.bin"))
      << char(9) + std::string(3 * 32 * 32, char(90));
  // Neither is one, though each begins as one.
  std::ofstream(file("test.1")) << "notes";
  std::ofstream(file("data_batch_1.txt")) << "notes";
  std::vector<std::string> files;
  ASSERT_TRUE(listDataFiles(folder, &files).ok());
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files[4], file("data_batch_5.bin"));
  ShardDecision decision;
  EXPECT_TRUE(decideShards("file", 2, 5, false, &decision).ok());
  EXPECT_TRUE(checkSharedFiles(folder).ok());
  DataOptions options;
  options.spec = folder;
  EXPECT_EQ(opened(options, entry({4, 3, 32, 32}))->examples(), 15);
  options.workers = 2;
  auto first = opened(options, entry({4, 3, 32, 32}));
  EXPECT_EQ(first->examples(), 1 + 3 + 5);
  EXPECT_EQ(example(*first, 1)[0], 30);
  options.worker = 1;
  auto second = opened(options, entry({4, 3, 32, 32}));
  EXPECT_EQ(second->examples(), 2 + 4);
  EXPECT_EQ(example(*second, 2)[0], 40);
  // The other part is one file.
  options.workers = 1;
  options.worker = 0;
  options.validation = true;
  EXPECT_EQ(opened(options, entry({4, 3, 32, 32}))->examples(), 1);
}

} // namespace
