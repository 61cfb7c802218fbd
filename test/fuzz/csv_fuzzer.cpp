//===- csv_fuzzer.cpp - libFuzzer target of CSV and archives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/arrays.h"

// The first byte chooses the name, hence the reader; archives are told by
// content.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  std::vector<dist::NamedArray> arrays;
  (void)dist::parseArrays(bytes, nullptr, data[0] % 2 ? "f.npz" : "f.csv",
                          &arrays, data[0] & 2)
      .ok();
  return 0;
}
