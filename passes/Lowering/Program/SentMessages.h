//===- SentMessages.h - What processes send each other ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PROGRAM_SENTMESSAGES_H
#define PASSES_LOWERING_PROGRAM_SENTMESSAGES_H

#include "passes/Analysis/Explain.h"
#include "runtime/core/manifest.pb.h"

namespace mlir::dist {

/// Puts into the report how many messages, of how many bytes, the ranks of each
/// process send when they run an entry's program once: exactly, as they will
/// count them. `manifest` is of the same programs, whose memory is planned:
/// tensors that lie behind each other travel together, with what is between
/// them. And the memory that these messages take of a device, the most of those
/// that run a program. Nothing where all ranks are of one process, which shares
/// its memory.
LogicalResult addSentMessages(ModuleOp programs,
                              const ::dist::manifest::Manifest &manifest,
                              ExplainReport &report);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PROGRAM_SENTMESSAGES_H
