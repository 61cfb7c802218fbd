//===- library_kernel_test.cpp - oneDNN kernels against plain loops -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/types.h"
#include "runtime/device/cpu/library_kernel.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace dist;
using namespace dist::cpu;
using Spec = manifest::LibraryKernel;
using Dims = std::vector<int64_t>;

namespace {

Dims rowMajor(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Strides of logical N,C,spatial stored as N,spatial,C.
Dims channelsLast(const Dims &dims) {
  Dims strides(dims.size());
  int64_t step = dims[1];
  strides[1] = 1;
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[0] = step;
  return strides;
}

Spec::Memory memory(const Dims &dims, const Dims &strides,
                    DataType type = manifest::F32) {
  Spec::Memory result;
  result.set_type(type);
  for (int64_t dim : dims)
    result.add_dims(dim);
  for (int64_t stride : strides)
    result.add_strides(stride);
  return result;
}

float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

/// A logical tensor of floats, kept row-major; loads and stores convert.
struct Logical {
  Dims dims;
  std::vector<float> values;
  explicit Logical(Dims d) : dims(d), values(elementCount(d)) {}
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    for (float &value : values) // exact in bf16, too
      value = int(random() % 17) / 8.0f - 1.0f;
  }
  float &at(const Dims &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      offset = offset * dims[i] + index[i];
    return values[offset];
  }
  void each(const std::function<void(const Dims &)> &visit) const {
    Dims index(dims.size(), 0);
    for (size_t n = 0; n < values.size(); ++n) {
      visit(index);
      for (size_t i = dims.size(); i-- > 0;) {
        if (++index[i] < dims[i])
          break;
        index[i] = 0;
      }
    }
  }
  std::vector<char> store(const Spec::Memory &memory) const {
    size_t last = 0;
    for (int i = 0; i < memory.dims_size(); ++i)
      last += (memory.dims(i) - 1) * memory.strides(i);
    std::vector<char> bytes((last + 1) * byteSize(memory.type()), 0x7f);
    size_t n = 0;
    each([&](const Dims &index) {
      size_t at = offset(memory, index);
      float value = values[n++];
      if (memory.type() == manifest::BF16)
        reinterpret_cast<uint16_t *>(bytes.data())[at] = toBf16(value);
      else
        reinterpret_cast<float *>(bytes.data())[at] = value;
    });
    return bytes;
  }
  void load(const Spec::Memory &memory, const std::vector<char> &bytes) {
    size_t n = 0;
    each([&](const Dims &index) {
      size_t at = offset(memory, index);
      values[n++] =
          memory.type() == manifest::BF16
              ? fromBf16(reinterpret_cast<const uint16_t *>(bytes.data())[at])
              : reinterpret_cast<const float *>(bytes.data())[at];
    });
  }
  static size_t offset(const Spec::Memory &memory, const Dims &index) {
    size_t at = 0;
    for (size_t i = 0; i < index.size(); ++i)
      at += index[i] * memory.strides(i);
    return at;
  }
};

void expectNear(const Logical &actual, const Logical &expected,
                float tolerance) {
  ASSERT_EQ(actual.dims, expected.dims);
  float largest = 1;
  for (float value : expected.values)
    largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < actual.values.size(); ++i)
    ASSERT_NEAR(actual.values[i], expected.values[i], tolerance * largest)
        << "element " << i;
}

/// Runs kernel `index` of the table; every buffer starts where the caller says.
void runKernel(const KernelTable &table, int index, int threads,
               std::vector<void *> buffers) {
  LibraryKernelInfo info;
  Status status = describe(table, index, threads, &info);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_NE(info.implementation, "");
  std::vector<char> scratch(info.scratchpadBytes + 64, 0x55);
  if (info.scratchpadBytes)
    buffers.push_back(scratch.data());
  std::unique_ptr<LibraryKernel> kernel;
  status = LibraryKernel::create(table, index, threads, &kernel);
  ASSERT_TRUE(status.ok()) << status.message();
  // Twice: the second run must not lean on state of the first.
  for (int i = 0; i < 2; ++i) {
    status = kernel->run(buffers.data());
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

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
  static Dims with(Dims head, const Dims &tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
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

INSTANTIATE_TEST_SUITE_P(Cases, ConvTest,
                         testing::Combine(testing::Range(0, 8),
                                          testing::Values(1, 2),
                                          testing::Bool()));

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
    return ConvCase::with(c.batch, {rows, columns});
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
