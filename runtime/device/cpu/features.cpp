//===- features.cpp - Instruction sets of a CPU ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/features.h"
#include <algorithm>
#include <cstdint>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dist::cpu {

#if defined(__x86_64__)
namespace {

enum Register { EAX, EBX, ECX, EDX };
/// Which registers the system must keep for a program.
enum State : uint64_t {
  General = 0,
  Ymm = 0x6,
  Zmm = 0xe6,
  Extended = 1 << 19
};

/// Where CPUID says that a feature is there.
struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

constexpr uint32_t kAmd = 0x80000001;

// By Intel's and AMD's manuals, in the order of the answers' bits.
const Feature features[] = {
    {"sse3", 1, 0, ECX, 0, General},
    {"pclmul", 1, 0, ECX, 1, General},
    {"ssse3", 1, 0, ECX, 9, General},
    {"fma", 1, 0, ECX, 12, Ymm},
    {"cx16", 1, 0, ECX, 13, General},
    {"sse4.1", 1, 0, ECX, 19, General},
    {"sse4.2", 1, 0, ECX, 20, General},
    {"movbe", 1, 0, ECX, 22, General},
    {"popcnt", 1, 0, ECX, 23, General},
    {"aes", 1, 0, ECX, 25, General},
    {"avx", 1, 0, ECX, 28, Ymm},
    {"f16c", 1, 0, ECX, 29, Ymm},
    {"bmi", 7, 0, EBX, 3, General},
    {"avx2", 7, 0, EBX, 5, Ymm},
    {"bmi2", 7, 0, EBX, 8, General},
    {"avx512f", 7, 0, EBX, 16, Zmm},
    {"avx512dq", 7, 0, EBX, 17, Zmm},
    {"adx", 7, 0, EBX, 19, General},
    {"avx512ifma", 7, 0, EBX, 21, Zmm},
    {"avx512cd", 7, 0, EBX, 28, Zmm},
    {"sha", 7, 0, EBX, 29, General},
    {"avx512bw", 7, 0, EBX, 30, Zmm},
    {"avx512vl", 7, 0, EBX, 31, Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Zmm},
    {"avx512vbmi2", 7, 0, ECX, 6, Zmm},
    {"gfni", 7, 0, ECX, 8, General},
    {"vaes", 7, 0, ECX, 9, Ymm},
    {"vpclmulqdq", 7, 0, ECX, 10, Ymm},
    {"avx512vnni", 7, 0, ECX, 11, Zmm},
    {"avx512bitalg", 7, 0, ECX, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Zmm},
    {"movdiri", 7, 0, ECX, 27, General},
    {"avx512vp2intersect", 7, 0, EDX, 8, Zmm},
    {"avx512fp16", 7, 0, EDX, 23, Zmm},
    {"sha512", 7, 1, EAX, 0, Ymm},
    {"sm3", 7, 1, EAX, 1, Ymm},
    {"sm4", 7, 1, EAX, 2, Ymm},
    {"raoint", 7, 1, EAX, 3, General},
    {"avxvnni", 7, 1, EAX, 4, Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Zmm},
    {"cmpccxadd", 7, 1, EAX, 7, General},
    {"avxifma", 7, 1, EAX, 23, Ymm},
    {"avxvnniint8", 7, 1, EDX, 4, Ymm},
    {"avxneconvert", 7, 1, EDX, 5, Ymm},
    {"avxvnniint16", 7, 1, EDX, 10, Ymm},
    {"apxf", 7, 1, EDX, 21, Extended},
    {"lzcnt", kAmd, 0, ECX, 5, General},
    {"sse4a", kAmd, 0, ECX, 6, General},
    {"prfchw", kAmd, 0, ECX, 8, General},
    {"xop", kAmd, 0, ECX, 11, Ymm},
    {"fma4", kAmd, 0, ECX, 16, Ymm},
    {"tbm", kAmd, 0, ECX, 21, General},
};
/// By a version, not a bit.
const char *const versions[] = {"avx10.1", "avx10.2"};

/// The registers that the system keeps.
uint64_t keptState() {
  uint32_t a, b, c, d;
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

uint32_t ask(uint32_t leaf, uint32_t subleaf, Register reg) {
  uint32_t words[4] = {};
  if (!__get_cpuid_count(leaf, subleaf, &words[EAX], &words[EBX], &words[ECX],
                         &words[EDX]))
    return 0;
  // How many further answers there are is in the first.
  if (subleaf > 0) {
    uint32_t first[4] = {};
    __get_cpuid_count(leaf, 0, &first[EAX], &first[EBX], &first[ECX],
                      &first[EDX]);
    if (first[EAX] < subleaf)
      return 0;
  }
  return words[reg];
}

} // namespace

std::vector<std::string> knownFeatures() {
  std::vector<std::string> names(std::begin(versions), std::end(versions));
  for (const Feature &feature : features)
    names.push_back(feature.name);
  return names;
}

std::vector<std::string> hostFeatures() {
  std::vector<std::string> names;
  uint64_t kept = keptState();
  for (const Feature &feature : features)
    if ((kept & feature.state) == feature.state &&
        (ask(feature.leaf, feature.subleaf, feature.reg) >> feature.bit & 1))
      names.push_back(feature.name);
  constexpr int avx10 = 19;
  if ((kept & Zmm) == Zmm && (ask(7, 1, EDX) >> avx10 & 1))
    for (uint32_t version = ask(0x24, 0, EBX) & 0xff, i = 0;
         i < std::min<uint32_t>(version, std::size(versions)); ++i)
      names.push_back(versions[i]);
  return names;
}

#else

std::vector<std::string> knownFeatures() { return hostFeatures(); }

/// By the system's numbers, which LLVM has other names for: a package for this
/// machine lists them all.
std::vector<std::string> hostFeatures() {
  std::vector<std::string> names;
#if defined(__aarch64__)
  for (auto [kind, name] :
       {std::pair(AT_HWCAP, "hwcap."), std::pair(AT_HWCAP2, "hwcap2.")})
    for (int bit = 0; bit < 64; ++bit)
      if (getauxval(kind) >> bit & 1)
        names.push_back(name + std::to_string(bit));
#endif
  return names;
}

#endif

} // namespace dist::cpu
