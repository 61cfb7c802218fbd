//===- relu_kernel_test.cpp - A ReLU behind kernels keeps NaN -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/relu.h"
#include "runtime/device/cpu/team.h"
#include "test/runtime/library_kernel_fixture.h"
#include <limits>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dist::cpu::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Result sizes: some whose ReLU is a pass of its own, some where it is fused.
struct Sizes {
  int64_t m, n, k;
};

struct ReluKernelTest
    : testing::TestWithParam<std::tuple<Sizes, DataType, int>> {
  DataType type() { return std::get<1>(GetParam()); }
  int threads() { return std::get<2>(GetParam()); }

  void SetUp() override {
    if (type() == manifest::BF16 &&
        hostIsa().find("library=avx512") == std::string::npos)
      GTEST_SKIP() << "this machine has no bf16 products";
  }

  /// The kernel with a ReLU against that without. All elements of `b` are 1/2,
  /// so that any layout of the library's holds them.
  void check(Spec spec, const Logical &a, const Dims &aStrides, const Dims &b,
             Logical result, const Dims &resultStrides) {
    *spec.add_memories() = memory(a.dims, aStrides, type());
    *spec.add_memories() = memory(b, {}, type());
    *spec.add_memories() = memory(result.dims, resultStrides, type());
    Spec relu = spec;
    relu.set_relu(true);
    TeamScope team(threads());
    auto run = [&](const Spec &spec) {
      KernelTable table;
      *table.Add() = spec;
      LibraryKernelInfo info;
      EXPECT_TRUE(describe(table, 0, threads(), &info).ok());
      auto pa = a.store(spec.memories(0)), pd = result.store(spec.memories(2));
      std::vector<char> pb(info.memories[1].bytes);
      for (size_t i = 0; i < pb.size() / byteSize(type()); ++i)
        if (type() == manifest::BF16)
          reinterpret_cast<uint16_t *>(pb.data())[i] = toBf16(0.5f);
        else
          reinterpret_cast<float *>(pb.data())[i] = 0.5f;
      runKernel(table, 0, threads(), {pa.data(), pb.data(), pd.data()});
      result.load(spec.memories(2), pd);
      return result.values;
    };
    std::vector<float> want = run(spec), got = run(relu);
    int nans = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      nans += std::isnan(want[i]);
      ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << "element " << i;
      if (!std::isnan(want[i])) {
        ASSERT_FLOAT_EQ(got[i], std::max(want[i], 0.0f)) << "element " << i;
      }
    }
    EXPECT_GT(nans, 0);
    EXPECT_LT(nans, int(want.size() / 2));
  }

  static void spoil(Logical &x) {
    size_t size = x.values.size();
    x.values[size / 3] = std::nanf("");
    x.values[size / 2] = -infinity;
    x.values[size - 1] = infinity;
  }
};

TEST_P(ReluKernelTest, Product) {
  auto [m, n, k] = std::get<0>(GetParam());
  Logical a({m, k}), result({m, n});
  a.fill(1);
  spoil(a);
  Spec spec;
  spec.set_kind(Spec::MATMUL);
  check(spec, a, {k, 1}, {k, n}, result, {n, 1});
  // Rows of a wider matrix.
  check(spec, a, {k, 1}, {k, n}, result, {n + 3, 1});
}

