//===- manifest_fuzzer.cpp - libFuzzer target of the manifest -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/abi/abi.h"
#include "runtime/core/package.h"
#include <google/protobuf/stubs/logging.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  dist::manifest::Manifest manifest;
  // Of another version nothing else is looked at; seeds are older than it.
  google::protobuf::LogSilencer silencer;
  if (manifest.ParseFromString(bytes)) {
    manifest.set_abi_version(DIST_RT_ABI_VERSION);
    bytes = manifest.SerializeAsString();
  }
  if (!dist::parseManifest(bytes, "fuzz", &manifest).ok())
    return 0;
  // Of an accepted one, every variable lies in the state.
  for (const auto &variable : manifest.variables())
    if (variable.state_offset() < 0 ||
        variable.state_offset() + variable.bytes() > manifest.state_bytes())
      __builtin_trap();
  // And every server's part in its variable.
  for (const auto &server : manifest.servers())
    for (const auto &part : server.parts()) {
      const auto &shape =
          manifest.variables(part.variable()).global_type().shape();
      if (part.begin() < 0 || part.size() < 0 ||
          part.begin() + part.size() > (shape.empty() ? 1 : shape[0]))
        __builtin_trap();
    }
  return 0;
}
