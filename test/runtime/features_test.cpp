//===- features_test.cpp - Instruction sets of a CPU ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/features.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace dist::cpu {
namespace {

using Names = std::vector<std::string>;

bool has(const Names &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Features, TellWhatIsMissing) {
  EXPECT_EQ(missingFeatures({"a", "b", "c"}, {"c", "a", "d"}), (Names{"b"}));
  EXPECT_EQ(missingFeatures({"b", "a"}, {}), (Names{"b", "a"}));
  EXPECT_EQ(missingFeatures({}, {}), Names{});
  EXPECT_EQ(missingFeatures(hostFeatures(), knownFeatures()), Names{});
}

#if defined(__x86_64__)
TEST(Features, AreThoseThatTheCompilersRuntimeFinds) {
  Names host = hostFeatures();
#define EXPECT_FEATURE(name)                                                   \
  EXPECT_EQ(has(host, name), bool(__builtin_cpu_supports(name))) << name
  EXPECT_FEATURE("ssse3");
  EXPECT_FEATURE("sse4.1");
  EXPECT_FEATURE("popcnt");
  EXPECT_FEATURE("avx");
  EXPECT_FEATURE("avx2");
  EXPECT_FEATURE("fma");
  EXPECT_FEATURE("bmi");
  EXPECT_FEATURE("bmi2");
  EXPECT_FEATURE("sse4a");
  EXPECT_FEATURE("fma4");
  EXPECT_FEATURE("xop");
  EXPECT_FEATURE("avx512f");
  EXPECT_FEATURE("avx512vl");
  EXPECT_FEATURE("avx512bw");
  EXPECT_FEATURE("avx512dq");
  EXPECT_FEATURE("avx512cd");
  EXPECT_FEATURE("avx512vbmi2");
  EXPECT_FEATURE("avx512vnni");
  EXPECT_FEATURE("avx512bf16");
  EXPECT_FEATURE("gfni");
#undef EXPECT_FEATURE
}
#endif

} // namespace
} // namespace dist::cpu
