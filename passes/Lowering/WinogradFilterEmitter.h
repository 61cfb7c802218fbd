//===- WinogradFilterEmitter.h - Loops over Winograd's filters -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRADFILTEREMITTER_H
#define PASSES_LOWERING_WINOGRADFILTEREMITTER_H

#include "passes/Lowering/WinogradEmitter.h"

namespace mlir::dist {

void emitWinogradFilter(rt::WinogradFilterOp op, const KernelBuffers &buffers,
                        OpBuilder &b);
void emitWinogradFilter(rt::WinogradFilterGradOp op,
                        const KernelBuffers &buffers, OpBuilder &b);

} // namespace mlir::dist

#endif // PASSES_LOWERING_WINOGRADFILTEREMITTER_H
