//===- data_test.cpp - Data sets -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/shuffle.h"
#include "runtime/data/preprocessing.h"
#include "runtime/data/source.h"
#include "test/runtime/data_fixture.h"
#include "test/runtime/record_fixture.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

using namespace dist;
using namespace dist::test;

namespace {

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

TEST_F(DataTest, NumbersOfClassesNameTheSparseLoss) {
  DataOptions options;
  options.spec = "x=" + npy("x.npy", manifest::U8, {6, 4}, counting(24)) +
                 ",y=" + npy("y.npy", manifest::U8, {6}, counting(6));
  EXPECT_NE(error(options, entry({4, 4}, {4, 10}, manifest::F32))
                .find("--loss sparse-categorical-crossentropy"),
            std::string::npos);
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

TEST_F(DataTest, FlatExamplesHaveTheirChannelsWhereLayoutTells) {
  // A 2x2 image of 3 channels, channels last: in a TFRecord, and as a row.
  std::ofstream(file("d.tfrecord"), std::ios::binary) << record(
      {{"x", strings({std::string("\0\1\2\3\4\5\6\7\10\11\12\13", 12)})},
       {"y", integers({0})}});
  std::ofstream(file("d.csv")) << "0,1,2,3,4,5,6,7,8,9,10,11,0\n";
  const std::vector<float> last = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                           first = {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11};
  for (const char *name : {"d.tfrecord", "d.csv"}) {
    DataOptions options;
    options.spec = file(name);
    auto read = [&](std::vector<int64_t> shape) {
      return example(*opened(options, entry(shape)), 0);
    };
    EXPECT_EQ(read({4, 3, 2, 2}), last); // as the model has it
    options.layout["x"] = "NHWC";
    EXPECT_EQ(read({4, 3, 2, 2}), first);
    EXPECT_EQ(read({4, 2, 2, 3}), last);
    EXPECT_EQ(read({4, 12}), last); // no channels
    options.mean["x"] = "0,1,2";
    EXPECT_EQ(read({4, 3, 2, 2}),
              (std::vector<float>{0, 3, 6, 9, 0, 3, 6, 9, 0, 3, 6, 9}));
    options.layout["x"] = "NCHW";
    options.mean["x"] = "0,4,8";
    EXPECT_EQ(read({4, 3, 2, 2}),
              (std::vector<float>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
    EXPECT_EQ(read({4, 2, 2, 3}),
              (std::vector<float>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}));
    options.layout.clear();
    EXPECT_NE(error(options, entry({4, 3, 2, 2})).find("--layout image=NHWC"),
              std::string::npos);
  }
}

TEST_F(DataTest, LayoutIsRefusedWhereDimsDoNotTellTheChannels) {
  auto y = npy("y.npy", manifest::U8, {1}, counting(1));
  auto refuses = [&](std::vector<int64_t> shape, std::vector<int64_t> to) {
    shape.insert(shape.begin(), 1);
    to.insert(to.begin(), 4);
    DataOptions options;
    options.spec = "x=" +
                   npy("x.npy", manifest::U8, shape,
                       counting(size_t(elementCount(shape)))) +
                   ",y=" + y;
    opened(options, entry(to));
    options.layout["x"] = "NHWC";
    std::unique_ptr<Dataset> data;
    Status status = Dataset::open(options, entry(to), &data);
    return status.message().find("where the model has its channels") !=
           std::string::npos;
  };
  EXPECT_FALSE(refuses({90}, {3, 5, 6}) || refuses({90}, {5, 6, 3}));
  EXPECT_TRUE(refuses({60}, {3, 5, 4})); // either could be colours
  EXPECT_TRUE(refuses({210}, {5, 6, 7}));
  EXPECT_TRUE(refuses({20}, {2, 2, 5})); // 2 channels, or 5 of a square
  EXPECT_TRUE(refuses({24}, {1, 2, 3, 4}));
  EXPECT_TRUE(refuses({27}, {3, 3, 3}));
  EXPECT_TRUE(refuses({3, 3, 3}, {3, 3, 3}));
  // Two dims are an image of one channel.
  EXPECT_FALSE(refuses({4, 5}, {4, 5}) || refuses({20}, {4, 5}));
}

TEST_F(DataTest, CsvAndArchives) {
  std::ofstream(file("d.csv")) << "a,b,label\n1,2,0\n3,4,1\n";
  DataOptions options;
  options.spec = file("d.csv");
  auto data = opened(options, entry({4, 2}));
  EXPECT_EQ(example(*data, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(data->columns()[1].array.shape[0], 2);
}

TEST_F(DataTest, AFileThatIsThereIsMeant) {
  std::filesystem::create_directory(file("a=1,b"));
  std::ofstream(file("a=1,b/d.csv")) << "1,2,0\n3,4,1\n";
  DataOptions options;
  options.spec = file("a=1,b/d.csv") + "[1:2]";
  EXPECT_EQ(example(*opened(options, entry({4, 2})), 0)[0], 3);
}

TEST_F(DataTest, SeveralFilesAreOne) {
  auto write = [&](const char *name, std::vector<uint8_t> values) {
    return npy(name, manifest::U8, {int64_t(values.size()), 1}, values);
  };
  write("x-1.npy", {1, 2});
  write("x-0.npy", {0});
  write("x-2.npy", {3, 4, 5});
  DataOptions options;
  std::string y = npy("y.npy", manifest::U8, {6}, counting(6));
  options.spec = "x=" + file("x-*.npy") + ",y=" + y;
  auto data = opened(options, entry({4, 1}));
  EXPECT_EQ(data->examples(), 6);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(example(*data, i)[0], i);
  // The range is one of all of them, and a list has an order of its own.
  std::ofstream(file("list")) << "x-2.npy\r\n\nx-0.npy\n" + file("x-1.npy");
  options.spec = "x=@" + file("list") + "[1:5],y=" + y + "[1:5]";
  data = opened(options, entry({4, 1}));
  EXPECT_EQ(example(*data, 0)[0], 4);
  EXPECT_EQ(example(*data, 2)[0], 0);
  EXPECT_EQ(example(*data, 3)[0], 1);

  auto refuses = [&](const std::string &x, const std::string &part) {
    options.spec = "x=" + x + ",y=" + y;
    std::string text = error(options, entry({4, 1}));
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(refuses(file("z-*.npy"), "no file matches it"));
  std::ofstream(file("empty")) << "\n";
  EXPECT_TRUE(refuses("@" + file("empty"), "names no file"));
  EXPECT_TRUE(refuses("@" + file("none"), "none"));
  npy("x-3.npy", manifest::U8, {1, 2}, counting(2));
  EXPECT_TRUE(refuses(file("x-*.npy"),
                      "x-3.npy): an example of 'x' is u8 [2], in the files "
                      "before it u8 [1]"));
  npy("x-3.npy", manifest::U8, {}, counting(1));
  EXPECT_TRUE(refuses(file("x-*.npy"), "single number"));
  // A name with such letters in it that is a file's is that file.
  write("q[1]?.npy", {7, 7, 7, 7, 7, 7});
  options.spec = "x=" + file("q[1]?.npy") + ",y=" + y;
  EXPECT_EQ(example(*opened(options, entry({4, 1})), 0)[0], 7);
}

TEST_F(DataTest, ArraysOfAFileByTheirNames) {
  std::ofstream(file("a#b.csv")) << "1\n2\n";
  std::vector<float> x = {1, 2, 3, 4};
  std::vector<int64_t> y = {1, 0};
  std::ofstream out(file("d.tfrecord"), std::ios::binary);
  for (int i = 0; i < 2; ++i)
    out << record({{"pixels", floats({x[2 * i], x[2 * i + 1]})},
                   {"class/label", integers({y[i]})}});
  out.close();
  DataOptions options;
  options.spec = "x=" + file("d.tfrecord") + "#pixels,y=" + file("d.tfrecord") +
                 "#class/label";
  auto data = opened(options, entry({4, 2}));
  EXPECT_EQ(example(*data, 1), (std::vector<float>{3, 4}));
  options.spec = "x=" + file("d.tfrecord") + ",y=" + file("a#b.csv");
  EXPECT_NE(error(options, entry({4, 2}))
                .find("it holds 'class/label', 'pixels', none named 'x' "
                      "(x=FILE#ARRAY takes another)"),
            std::string::npos);
  options.spec = "x=" + file("d.tfrecord") + "#none,y=" + file("a#b.csv");
  EXPECT_NE(error(options, entry({4, 2})).find("none named 'none'"),
            std::string::npos);
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
  EXPECT_TRUE(
      has(message("x=" + x + "[2:99],y=" + y + "[2:99]"), "beyond its"));
  EXPECT_TRUE(has(message("x=" + x + "[3:2],y=" + y + "[3:2]"), "before it"));
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

TEST_F(DataTest, NamesOfPreprocessingAreTheModels) {
  DataOptions options;
  options.spec = "x=" + npy("x.npy", manifest::U8, {6, 4}, counting(24)) +
                 ",y=" + npy("y.npy", manifest::U8, {6}, counting(6));
  for (auto *table :
       {&options.scale, &options.mean, &options.std, &options.layout}) {
    std::string value = table == &options.layout ? "NCHW" : "1";
    // A name that the model lacks would leave the data as they are.
    (*table)["img"] = value;
    EXPECT_NE(error(options, entry({4, 4}))
                  .find("the model has no input 'img'; the model has image, "
                        "label; x is the first input, y the label"),
              std::string::npos);
    // Of two names for one argument, one would do nothing.
    table->clear();
    (*table)["x"] = (*table)["image"] = value;
    EXPECT_NE(error(options, entry({4, 4}))
                  .find("'image' and 'x' are the same argument"),
              std::string::npos);
    table->clear();
    (*table)["x"] = value;
    opened(options, entry({4, 4}));
    table->clear();
  }
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

TEST_F(DataTest, IndicesStayInTheirTable) {
  auto y = npy("y.npy", manifest::U8, {2}, counting(2));
  auto tokens = entry({2, 2}, {2});
  tokens.mutable_arguments(0)->mutable_global_type()->set_type(manifest::I64);
  tokens.mutable_arguments(0)->add_index_counts(8);
  DataOptions options;
  options.spec = "x=" + file("x.npy") + ",y=" + y;
  npy("x.npy", manifest::I16, {2, 2}, std::vector<int16_t>{1, -8, 3, 7});
  opened(options, tokens);
  npy("x.npy", manifest::I16, {2, 2}, std::vector<int16_t>{1, -8, 3, 8});
  EXPECT_EQ(error(options, tokens),
            "indices out of range ('image'): example 1 holds 8 for a table of "
            "8 rows, expected integers from -8 to 7; check how the file was "
            "numbered against the size of the model's table");
  npy("x.npy", manifest::F32, {2, 2}, std::vector<float>{1, -9, 3, 7});
  EXPECT_NE(error(options, tokens).find("example 0 holds -9"),
            std::string::npos);
  // Of coordinates, each its own.
  auto places = tokens;
  places.mutable_arguments(0)->add_index_counts(3);
  npy("x.npy", manifest::I16, {2, 2}, std::vector<int16_t>{7, 2, 2, 7});
  EXPECT_NE(error(options, places).find("example 1 holds 7 for a table of 3"),
            std::string::npos);
  npy("x.npy", manifest::F32, {2, 2}, std::vector<float>{7, 2, 2, 7});
  EXPECT_NE(error(options, places).find("example 1 holds 7 for a table of 3"),
            std::string::npos);
  // Random ones reach all rows.
  auto random = Dataset::random(tokens, 100, 1);
  auto *drawn =
      reinterpret_cast<const int64_t *>(random->columns()[0].array.data);
  EXPECT_EQ(*std::min_element(drawn, drawn + 200), 0);
  EXPECT_EQ(*std::max_element(drawn, drawn + 200), 7);
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

} // namespace
