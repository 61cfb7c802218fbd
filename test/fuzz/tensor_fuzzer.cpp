//===- tensor_fuzzer.cpp - ONNX tensors from hostile bytes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/onnx_tensor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  std::string name;
  dist::HostArray array;
  if (dist::parseOnnxTensor(bytes, "fuzz", &name, &array).ok()) {
    volatile char last = 0;
    // An accepted tensor has all the bytes it claims.
    for (size_t i = 0; i < array.view().bytes(); ++i)
      last = array.data[i];
    (void)last;
  }
  return 0;
}
