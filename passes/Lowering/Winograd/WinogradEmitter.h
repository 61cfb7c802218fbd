//===- WinogradEmitter.h - Loops of Winograd convolutions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRAD_WINOGRADEMITTER_H
#define PASSES_LOWERING_WINOGRAD_WINOGRADEMITTER_H

#include "passes/Lowering/Kernels/KernelEmitter.h"

namespace mlir::dist {

/// Whether the op is one of rt's Winograd ops.
bool isWinograd(Operation *op);

/// The loops of one of them, over the rows [lo, hi).
void emitWinograd(Operation *op, const KernelBuffers &buffers, OpBuilder &b);

} // namespace mlir::dist

#endif // PASSES_LOWERING_WINOGRAD_WINOGRADEMITTER_H
