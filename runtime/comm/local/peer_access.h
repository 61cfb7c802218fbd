//===- peer_access.h - Where peers' buffers lie -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_PEER_ACCESS_H
#define RUNTIME_COMM_LOCAL_PEER_ACCESS_H

#include "runtime/comm/local/exchange.h"

namespace dist::local {

/// Nothing moves: `addresses` gets, for each piece and in it for each position,
/// where the rank there has what the collective would bring here.
Status publishBuffers(Exchange &exchange, const RankState &state,
                      void **addresses);

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_PEER_ACCESS_H
