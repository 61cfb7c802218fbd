//===- communicator_reductions_test.cpp - Reductions of all types --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/communicator_test.h"
#include <cmath>

namespace dist::cts {

namespace {

using ReductionsTest = CommunicatorTest;

template <typename T>
void checkReductions(const Backend &backend, DataType type,
                     std::vector<T> values, std::vector<T> expected) {
  int ranks = values.size();
  auto world = backend.create({ranks}, 20);
  for (int kind = 0; kind < 4; ++kind)
    onRanks(ranks, [&](int rank) {
      T value = values[rank];
      EXPECT_OK(world->rank(rank).allReduce(
          kind, &value, 1, type, static_cast<Reduction>(kind), first));
      EXPECT_EQ(value, expected[kind])
          << name(type) << " reduction " << kind << " rank " << rank;
    });
}

TEST_P(ReductionsTest, ReductionsOfAllTypes) {
  const Backend &b = GetParam();
  checkReductions<double>(b, manifest::F64, {1.5, -2, 4}, {3.5, 4, -2, -12});
  checkReductions<float>(b, manifest::F32, {1.5, -2, 4}, {3.5, 4, -2, -12});
  checkReductions<int8_t>(b, manifest::I8, {100, 100, -3}, {-59, 100, -3, -48});
  checkReductions<int16_t>(b, manifest::I16, {3, -2, 4}, {5, 4, -2, -24});
  checkReductions<int32_t>(b, manifest::I32, {3, -2, 4}, {5, 4, -2, -24});
  checkReductions<int64_t>(b, manifest::I64, {3, -2, 4}, {5, 4, -2, -24});
  checkReductions<uint8_t>(b, manifest::U8, {200, 2, 100}, {46, 200, 2, 64});
  checkReductions<uint16_t>(b, manifest::U16, {3, 2, 4}, {9, 4, 2, 24});
  checkReductions<uint32_t>(b, manifest::U32, {3, 2, 4}, {9, 4, 2, 24});
  checkReductions<uint64_t>(b, manifest::U64, {3, 2, 4}, {9, 4, 2, 24});
  checkReductions<bool>(b, manifest::BOOL, {true, false, true},
                        {true, true, false, false});
  // 1.5, -2, 4 in half and bfloat16; sums and products as above.
  checkReductions<uint16_t>(b, manifest::F16, {0x3e00, 0xc000, 0x4400},
                            {0x4300, 0x4400, 0xc000, 0xca00});
  checkReductions<uint16_t>(b, manifest::BF16, {0x3fc0, 0xc000, 0x4080},
                            {0x4060, 0x4080, 0xc000, 0xc140});
  // Halves that round, overflow, and are subnormal: 2048 + 1 + 1 in f32; what
  // is summed on the way is rounded by each rank.
  uint16_t sum = b.order == SumOrder::OfPlaces ? 0x6801 : 0x6800;
  checkReductions<uint16_t>(b, manifest::F16, {0x6800, 0x3c00, 0x3c00},
                            {sum, 0x6800, 0x3c00, 0x6800});
  checkReductions<uint16_t>(b, manifest::F16, {0x7bff, 0x7bff},
                            {0x7c00, 0x7bff, 0x7bff, 0x7c00});
  checkReductions<uint16_t>(b, manifest::F16, {0x0001, 0x0002},
                            {0x0003, 0x0002, 0x0001, 0x0000});
}

TEST_P(ReductionsTest, NotANumberStays) {
  auto world = GetParam().create({3}, 20);
  auto check = [&](DataType type, auto number, auto notANumber, auto isNan) {
    for (int culprit = 0; culprit < 3; ++culprit)
      for (int kind = 0; kind < 4; ++kind)
        onRanks(3, [&](int rank) {
          auto value = rank == culprit ? notANumber : number;
          EXPECT_OK(world->rank(rank).allReduce(
              0, &value, 1, type, static_cast<Reduction>(kind), first));
          EXPECT_TRUE(isNan(value)) << name(type) << " reduction " << kind;
        });
  };
  auto isNan = [](auto value) { return std::isnan(value); };
  for (float sign : {1.0f, -1.0f}) {
    check(manifest::F32, -1.0f, std::copysign(std::nanf(""), sign), isNan);
    check(manifest::F64, -1.0, std::copysign(std::nan(""), double(sign)),
          isNan);
  }
  check(manifest::F16, uint16_t(0x3c00), uint16_t(0x7e00),
        [](uint16_t bits) { return (bits & 0x7fff) > 0x7c00; });
  check(manifest::BF16, uint16_t(0x3f80), uint16_t(0x7fc0),
        [](uint16_t bits) { return (bits & 0x7fff) > 0x7f80; });
}

INSTANTIATE_TEST_SUITE_P(Backends, ReductionsTest,
                         testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
