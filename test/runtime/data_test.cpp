//===- data_test.cpp - Data sets and batches -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/folder_test.h"
#include "runtime/data/batches.h"
#include "runtime/data/shuffle.h"
#include "runtime/data/source.h"
#include "runtime/formats/npy.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>

using namespace dist;

namespace {

struct DataTest : FolderTest {
  std::string file(const std::string &name) { return folder / name; }
  template <typename T>
  std::string npy(const std::string &name, DataType type,
                  std::vector<int64_t> shape, const std::vector<T> &values) {
    EXPECT_TRUE(writeNpy(file(name), {type, shape, values.data()}).ok());
    return file(name);
  }
  static manifest::Entry entry(std::vector<int64_t> input,
                               std::vector<int64_t> label = {4},
                               DataType labelType = manifest::I64,
                               int64_t classes = 10) {
    manifest::Entry entry;
    auto *x = entry.add_arguments();
    x->set_name("image");
    x->mutable_global_type()->set_type(manifest::F32);
    for (int64_t dim : input)
      x->mutable_global_type()->add_shape(dim);
    auto *y = entry.add_arguments();
    y->set_role(manifest::Binding::LABEL);
    y->set_name("label");
    y->mutable_global_type()->set_type(labelType);
    for (int64_t dim : label)
      y->mutable_global_type()->add_shape(dim);
    y->set_class_count(classes);
    auto *w = entry.add_arguments();
    w->set_role(manifest::Binding::VARIABLE);
    return entry;
  }
  std::string error(const DataOptions &options, const manifest::Entry &entry) {
    std::unique_ptr<Dataset> data;
    Status status = Dataset::open(options, entry, &data);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.code(), StatusCode::Internal);
    return status.message();
  }
  std::unique_ptr<Dataset> opened(const DataOptions &options,
                                  const manifest::Entry &entry) {
    std::unique_ptr<Dataset> data;
    Status status = Dataset::open(options, entry, &data);
    EXPECT_TRUE(status.ok()) << status.message();
    return data;
  }
  static std::vector<float> example(const Dataset &data, int64_t index) {
    const Column &column = data.columns()[0];
    std::vector<float> out(column.exampleElements());
    column.gather(&index, 1, reinterpret_cast<char *>(out.data()));
    return out;
  }
};

