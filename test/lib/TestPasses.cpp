//===- TestPasses.cpp - Registers the test-only passes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

namespace mlir::dist {
void registerTestOpRules();
void registerTestPartition();
void registerTestSimplify();
void registerTestVolume();

void registerTestPasses();
void registerTestPasses() {
  registerTestOpRules();
  registerTestPartition();
  registerTestSimplify();
  registerTestVolume();
}
} // namespace mlir::dist
