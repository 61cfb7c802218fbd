//===- main.cpp - The compiler's command line -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "passes/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;

#ifdef DIST_TEST_PASSES
namespace mlir::dist {
void registerTestPasses();
} // namespace mlir::dist
#endif

int main(int argc, char **argv) {
  DialectRegistry registry;
  dist::registerAllDialects(registry);
  dist::registerAllPasses();
#ifdef DIST_TEST_PASSES
  dist::registerTestPasses();
#endif
  return asMainReturnCode(
      MlirOptMain(argc, argv, "dist-mlir compiler\n", registry));
}
