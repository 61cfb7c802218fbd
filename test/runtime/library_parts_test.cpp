//===- library_parts_test.cpp - Library kernels cut for a team ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_parts.h"
#include "runtime/device/cpu/sleeping_team.h"
#include "runtime/device/cpu/team.h"
#include "test/runtime/library_kernel_fixture.h"

namespace dist::cpu::test {
namespace {

constexpr int64_t images = 16, channels = 16, filters = 32, size = 14;

Spec convolution(Spec::Kind kind, int64_t batch = images) {
  Spec spec;
  spec.set_kind(kind);
  spec.set_groups(1);
  for (int d = 0; d < 2; ++d) {
    spec.add_strides(1);
    spec.add_pad_low(1);
    spec.add_pad_high(1);
    spec.add_dilations(1);
  }
  Dims src{batch, channels, size, size}, dst{batch, filters, size, size},
      weights{filters, channels, 3, 3};
  bool gradsFilter = kind == Spec::CONV_FILTER_GRAD;
  const Dims *dims[] = {&src, gradsFilter ? &dst : &weights,
                        gradsFilter ? &weights : &dst};
  if (kind == Spec::CONV_INPUT_GRAD)
    std::swap(dims[0], dims[2]);
  for (const Dims *one : dims)
    *spec.add_memories() =
        memory(*one, one == &weights ? rowMajor(*one) : channelsLast(*one));
  return spec;
}

Spec product(int64_t rows) {
  Spec spec;
  spec.set_kind(Spec::MATMUL);
  for (const Dims &dims : {Dims{rows, 64}, Dims{64, 96}, Dims{rows, 96}})
    *spec.add_memories() = memory(dims, rowMajor(dims));
  return spec;
}

/// A weight's gradient: few rows, a long second operand.
Spec wideProduct(int64_t rows = 64, int64_t columns = 576,
                 bool hasBias = false) {
  Spec spec;
  spec.set_kind(Spec::MATMUL);
  constexpr int64_t examples = 128;
  // The first operand is transposed.
  *spec.add_memories() = memory({rows, examples}, {1, rows});
  *spec.add_memories() =
      memory({examples, columns}, rowMajor({examples, columns}));
  if (hasBias)
    *spec.add_memories() = memory({1, columns}, rowMajor({1, columns}));
  spec.set_bias(hasBias);
  *spec.add_memories() = memory({rows, columns}, rowMajor({rows, columns}));
  return spec;
}

Spec withRelu(Spec spec) {
  spec.set_relu(true);
  return spec;
}

const Spec cases[] = {convolution(Spec::CONV),
                      convolution(Spec::CONV_INPUT_GRAD),
                      convolution(Spec::CONV_FILTER_GRAD),
                      product(1024),
                      withRelu(product(1024)),
                      wideProduct(),
                      withRelu(wideProduct()),
                      withRelu(wideProduct(64, 576, /*hasBias=*/true))};

KernelTable tableOf(const Spec &spec) {
  KernelTable table;
  *table.Add() = spec;
  return table;
}

std::optional<LibraryParts> choose(const Spec &spec, int threads) {
  return LibraryParts::choose(tableOf(spec), spec, threads);
}

/// The result of a kernel for `threads` threads, run by a team of `free`.
std::vector<char> runOn(int free, const Spec &spec, int threads) {
  KernelTable table = tableOf(spec);
  std::vector<std::vector<char>> contents;
  std::vector<void *> buffers;
  for (int i = 0; i < spec.memories_size(); ++i) {
    Logical values(
        {spec.memories(i).dims().begin(), spec.memories(i).dims().end()});
    values.fill(i + 1);
    contents.push_back(values.store(spec.memories(i)));
    buffers.push_back(contents.back().data());
  }
  SleepingTeam team(free);
  TeamScope scope(threads, &team);
  runKernel(table, 0, threads, buffers);
  return contents.back();
}

// The cut is what was compiled: who is free decides about time alone.
TEST(LibraryParts, BitsDoNotDependOnWhoIsFree) {
  for (const Spec &spec : cases) {
    ASSERT_TRUE(choose(spec, 2));
    std::vector<char> expected = runOn(1, spec, 2);
    for (int free : {2, 3, 5})
      EXPECT_EQ(runOn(free, spec, 2), expected) << spec.kind();
  }
}

TEST(LibraryParts, AreTheWholeKernel) {
  for (const Spec &spec : cases) {
    const Spec::Memory &result = *spec.memories().rbegin();
    Dims dims{result.dims().begin(), result.dims().end()};
    Logical expected(dims), actual(dims);
    expected.load(result, runOn(1, spec, 1));
    for (int threads : {2, 4}) {
      actual.load(result, runOn(2, spec, threads));
      expectNear(actual, expected, 1e-5);
    }
  }
}

TEST(LibraryParts, AreEqual) {
  for (const Spec &spec : cases)
    for (int threads : {2, 3, 4}) {
      std::optional<LibraryParts> parts = choose(spec, threads);
      if (!parts)
        continue;
      EXPECT_EQ(parts->count() % threads, 0);
      Spec part = parts->part();
      for (int i = 0; i < spec.memories_size(); ++i)
        for (int d = 0; d < spec.memories(i).dims_size(); ++d)
          EXPECT_EQ(part.memories(i).dims(d) *
                        (parts->cutDim(i) == d ? parts->count() : 1),
                    spec.memories(i).dims(d));
    }
  EXPECT_FALSE(choose(cases[0], 3)); // 16 images
  EXPECT_FALSE(choose(cases[0], 1));
  EXPECT_FALSE(choose(convolution(Spec::CONV, 7), 2));
}

// Rows where they will do; columns where all rows' parts would read more than
// they have of their own. Of those each part has whole cache lines.
TEST(LibraryParts, ProductsAreCutByRowsOrColumns) {
  std::optional<LibraryParts> rows = choose(product(1024), 2),
                              columns = choose(wideProduct(), 2);
  ASSERT_TRUE(rows && columns);
  EXPECT_EQ(rows->cutDim(0), 0);
  EXPECT_EQ(rows->cutDim(1), -1);
  EXPECT_EQ(rows->cutDim(2), 0);
  EXPECT_EQ(columns->cutDim(0), -1);
  EXPECT_EQ(columns->cutDim(1), 1);
  EXPECT_EQ(columns->cutDim(2), 1);
  EXPECT_EQ(columns->part().memories(2).dims(1) * sizeof(float) % 64, 0);
  EXPECT_EQ(columns->stepBytes(1), 576 / columns->count() * 4);
  EXPECT_FALSE(choose(wideProduct(64, 584), 2)); // no whole lines
  Spec packed = wideProduct();
  packed.mutable_memories(1)->clear_strides(); // in a layout of the library's
  EXPECT_FALSE(choose(packed, 2));
}

// One that the library's own threads must share keeps all others whole.
TEST(LibraryParts, OneTeamRunsWhatIsCutOrSmall) {
  KernelTable table;
  *table.Add() = cases[0];
  *table.Add() = product(3);
  EXPECT_TRUE(runsOnOneTeam(table, 2));
  EXPECT_TRUE(LibraryParts::choose(table, table.Get(0), 2));
  EXPECT_FALSE(LibraryParts::choose(table, table.Get(1), 2));
  EXPECT_EQ(threadsOfWhole(table, table.Get(1), 2), 1);
  *table.Add() = convolution(Spec::CONV, 7);
  EXPECT_FALSE(runsOnOneTeam(table, 2));
  for (const Spec &spec : table) {
    EXPECT_FALSE(LibraryParts::choose(table, spec, 2));
    EXPECT_EQ(threadsOfWhole(table, spec, 2), 2);
  }
}

} // namespace
} // namespace dist::cpu::test
