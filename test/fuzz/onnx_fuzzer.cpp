//===- onnx_fuzzer.cpp - libFuzzer target of the ONNX importer -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/Importer.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  int errors = 0;
  ScopedDiagnosticHandler count(&context, [&](Diagnostic &) {
    ++errors;
    return success();
  });
  mlir::dist::graph::ImportOptions options;
  options.batchSize = 2;
  // Weights are left in bytes that someone keeps, in a copy of the exact size.
  auto bytes = std::make_shared<std::vector<char>>(data, data + size);
  // No folder: external data are not looked for.
  auto module = mlir::dist::graph::importModelBytes(
      &context, StringRef(bytes->data(), size), "fuzz.onnx", "", options,
      bytes);
  // A refusal says why.
  if (failed(module) && errors == 0)
    __builtin_trap();
  return 0;
}