TEST_P(ReluKernelTest, Convolution) {
  auto [m, n, k] = std::get<0>(GetParam());
  for (int64_t filter : {1, 3}) {
    int64_t size = m / 8;
    Logical x({2, k, size + filter - 1, size + filter - 1}),
        y({2, n, size, size});
    x.fill(1);
    spoil(x);
    Spec spec;
    spec.set_kind(Spec::CONV);
    for (int d = 0; d < 2; ++d) {
      spec.add_strides(1);
      spec.add_dilations(1);
      spec.add_pad_low(0);
      spec.add_pad_high(0);
    }
    check(spec, x, channelsLast(x.dims), {n, k, filter, filter}, y,
          channelsLast(y.dims));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ReluKernelTest,
    testing::Combine(testing::Values(Sizes{32, 48, 16}, Sizes{120, 80, 32}),
                     testing::Values(manifest::F32, manifest::BF16),
                     testing::Values(1, 2)));

// What other kernels of a step raise costs a second run once, and changes
// nothing.
TEST(ReluKernel, FlagsOfOthersDoNotMatter) {
#if defined(__x86_64__)
  // Rows that do not divide: it is not cut, and not small.
  constexpr int64_t rows = 2001;
  Logical a({rows, 16}), b({16, 80}), result({rows, 80});
  a.fill(1);
  b.fill(2);
  Spec spec;
  spec.set_kind(Spec::MATMUL);
  spec.set_relu(true);
  *spec.add_memories() = memory(a.dims, rowMajor(a.dims));
  *spec.add_memories() = memory(b.dims, rowMajor(b.dims));
  *spec.add_memories() = memory(result.dims, rowMajor(result.dims));
  KernelTable table;
  *table.Add() = spec;
  TeamScope team(2);
  LibraryKernelInfo info;
  ASSERT_TRUE(describe(table, 0, 2, &info).ok());
  std::unique_ptr<LibraryKernel> kernel;
  ASSERT_TRUE(LibraryKernel::create(table, 0, 2, &kernel).ok());
  auto pa = a.store(spec.memories(0)), pb = b.store(spec.memories(1)),
       pd = result.store(spec.memories(2));
  Buffer scratch(info.scratchpadBytes);
  void *buffers[] = {pa.data(), pb.data(), pd.data(), scratch.data()};
  takeInvalid();
  ASSERT_TRUE(kernel->run(buffers).ok());
  EXPECT_FALSE(takeInvalid()) << "numbers raise nothing";
  auto want = pd;
  for (int i = 0; i < 3; ++i) {
    onEachThread([](void *) { _mm_setcsr(_mm_getcsr() | _MM_EXCEPT_INVALID); },
                 nullptr);
    ASSERT_TRUE(kernel->run(buffers).ok());
    EXPECT_EQ(pd, want);
    EXPECT_FALSE(takeInvalid());
  }
#endif
}

// Strided results of many blocks: what lies between them stays.
TEST(ReluInPlace, TouchesItsElementsOnly) {
  constexpr int64_t rows = 40, columns = 5000, stride = 5003;
  std::vector<float> values(rows * stride, -1);
  values[7] = std::nanf("");
  values[rows * stride - 10] = 3;
  ReluInPlace relu(manifest::F32, {rows, columns}, {stride, 1});
  TeamScope team(2);
  EXPECT_TRUE(relu.run(values.data()));
  for (int64_t i = 0; i < rows * stride; ++i) {
    float want = i == 7                    ? std::nanf("")
                 : i == rows * stride - 10 ? 3
                 : i % stride < columns    ? 0
                                           : -1;
    ASSERT_TRUE(std::isnan(want) ? std::isnan(values[i]) : values[i] == want)
        << i;
  }
  values[7] = 1;
  EXPECT_FALSE(relu.run(values.data()));
}

TEST(ReluInPlace, KnowsTheBitsOfNarrowTypes) {
  // -1, -inf, NaN, -NaN, -0, 1 and the least denormal below 0.
  std::vector<uint16_t> bf16 = {0xbf80, 0xff80, 0x7fc0, 0xffc1,
                                0x8000, 0x3f80, 0x8001};
  ReluInPlace(manifest::BF16, {7}, {1}).run(bf16.data());
  EXPECT_EQ(bf16, (std::vector<uint16_t>{0, 0, 0x7fc0, 0xffc1, 0, 0x3f80, 0}));
  std::vector<uint16_t> f16 = {0xbc00, 0xfc00, 0x7e00, 0xfe01,
                               0x8000, 0x3c00, 0x8001};
  ReluInPlace(manifest::F16, {7}, {1}).run(f16.data());
  EXPECT_EQ(f16, (std::vector<uint16_t>{0, 0, 0x7e00, 0xfe01, 0, 0x3c00, 0}));
}

} // namespace
} // namespace dist::cpu::test
