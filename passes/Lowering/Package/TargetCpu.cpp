//===- TargetCpu.cpp - The CPU that code is generated for -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Package/TargetCpu.h"
#include "passes/Lowering/Lowering.h"
#include "runtime/device/cpu/features.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace mlir::dist;

bool TargetCpu::has(StringRef feature) const {
  return llvm::is_contained(needed, feature);
}

int64_t TargetCpu::getVectorBits() const {
  return has("avx512f") ? 512 : has("avx2") ? 256 : 128;
}

static bool isX86() {
  return llvm::Triple(llvm::sys::getDefaultTargetTriple()).isX86();
}

static TargetCpu getNative() {
  TargetCpu target;
  target.isNative = true;
  target.name = llvm::sys::getHostCPUName().str();
  std::vector<std::string> features, known = ::dist::cpu::knownFeatures();
  for (auto &feature : llvm::sys::getHostCPUFeatures()) {
    std::string name = feature.first().str();
    features.push_back((feature.second ? "+" : "-") + name);
    if (feature.second && llvm::is_contained(known, name))
      target.needed.push_back(name);
  }
  // Others have names that are the system's, not LLVM's.
  if (!isX86())
    target.needed = known;
  llvm::sort(features);
  llvm::sort(target.needed);
  target.features = llvm::join(features, ",");
  return target;
}

std::optional<TargetCpu> mlir::dist::findTargetCpu(StringRef name,
                                                   std::string *why) {
  if (name.empty() || name == "native")
    return getNative();
  if (!isX86()) {
    *why = "on this architecture there is native alone";
    return std::nullopt;
  }
  SmallVector<StringRef> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  if (!llvm::is_contained(names, name)) {
    *why = "LLVM knows no such CPU";
    return std::nullopt;
  }
  TargetCpu target;
  target.name = name.str();
  SmallVector<StringRef> features;
  llvm::X86::getFeaturesForCPU(name, features);
  // With those that they imply.
  llvm::StringMap<bool> all;
  for (StringRef feature : features) {
    all[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, /*Enabled=*/true, all);
  }
  for (const std::string &known : ::dist::cpu::knownFeatures())
    if (all.lookup(known))
      target.needed.push_back(known);
  llvm::sort(target.needed);
  for (StringRef least : {"avx2", "bmi2", "f16c", "fma"})
    if (!target.has(least)) {
      *why = "it has no " + least.str() + ", which kernels are written for";
      return std::nullopt;
    }
  return target;
}

std::string mlir::dist::setTargetCpu(LoweringOptions &options, StringRef name) {
  std::string why;
  std::optional<TargetCpu> target = findTargetCpu(name, &why);
  if (!target)
    return why;
  options.cpu = name.str();
  options.vectorBits = 0;
  options.widen = "auto";
  if (target->isNative)
    return "";
  options.vectorBits = target->getVectorBits();
  // What the library can multiply there follows from the CPU's instructions.
  // Tiles are no feature of generated code, but a CPU that has them has these
  // instructions, too.
  bool bf16 = target->has("avx512bf16"), f16 = target->has("avx512fp16");
  options.widen = bf16 && f16 ? "auto" : bf16 ? "f16" : f16 ? "bf16" : "narrow";
  return "";
}
