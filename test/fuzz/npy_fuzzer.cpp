//===- npy_fuzzer.cpp - libFuzzer target of the npy reader -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  dist::HostArray array;
  if (dist::parseNpy(bytes, nullptr, "fuzz", &array).ok()) {
    volatile char last = 0;
    // An accepted array has all the bytes it claims.
    for (size_t i = 0; i < array.view().bytes(); ++i)
      last = array.data[i];
    (void)last;
  }
  return 0;
}
