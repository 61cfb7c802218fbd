//===- matmul_kernel_test.cpp - oneDNN's products against plain loops -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/library_kernel_fixture.h"

namespace dist::cpu::test {
namespace {

struct MatmulCase {
  Dims batch;
  int64_t m, n, k;
  bool transposeA, transposeB, bias, relu, accumulate, packB;
  DataType type;
};

struct MatmulTest : testing::TestWithParam<MatmulCase> {};

TEST_P(MatmulTest, AgreesWithLoops) {
  const MatmulCase &c = GetParam();
  if (c.type == manifest::BF16 && hostIsa().find("avx512") == std::string::npos)
    GTEST_SKIP() << "this machine has no bf16 products";
  auto matrix = [&](int64_t rows, int64_t columns) {
    return with(c.batch, {rows, columns});
  };
  Logical a(matrix(c.m, c.k)), b(matrix(c.k, c.n)), dst(matrix(c.m, c.n)),
      bias({c.n});
  a.fill(1);
  b.fill(2);
  bias.fill(3);
  dst.fill(4);
  Logical expected = dst;
  auto strides = [&](const Logical &tensor, bool transposed) {
    Dims result = rowMajor(tensor.dims);
    if (transposed) {
      size_t last = result.size() - 1;
      result[last] = tensor.dims[last - 1];
      result[last - 1] = 1;
    }
    return result;
  };
  Spec spec;
  spec.set_kind(Spec::MATMUL);
  spec.set_bias(c.bias);
  spec.set_relu(c.relu);
  spec.set_accumulate(c.accumulate);
  *spec.add_memories() = memory(a.dims, strides(a, c.transposeA), c.type);
  *spec.add_memories() =
      memory(b.dims, c.packB ? Dims() : strides(b, c.transposeB), c.type);
  if (c.bias)
    *spec.add_memories() = memory(bias.dims, {1});
  *spec.add_memories() = memory(dst.dims, rowMajor(dst.dims));
  Spec plainB;
  plainB.set_kind(Spec::REORDER);
  *plainB.add_memories() = memory(b.dims, strides(b, c.transposeB), c.type);
  *plainB.add_memories() = memory(b.dims, {}, c.type);
  plainB.set_packed_kernel(0);
  plainB.set_packed_memory(1);
  KernelTable table;
  *table.Add() = spec;
  *table.Add() = plainB;
  const Spec::Memory &dstMemory = spec.memories(spec.memories_size() - 1);
  auto pa = a.store(spec.memories(0)), pb = b.store(plainB.memories(0)),
       pd = dst.store(dstMemory), pbias = bias.store(memory(bias.dims, {1}));
  if (c.packB) {
    LibraryKernelInfo info;
    ASSERT_TRUE(describe(table, 0, 2, &info).ok());
    std::vector<char> packed(info.memories[1].bytes, 0x7f);
    runKernel(table, 1, 2, {pb.data(), packed.data()});
    pb = packed;
  }
  std::vector<void *> buffers = {pa.data(), pb.data()};
  if (c.bias)
    buffers.push_back(pbias.data());
  buffers.push_back(pd.data());
  runKernel(table, 0, 2, buffers);
  dst.load(dstMemory, pd);
  for (int round = 0; round < 2; ++round) // as runKernel does
    expected.each([&](const Dims &index) {
      float sum = c.accumulate ? expected.at(index) : 0;
      Dims i = index, j = index;
      for (int64_t k = 0; k < c.k; ++k) {
        i.back() = k;
        j[j.size() - 2] = k;
        sum += a.at(i) * b.at(j);
      }
      if (c.bias)
        sum += bias.at({index.back()});
      expected.at(index) = c.relu ? std::max(sum, 0.0f) : sum;
    });
  expectNear(dst, expected, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MatmulTest,
    testing::Values(
        MatmulCase{{},
                   5,
                   7,
                   9,
                   false,
                   false,
                   false,
                   false,
                   false,
                   false,
                   manifest::F32},
        MatmulCase{{},
                   128,
                   64,
                   100,
                   true,
                   false,
                   false,
                   false,
                   false,
                   false,
                   manifest::F32},
        MatmulCase{{},
                   32,
                   10,
                   64,
                   false,
                   true,
                   true,
                   false,
                   false,
                   false,
                   manifest::F32},
        MatmulCase{{},
                   32,
                   48,
                   64,
                   false,
                   false,
                   true,
                   true,
                   false,
                   true,
                   manifest::F32},
        MatmulCase{
            {}, 1, 1, 3, false, false, true, true, false, false, manifest::F32},
        MatmulCase{{},
                   17,
                   33,
                   65,
                   true,
                   true,
                   false,
                   false,
                   true,
                   false,
                   manifest::F32},
        MatmulCase{{4},
                   8,
                   12,
                   16,
                   false,
                   true,
                   false,
                   false,
                   false,
                   false,
                   manifest::F32},
        MatmulCase{{2, 3},
                   8,
                   12,
                   16,
                   false,
                   false,
                   true,
                   false,
                   false,
                   false,
                   manifest::F32},
        MatmulCase{{},
                   32,
                   48,
                   64,
                   false,
                   false,
                   true,
                   true,
                   false,
                   true,
                   manifest::BF16}));

TEST(LibraryKernel, Refusals) {
  auto refuse = [](const Spec &spec) {
    LibraryKernelInfo info;
    Status status = describe(spec, 1, &info);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    return status.message();
  };
  Spec spec;
  spec.set_kind(Spec::MATMUL);
  EXPECT_NE(refuse(spec).find("expected 3 memories"), std::string::npos);
  for (int i = 0; i < 3; ++i)
    *spec.add_memories() = memory({4, 4}, {4, 1}, manifest::F64);
  EXPECT_NE(refuse(spec).find("has no f64"), std::string::npos);
  for (int i = 0; i < 3; ++i)
    *spec.mutable_memories(i) = memory({4, 0}, {4, 1});
  EXPECT_NE(refuse(spec).find("dims of at least 1"), std::string::npos);
  for (int i = 0; i < 3; ++i)
    *spec.mutable_memories(i) = memory({4, 3}, {3, 1});
  EXPECT_NE(refuse(spec).find("refused by the library"), std::string::npos);
  for (int i = 0; i < 3; ++i)
    *spec.mutable_memories(i) = memory({4, 4}, {4, 1});
  Spec overlapping = spec;
  for (const Dims &strides : {Dims{3, 1}, Dims{0, 1}, Dims{1, 1}, Dims{1, 3}}) {
    *overlapping.mutable_memories(2) = memory({4, 4}, strides);
    EXPECT_NE(refuse(overlapping).find("lie in one place"), std::string::npos);
  }
  Spec gradients = spec;
  gradients.set_kind(Spec::CONV_FILTER_GRAD);
  gradients.set_bias(true);
  *gradients.mutable_memories(2) = memory({4, 4}, {0, 1});
  *gradients.add_memories() = memory({4}, {1});
  EXPECT_NE(refuse(gradients).find("lie in one place"), std::string::npos);
  Spec huge = spec;
  for (int64_t size : {int64_t(1) << 25, int64_t(1) << 62}) {
    *huge.mutable_memories(0) = memory({size, size}, {size, 1});
    EXPECT_NE(refuse(huge).find("fits into memory"), std::string::npos);
    *huge.mutable_memories(0) = memory({4, 4}, {int64_t(1) << 62, size});
    EXPECT_NE(refuse(huge).find("fits into memory"), std::string::npos);
  }
  // 2^32 rows of one element fit, but not what the library counts with.
  Spec tall = spec;
  *tall.mutable_memories(0) = memory({int64_t(1) << 32, 1}, {1, 1});
  EXPECT_NE(refuse(tall).find("at most 2147483647"), std::string::npos);
  Spec backwards = spec;
  *backwards.mutable_memories(0) = memory({4, 4}, {-4, 1});
  EXPECT_NE(refuse(backwards).find("fits into memory"), std::string::npos);
  spec.set_kind(Spec::CONV);
  EXPECT_NE(refuse(spec).find("spatial"), std::string::npos);
  Spec reorder;
  reorder.set_kind(Spec::REORDER);
  *reorder.add_memories() = memory({4, 4}, {4, 1});
  *reorder.add_memories() = memory({4, 4}, {});
  EXPECT_NE(refuse(reorder).find("packs for"), std::string::npos);
}

TEST(LibraryKernel, HostIsNamed) {
  EXPECT_EQ(libraryVersion().substr(0, 2), "3.");
  EXPECT_NE(hostIsa().find("library="), std::string::npos);
}

} // namespace
} // namespace dist::cpu::test