std::vector<uint8_t> counting(size_t n) {
  std::vector<uint8_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST_F(DataTest, PairsWithScaleAndUnitDims) {
  DataOptions options;
  options.spec = "x=" + npy("x.npy", manifest::U8, {6, 2, 2}, counting(24)) +
                 ",y=" + npy("y.npy", manifest::U8, {6}, counting(6));
  options.scale["x"] = "1/255";
  auto data = opened(options, entry({4, 1, 2, 2}));
  EXPECT_EQ(data->examples(), 6);
  EXPECT_EQ(example(*data, 2)[1], 9 / 255.f);
  // Flat inputs take images, and images flat data.
  opened(options, entry({4, 4}));
  // The decoded copy holds the same numbers.
  options.cache = true;
  auto cached = opened(options, entry({4, 1, 2, 2}));
  EXPECT_TRUE(cached->columns()[0].direct());
  EXPECT_EQ(example(*cached, 2), example(*data, 2));
}

TEST_F(DataTest, RangesAreCut) {
  DataOptions options;
  options.spec = "x=" + npy("x.npy", manifest::U8, {6, 1}, counting(6)) +
                 "[2:5],y=" + npy("y.npy", manifest::U8, {6}, counting(6)) +
                 "[2:5]";
  auto data = opened(options, entry({4, 1}));
  EXPECT_EQ(data->examples(), 3);
  EXPECT_EQ(example(*data, 0)[0], 2);
}

TEST_F(DataTest, ChannelsMoveByLayout) {
  DataOptions options;
  // One 1x2 image of 3 channels, channels last.
  options.spec = "x=" + npy("x.npy", manifest::U8, {1, 1, 2, 3}, counting(6)) +
                 ",y=" + npy("y.npy", manifest::U8, {1}, counting(1));
  EXPECT_NE(error(options, entry({4, 3, 1, 2})).find("--layout image=NHWC"),
            std::string::npos);
  options.layout["image"] = "NHWC";
  options.mean["image"] = "0,1,2";
  options.std["image"] = "1,2,4";
  auto data = opened(options, entry({4, 3, 1, 2}));
  EXPECT_EQ(example(*data, 0), (std::vector<float>{0, 3, 0, 1.5f, 0, 0.75f}));
}

TEST_F(DataTest, CsvAndArchives) {
  std::ofstream(file("d.csv")) << "a,b,label\n1,2,0\n3,4,1\n";
  DataOptions options;
  options.spec = file("d.csv");
  auto data = opened(options, entry({4, 2}));
  EXPECT_EQ(example(*data, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(data->columns()[1].array.shape[0], 2);
}

TEST_F(DataTest, FoldersOfIdxFiles) {
  std::filesystem::create_directory(folder / "mnist");
  auto idx = [&](const char *name, const std::string &bytes) {
    std::ofstream(folder / "mnist" / name, std::ios::binary) << bytes;
  };
  idx("train-images-idx3-ubyte",
      std::string("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\2abcd", 20));
  idx("train-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\2\3\4", 10));
  DataOptions options;
  options.spec = folder / "mnist";
  auto data = opened(options, entry({4, 1, 1, 2}));
  EXPECT_EQ(example(*data, 1)[0], 'c');
  options.validation = true;
  EXPECT_NE(error(options, entry({4, 1, 1, 2})).find("t10k"),
            std::string::npos);
}

TEST_F(DataTest, RefusesWhatDoesNotFit) {
  auto x = npy("x.npy", manifest::U8, {6, 4}, counting(24));
  auto y = npy("y.npy", manifest::U8, {6}, counting(6));
  auto spec = [](const std::string &text) {
    DataOptions options;
    options.spec = text;
    return options;
  };
  auto message = [&](const std::string &text) {
    return error(spec(text), entry({4, 4}));
  };
  auto has = [](const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(message("x=" + x), "no data for the model's label"));
  EXPECT_TRUE(has(message("x=" + x + ",y=" + y + "[:5]"), "differ in length"));
  EXPECT_TRUE(has(message("x=" + x + "[:0],y=" + y + "[:0]"), "no examples"));
  EXPECT_TRUE(has(message("x=" + x + ",y=" + y + ",z=" + y), "no such input"));
  EXPECT_TRUE(has(message("x=" + x + ",x=" + y), "given twice"));
  EXPECT_TRUE(has(message("x=" + file("none.npy") + ",y=" + y), "none.npy"));
  EXPECT_TRUE(has(message("x=" + x + "[3:b],y=" + y), "bounds"));
  EXPECT_TRUE(has(message(file("x.npy")), "which input"));
  EXPECT_TRUE(has(message(folder.string()), "neither"));
  EXPECT_TRUE(has(error(spec("x=" + x + ",y=" + y), entry({4, 5})),
                  "expected examples of shape"));
  // Classes are 0..2, the labels 0..5.
  EXPECT_TRUE(has(
      error(spec("x=" + x + ",y=" + y), entry({4, 4}, {4}, manifest::I64, 3)),
      "example 3 has label 3"));
  auto negative =
      npy("n.npy", manifest::I8, {6}, std::vector<int8_t>{0, -1, 0, 0, 0, 0});
  EXPECT_TRUE(has(message("x=" + x + ",y=" + negative), "label -1"));
  auto half = npy("h.npy", manifest::F32, {6}, std::vector<float>(6, 0.5f));
  EXPECT_TRUE(has(message("x=" + x + ",y=" + half), "label 0.5"));
}

TEST_F(DataTest, IntegerInputsTakeWhatTheyCanHold) {
  auto y = npy("y.npy", manifest::U8, {2}, counting(2));
  auto tokens = entry({2, 2}, {2});
  tokens.mutable_arguments(0)->mutable_global_type()->set_type(manifest::I32);
  DataOptions options;
  options.spec = "x=" + file("x.npy") + ",y=" + y;
  auto refuses = [&](DataType type, auto last, const std::string &part) {
    npy("x.npy", type, {2, 2}, std::vector<decltype(last)>{1, 2, 3, last});
    return error(options, tokens).find(part) != std::string::npos;
  };
  EXPECT_TRUE(refuses(manifest::F32, 3.5f, "example 1 holds 3.5, and the"));
  EXPECT_TRUE(refuses(manifest::I64, -(int64_t(1) << 31) - 1, "-2147483649,"));
  EXPECT_TRUE(refuses(manifest::F64, std::nan(""), "holds nan"));
  npy("x.npy", manifest::F64, {2, 2},
      std::vector<double>{1, 2, 2147483647.0, -2147483648.0});
  int32_t out[2];
  int64_t index = 1;
  auto data = opened(options, tokens);
  data->columns()[0].gather(&index, 1, reinterpret_cast<char *>(out));
  EXPECT_EQ(out[0], INT32_MAX);
  EXPECT_EQ(out[1], INT32_MIN);
}

TEST_F(DataTest, FindsNonfiniteExamples) {
  std::vector<float> values(12, 1.f);
  values[7] = NAN;
  DataOptions options;
  options.spec = "x=" + npy("x.npy", manifest::F32, {6, 2}, values) +
                 ",y=" + npy("y.npy", manifest::U8, {6}, counting(6));
  auto data = opened(options, entry({4, 2}));
  EXPECT_EQ(data->findNonfinite(0, {0, 1, 2}), -1);
  EXPECT_EQ(data->findNonfinite(0, {5, 3}), 3);
}

TEST(Fractions, ParseAndRefuse) {
  double top, bottom;
  EXPECT_TRUE(parseFraction("1/255", &top, &bottom));
  EXPECT_EQ(bottom, 255);
  EXPECT_TRUE(parseFraction("-2.5e-1", &top, &bottom));
  for (const char *bad : {"", "1/0", "x", "1/", "/2", "1/2/3", "nan"})
    EXPECT_FALSE(parseFraction(bad, &top, &bottom)) << bad;
}

TEST(Shuffle, IsAPermutationOfSeedAndPass) {
  std::vector<int64_t> a, b, c, d;
  shuffledOrder(5, 0, 1000, &a);
  shuffledOrder(5, 0, 1000, &b);
  shuffledOrder(5, 1, 1000, &c);
  shuffledOrder(6, 0, 1000, &d);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, d);
  std::sort(a.begin(), a.end());
  for (int64_t i = 0; i < 1000; ++i)
    EXPECT_EQ(a[i], i);
}

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
      all.push_back(BatchStream::shareOf(examples, plan, r));
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
