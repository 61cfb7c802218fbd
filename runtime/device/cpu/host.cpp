//===- host.cpp - What this machine and its oneDNN can do -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_kernel.h"
#include <dnnl.hpp>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dist::cpu {

std::string libraryVersion() {
  const dnnl::version_t *version = dnnl::version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) +
         "." + std::to_string(version->patch);
}

static const char *libraryIsa() {
  switch (static_cast<int>(dnnl::get_effective_cpu_isa())) {
  case dnnl_cpu_isa_sse41:
    return "sse41";
  case dnnl_cpu_isa_avx:
    return "avx";
  case dnnl_cpu_isa_avx2:
    return "avx2";
  case dnnl_cpu_isa_avx2_vnni:
    return "avx2_vnni";
  case dnnl_cpu_isa_avx2_vnni_2:
    return "avx2_vnni_2";
  case dnnl_cpu_isa_avx512_core:
    return "avx512_core";
  case dnnl_cpu_isa_avx512_core_vnni:
    return "avx512_core_vnni";
  case dnnl_cpu_isa_avx512_core_bf16:
    return "avx512_core_bf16";
  case dnnl_cpu_isa_avx512_core_fp16:
    return "avx512_core_fp16";
  case dnnl_cpu_isa_avx512_core_amx:
    return "avx512_core_amx";
  case dnnl_cpu_isa_avx512_core_amx_fp16:
    return "avx512_core_amx_fp16";
  default:
    return "other";
  }
}

bool hasTiles() {
  int isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  return isa == dnnl_cpu_isa_avx512_core_amx ||
         isa == dnnl_cpu_isa_avx512_core_amx_fp16;
}

double getMultiplySpeed(manifest::DataType type) {
#if defined(__x86_64__)
  constexpr double tiles = 8, pairs = 2, apart = 0.5;
  int isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  if (type == manifest::F16) {
    if (isa == dnnl_cpu_isa_avx512_core_amx_fp16)
      return tiles;
    return hasTiles() || isa == dnnl_cpu_isa_avx512_core_fp16 ? pairs : apart;
  }
  if (type == manifest::BF16) {
    if (hasTiles())
      return tiles;
    return isa == dnnl_cpu_isa_avx512_core_fp16 ||
                   isa == dnnl_cpu_isa_avx512_core_bf16
               ? pairs
               : apart;
  }
#endif
  return 1;
}

std::string hostIsa() {
  std::string text;
#if defined(__x86_64__)
#define DIST_FEATURE(feature)                                                  \
  if (__builtin_cpu_supports(feature))                                         \
    text += feature " ";
  DIST_FEATURE("sse4.2")
  DIST_FEATURE("avx")
  DIST_FEATURE("avx2")
  DIST_FEATURE("fma")
  DIST_FEATURE("bmi2")
  DIST_FEATURE("avx512f")
  DIST_FEATURE("avx512cd")
  DIST_FEATURE("avx512bw")
  DIST_FEATURE("avx512dq")
  DIST_FEATURE("avx512vl")
  DIST_FEATURE("avx512ifma")
  DIST_FEATURE("avx512vbmi")
  DIST_FEATURE("avx512vbmi2")
  DIST_FEATURE("avx512vnni")
  DIST_FEATURE("avx512bitalg")
  DIST_FEATURE("avx512vpopcntdq")
  DIST_FEATURE("avx512bf16")
#undef DIST_FEATURE
#elif defined(__aarch64__)
  text = "aarch64 hwcap=" + std::to_string(getauxval(AT_HWCAP)) + "," +
         std::to_string(getauxval(AT_HWCAP2)) + " ";
#endif
  return text + "library=" + libraryIsa();
}

} // namespace dist::cpu
