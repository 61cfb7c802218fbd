//===- transfer.h - A state that goes from process to process ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_TRANSFER_H
#define RUNTIME_CHECKPOINT_TRANSFER_H

#include "runtime/core/session.h"

namespace dist {

/// Copies the files of process `giver`'s `folder` to those processes that call
/// it with `receives`, into theirs, which is there when it has all of them; all
/// call it together. Errors: the giver's is everyone's. Who cannot take them
/// has one of its own, and is to end: it is lost to the others.
Status transferState(Session &session, const std::string &folder, int giver,
                     bool receives);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_TRANSFER_H
