//===- safetensors_fuzzer.cpp - libFuzzer target of safetensors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  std::unique_ptr<dist::SafetensorsFile> file;
  if (dist::SafetensorsFile::parse(bytes, "fuzz", &file).ok())
    for (auto &[name, view] : file->tensors()) {
      volatile char last = 0;
      for (size_t i = 0; i < view.bytes(); ++i)
        last = static_cast<const char *>(view.data)[i];
      (void)last;
    }
  return 0;
}
