//===- conv_kernel_test.cpp - oneDNN's convolutions against plain loops ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_faults.h"
#include "test/runtime/library_kernel_fixture.h"

namespace dist::cpu::test {
namespace {

struct ConvCase {
  int64_t n, groups, inPerGroup, outPerGroup;
  Dims in, window, strides, low, high, dilations;
  Dims out() const {
    Dims result;
    for (size_t i = 0; i < in.size(); ++i)
      result.push_back(
          (in[i] + low[i] + high[i] - (dilations[i] * (window[i] - 1) + 1)) /
              strides[i] +
          1);
    return result;
  }
  Dims srcDims() const { return with({n, groups * inPerGroup}, in); }
  Dims dstDims() const { return with({n, groups * outPerGroup}, out()); }
  Dims weightDims() const {
    return groups == 1 ? with({outPerGroup, inPerGroup}, window)
                       : with({groups, outPerGroup, inPerGroup}, window);
  }
  Spec spec(Spec::Kind kind) const {
    Spec spec;
    spec.set_kind(kind);
    spec.set_groups(groups);
    for (size_t i = 0; i < in.size(); ++i) {
      spec.add_strides(strides[i]);
      spec.add_pad_low(low[i]);
      spec.add_pad_high(high[i]);
      spec.add_dilations(dilations[i]);
    }
    return spec;
  }
  /// Visits every product: source, weight and destination index.
  void each(const std::function<void(const Dims &, const Dims &, const Dims &)>
                &visit) const {
    Logical dst(dstDims()), window1(with({inPerGroup}, window));
    dst.each([&](const Dims &d) {
      int64_t group = d[1] / outPerGroup;
      window1.each([&](const Dims &w) {
        Dims s = {d[0], group * inPerGroup + w[0]};
        for (size_t i = 0; i < in.size(); ++i) {
          int64_t at = d[2 + i] * strides[i] - low[i] + w[1 + i] * dilations[i];
          if (at < 0 || at >= in[i])
            return;
          s.push_back(at);
        }
        Dims weight = {d[1] % outPerGroup};
        if (groups > 1)
          weight.insert(weight.begin(), group);
        visit(s, with(weight, w), d);
      });
    });
  }
};

const ConvCase convCases[] = {
    {2, 1, 3, 8, {7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 1, 16, 24, {8, 8}, {3, 2}, {2, 1}, {0, 1}, {1, 0}, {1, 1}},
    {1, 1, 5, 10, {9, 9}, {3, 3}, {1, 2}, {2, 2}, {2, 2}, {2, 2}},
    {2, 4, 2, 3, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 16, 1, 1, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 1, 4, 6, {11}, {3}, {1}, {1}, {1}, {1}},
    {1,
     1,
     4,
     6,
     {4, 5, 6},
     {2, 3, 2},
     {1, 1, 1},
     {0, 1, 0},
     {1, 1, 1},
     {1, 1, 1}},
    {3, 1, 1, 32, {28, 28}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
};

using Layout = Dims (*)(const Dims &);

struct ConvTest : testing::TestWithParam<std::tuple<int, int, bool>> {
  const ConvCase &conv() { return convCases[std::get<0>(GetParam())]; }
  int threads() { return std::get<1>(GetParam()); }
  Layout layout() { return std::get<2>(GetParam()) ? channelsLast : rowMajor; }
};

TEST_P(ConvTest, ForwardWithBiasAndRelu) {
  const ConvCase &c = conv();
  Logical src(c.srcDims()), weights(c.weightDims()), dst(c.dstDims()),
      bias({c.groups * c.outPerGroup}), expected(c.dstDims());
  src.fill(1);
  weights.fill(2);
  bias.fill(3);
  Spec spec = c.spec(Spec::CONV);
  spec.set_bias(true);
  spec.set_relu(true);
  *spec.add_memories() = memory(src.dims, layout()(src.dims));
  *spec.add_memories() = memory(weights.dims, rowMajor(weights.dims));
  *spec.add_memories() = memory(bias.dims, {1});
  *spec.add_memories() = memory(dst.dims, layout()(dst.dims));
  KernelTable table;
  *table.Add() = spec;
  auto s = src.store(spec.memories(0)), w = weights.store(spec.memories(1)),
       b = bias.store(spec.memories(2)), d = dst.store(spec.memories(3));
  runKernel(table, 0, threads(), {s.data(), w.data(), b.data(), d.data()});
  dst.load(spec.memories(3), d);
  c.each([&](const Dims &s, const Dims &w, const Dims &d) {
    expected.at(d) += src.at(s) * weights.at(w);
  });
  expected.each([&](const Dims &d) {
    expected.at(d) = std::max(0.0f, expected.at(d) + bias.at({d[1]}));
  });
  expectNear(dst, expected, 1e-6);
}

// Weights packed for the kernel by a reorder that finds the layout through the
// table; the packed buffer starts dirty.
TEST_P(ConvTest, ForwardAccumulatesWithPackedWeights) {
  const ConvCase &c = conv();
  Logical src(c.srcDims()), weights(c.weightDims()), dst(c.dstDims());
  src.fill(1);
  weights.fill(2);
  Spec spec = c.spec(Spec::CONV);
  *spec.add_memories() = memory(src.dims, layout()(src.dims));
  *spec.add_memories() = memory(weights.dims, {});
  *spec.add_memories() = memory(dst.dims, layout()(dst.dims));
  Spec pack;
  pack.set_kind(Spec::REORDER);
  *pack.add_memories() = memory(weights.dims, rowMajor(weights.dims));
  *pack.add_memories() = memory(weights.dims, {});
  pack.set_packed_kernel(0);
  pack.set_packed_memory(1);
  KernelTable table;
  *table.Add() = spec;
  *table.Add() = pack;
  LibraryKernelInfo info, packInfo;
  ASSERT_TRUE(describe(table, 0, threads(), &info).ok());
  ASSERT_TRUE(describe(table, 1, threads(), &packInfo).ok());
  ASSERT_EQ(info.memories.size(), 3u);
  EXPECT_EQ(packInfo.memories[1].bytes, info.memories[1].bytes);
  EXPECT_EQ(info.memories[0].strides, layout()(src.dims));
  EXPECT_GE(info.memories[1].bytes, int64_t(weights.values.size() * 4));
  std::vector<char> packed(info.memories[1].bytes, 0x7f);
  auto s = src.store(spec.memories(0)), w = weights.store(pack.memories(0)),
       d = dst.store(spec.memories(2));
  runKernel(table, 1, threads(), {w.data(), packed.data()});
  runKernel(table, 0, threads(), {s.data(), packed.data(), d.data()});
  dst.load(spec.memories(2), d);
  Logical expected(c.dstDims());
  c.each([&](const Dims &s, const Dims &w, const Dims &d) {
    expected.at(d) += src.at(s) * weights.at(w);
  });
  expectNear(dst, expected, 1e-6);
  // And the same adding to what is there; runKernel runs twice.
  table.Mutable(0)->set_accumulate(true);
  runKernel(table, 0, threads(), {s.data(), packed.data(), d.data()});
  dst.load(spec.memories(2), d);
  for (float &value : expected.values)
    value *= 3;
  expectNear(dst, expected, 1e-6);
}

TEST_P(ConvTest, InputGradient) {
  const ConvCase &c = conv();
  Logical src(c.srcDims()), weights(c.weightDims()), dst(c.dstDims()),
      expected(c.srcDims());
  dst.fill(1);
  weights.fill(2);
  Spec spec = c.spec(Spec::CONV_INPUT_GRAD);
  *spec.add_memories() = memory(dst.dims, layout()(dst.dims));
  *spec.add_memories() = memory(weights.dims, rowMajor(weights.dims));
  *spec.add_memories() = memory(src.dims, layout()(src.dims));
  KernelTable table;
  *table.Add() = spec;
  auto d = dst.store(spec.memories(0)), w = weights.store(spec.memories(1)),
       s = src.store(spec.memories(2));
  runKernel(table, 0, threads(), {d.data(), w.data(), s.data()});
  src.load(spec.memories(2), s);
  c.each([&](const Dims &s, const Dims &w, const Dims &d) {
    expected.at(s) += dst.at(d) * weights.at(w);
  });
  expectNear(src, expected, 1e-6);
}

TEST_P(ConvTest, FilterGradientWithBias) {
  const ConvCase &c = conv();
  Logical src(c.srcDims()), weights(c.weightDims()), dst(c.dstDims()),
      bias({c.groups * c.outPerGroup}), expected(c.weightDims()),
      expectedBias(bias.dims);
  src.fill(1);
  dst.fill(2);
  Spec spec = c.spec(Spec::CONV_FILTER_GRAD);
  spec.set_bias(true);
  *spec.add_memories() = memory(src.dims, layout()(src.dims));
  *spec.add_memories() = memory(dst.dims, layout()(dst.dims));
  *spec.add_memories() = memory(weights.dims, rowMajor(weights.dims));
  *spec.add_memories() = memory(bias.dims, {1});
  KernelTable table;
  *table.Add() = spec;
  auto s = src.store(spec.memories(0)), d = dst.store(spec.memories(1)),
       w = weights.store(spec.memories(2)), b = bias.store(spec.memories(3));
  runKernel(table, 0, threads(), {s.data(), d.data(), w.data(), b.data()});
  weights.load(spec.memories(2), w);
  bias.load(spec.memories(3), b);
  c.each([&](const Dims &s, const Dims &w, const Dims &d) {
    expected.at(w) += src.at(s) * dst.at(d);
  });
  dst.each([&](const Dims &d) { expectedBias.at({d[1]}) += dst.at(d); });
  expectNear(weights, expected, 1e-6);
  expectNear(bias, expectedBias, 1e-6);
}

// The library's 1x1 kernels write beyond their scratch memory there.
TEST(LibraryFaults, FilterGradientsOfFewChannelsThatSkipPixels) {
  auto make = [](Spec::Kind kind, int64_t channels, int64_t stride) {
    ConvCase c{1,      1,      channels, 16,     {16, 16},
               {1, 1}, {1, 1}, {0, 0},   {0, 0}, {1, 1}};
    c.strides = {stride, stride};
    Spec spec = c.spec(kind);
    Dims src = c.srcDims(), dst = c.dstDims(), weights = c.weightDims();
    *spec.add_memories() = memory(src, channelsLast(src));
    *spec.add_memories() = memory(dst, channelsLast(dst));
    *spec.add_memories() = memory(weights, {});
    return spec;
  };
  Spec::Kind grad = Spec::CONV_FILTER_GRAD;
  const char *wide = "jit_1x1:avx512_core", *narrow = "jit_1x1:avx2";
  EXPECT_TRUE(isFaulty(make(grad, 8, 2), wide));
  EXPECT_TRUE(isFaulty(make(grad, 15, 3), wide));
  EXPECT_TRUE(isFaulty(make(grad, 7, 2), narrow));
  EXPECT_FALSE(isFaulty(make(grad, 16, 2), wide));
  EXPECT_TRUE(isFaulty(make(grad, 8, 2), "jit_bf16_1x1:avx512_core_bf16"));
  EXPECT_FALSE(isFaulty(make(grad, 8, 2), narrow));
  EXPECT_FALSE(isFaulty(make(grad, 8, 1), wide));
  EXPECT_FALSE(isFaulty(make(grad, 8, 2), "x64:gemm:jit"));
  EXPECT_FALSE(isFaulty(make(Spec::CONV, 8, 2), wide));
  // Another one is chosen.
  for (int64_t channels : {1, 2, 3, 7, 8, 12, 15})
    for (int threads : {1, 2}) {
      Spec spec = make(grad, channels, 2);
      LibraryKernelInfo info;
      ASSERT_TRUE(describe(spec, threads, &info).ok());
      EXPECT_FALSE(isFaulty(spec, info.implementation)) << info.implementation;
    }
}

/// The gradient of a packed filter, of channels-last memories.
Spec filterGradient(const ConvCase &c, DataType type) {
  Spec spec = c.spec(Spec::CONV_FILTER_GRAD);
  Dims src = c.srcDims(), dst = c.dstDims();
  *spec.add_memories() = memory(src, channelsLast(src), type);
  *spec.add_memories() = memory(dst, channelsLast(dst), type);
  *spec.add_memories() = memory(c.weightDims(), {}, type);
  return spec;
}

// Columns of filters that meet pads alone are left as they were.
TEST(LibraryFaults, NarrowFilterGradientsOfColumnsWithoutPixels) {
  auto make = [](int64_t width, int64_t stride) {
    ConvCase c{2, 1, 8, 8, {4, width}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    c.strides[1] = stride;
    return filterGradient(c, manifest::BF16);
  };
  const char *faulty = "jit_bf16:avx512_core_bf16";
  EXPECT_TRUE(isFaulty(make(1, 2), faulty));
  EXPECT_FALSE(isFaulty(make(2, 1), faulty));
  EXPECT_FALSE(isFaulty(make(1, 2), "x64:gemm:jit"));
  EXPECT_FALSE(isFaulty(make(1, 2), "jit:avx512_core"));
  for (const char *tiles :
       {"jit:avx512_core_amx", "brgconv_bwd_w:avx512_core_amx"}) {
    EXPECT_TRUE(isFaulty(make(1, 2), tiles));
    EXPECT_FALSE(isFaulty(make(2, 1), tiles));
  }
}

// Filters deeper than images of three dims read beside them.
TEST(LibraryFaults, NarrowFilterGradientsDeeperThanTheImage) {
  auto make = [](int64_t depth, int64_t dilation) {
    ConvCase c{2,         1,         8,         8,         {depth, 4, 4},
               {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    c.dilations[0] = dilation;
    c.low[0] = c.high[0] = dilation;
    return filterGradient(c, manifest::BF16);
  };
  const char *faulty = "jit_bf16:avx512_core_bf16";
  EXPECT_TRUE(isFaulty(make(2, 1), faulty));
  EXPECT_TRUE(isFaulty(make(4, 2), faulty));
  EXPECT_FALSE(isFaulty(make(3, 1), faulty));
  EXPECT_FALSE(isFaulty(make(5, 2), faulty));
  EXPECT_FALSE(isFaulty(make(2, 1), "ref:any"));
}

INSTANTIATE_TEST_SUITE_P(Cases, ConvTest,
                         testing::Combine(testing::Range(0, 8),
                                          testing::Values(1, 2),
                                          testing::Bool()));

} // namespace
} // namespace dist::cpu::test
