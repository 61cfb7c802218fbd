//===- tile_matmul_test.cpp - Products on tile registers against loops ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/tile_matmul.h"
#include "test/runtime/library_kernel_fixture.h"

namespace dist::cpu::test {
namespace {

struct TileCase {
  Dims batch;
  int64_t m, n, k;
  bool transposeA, transposeB, wideB, wideResult;
};

std::ostream &operator<<(std::ostream &stream, const TileCase &c) {
  for (int64_t size : c.batch)
    stream << size << " x ";
  return stream << c.m << "x" << c.k << (c.transposeA ? "T" : "") << " by "
                << c.k << "x" << c.n << (c.transposeB ? "T" : "")
                << (c.wideB ? " of f32" : "")
                << (c.wideResult ? " to f32" : "");
}

Dims matrixStrides(const Dims &dims, bool transposed) {
  Dims result = rowMajor(dims);
  size_t last = result.size() - 1;
  if (transposed) {
    result[last] = dims[last - 1];
    result[last - 1] = 1;
  }
  return result;
}

Spec makeSpec(const TileCase &c) {
  Dims a = with(c.batch, {c.m, c.k}), b = with(c.batch, {c.k, c.n}),
       result = with(c.batch, {c.m, c.n});
  auto typeOf = [](bool wide) { return wide ? manifest::F32 : manifest::BF16; };
  Spec spec;
  spec.set_kind(Spec::MATMUL);
  *spec.add_memories() =
      memory(a, matrixStrides(a, c.transposeA), manifest::BF16);
  *spec.add_memories() =
      memory(b, matrixStrides(b, c.transposeB), typeOf(c.wideB));
  *spec.add_memories() = memory(result, rowMajor(result), typeOf(c.wideResult));
  return spec;
}

struct TileMatmulTest : testing::TestWithParam<TileCase> {
  void SetUp() override {
    if (!hasTiles())
      GTEST_SKIP() << "this machine has no tile registers";
  }
};

TEST_P(TileMatmulTest, AgreesWithLoops) {
  const TileCase &c = GetParam();
  Spec spec = makeSpec(c);
  KernelTable table;
  *table.Add() = spec;
  LibraryKernelInfo info;
  ASSERT_TRUE(describe(table, 0, 2, &info).ok());
  EXPECT_EQ(info.implementation, TileMatmul::name);
  Logical a(with(c.batch, {c.m, c.k})), b(with(c.batch, {c.k, c.n})),
      result(with(c.batch, {c.m, c.n}));
  a.fill(1);
  b.fill(2);
  Logical expected = result;
  int64_t products = elementCount(c.batch);
  for (int64_t p = 0; p < products; ++p)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        float sum = 0; // exact: of small multiples of 1/64
        for (int64_t l = 0; l < c.k; ++l)
          sum += a.values[(p * c.m + i) * c.k + l] *
                 b.values[(p * c.k + l) * c.n + j];
        expected.values[(p * c.m + i) * c.n + j] =
            c.wideResult ? sum : fromBf16(toBf16(sum));
      }
  auto pa = a.store(spec.memories(0)), pb = b.store(spec.memories(1));
  for (int threads : {1, 2, 3}) {
    auto to = Logical(result.dims).store(spec.memories(2));
    runKernel(table, 0, threads, {pa.data(), pb.data(), to.data()});
    result.load(spec.memories(2), to);
    for (size_t i = 0; i < result.values.size(); ++i)
      ASSERT_EQ(result.values[i], expected.values[i])
          << "element " << i << " with " << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TileMatmulTest,
    testing::Values(
        // All ways to lie, with ends of panels in all three directions.
        TileCase{{}, 100, 150, 110, false, false, false, false},
        TileCase{{}, 100, 150, 110, true, false, false, false},
        TileCase{{}, 100, 150, 110, false, true, false, true},
        TileCase{{}, 100, 150, 110, true, true, false, true},
        TileCase{{}, 100, 150, 110, false, false, true, false},
        TileCase{{}, 100, 150, 110, true, true, true, false},
        // Read as it lies, and with rows that fall on the same places.
        TileCase{{}, 256, 64, 96, false, false, false, false},
        TileCase{{}, 65, 64, 2048, false, true, false, false},
        // Blocks of sums, of rows and of columns.
        TileCase{{}, 64, 96, 1100, false, false, false, false},
        TileCase{{}, 2100, 40, 600, true, false, false, false},
        TileCase{{}, 40, 2100, 600, true, true, true, true},
        TileCase{{}, 32, 600, 512, false, false, false, false},
        // Rows for fewer threads than there are.
        TileCase{{}, 16, 32, 4096, false, false, false, false},
        TileCase{{4, 3}, 48, 65, 64, false, true, false, false},
        TileCase{{2}, 70, 90, 130, true, false, false, true}));

TEST(TileMatmul, LeavesTheRestToTheLibrary) {
  auto has = [](const Spec &spec) {
    return TileMatmul::create(spec, 2).has_value();
  };
  TileCase plain{{}, 128, 128, 128, false, false, false, false};
  EXPECT_EQ(has(makeSpec(plain)), hasTiles());
  Spec relu = makeSpec(plain);
  relu.set_relu(true);
  EXPECT_FALSE(has(relu));
  Spec floats = makeSpec(plain);
  floats.mutable_memories(0)->set_type(manifest::F32);
  EXPECT_FALSE(has(floats));
  Spec packed = makeSpec(plain);
  packed.mutable_memories(1)->clear_strides();
  EXPECT_FALSE(has(packed));
  Spec turned = makeSpec(plain);
  turned.mutable_memories(2)->set_strides(0, 1);
  turned.mutable_memories(2)->set_strides(1, 128);
  EXPECT_FALSE(has(turned));
  Spec backwards = makeSpec(plain);
  backwards.mutable_memories(0)->set_strides(0, -128);
  EXPECT_FALSE(has(backwards));
  Spec apart = makeSpec(plain);
  apart.mutable_memories(1)->set_dims(0, 64);
  EXPECT_FALSE(has(apart));
  EXPECT_FALSE(has(makeSpec({{}, 8, 128, 128, false, false, false, false})));
  EXPECT_FALSE(has(makeSpec({{}, 64, 64, 64, false, false, false, false})));
}

} // namespace
} // namespace dist::cpu::test
