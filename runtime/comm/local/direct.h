//===- direct.h - Collectives that meet once or twice -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_DIRECT_H
#define RUNTIME_COMM_LOCAL_DIRECT_H

#include "runtime/comm/local/exchange.h"

namespace dist::local {

/// Each rank reads what it gets from the ranks that have it, in one go. Which
/// of the three ways it goes depends on the group and the size alone: alone in
/// its group; packed into what ranks publish of themselves when they meet; or
/// where the others' buffers lie, and then all meet again before they change.
Status collectDirectly(Exchange &exchange, const RankState &state);

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_DIRECT_H
