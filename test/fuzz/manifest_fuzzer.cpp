//===- manifest_fuzzer.cpp - libFuzzer target of the manifest -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/package.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  dist::manifest::Manifest manifest;
  if (!dist::parseManifest(bytes, "fuzz", &manifest).ok())
    return 0;
  // Of an accepted one, every variable lies in the state.
  for (const auto &variable : manifest.variables())
    if (variable.state_offset() < 0 ||
        variable.state_offset() + variable.bytes() > manifest.state_bytes())
      __builtin_trap();
  return 0;
}
