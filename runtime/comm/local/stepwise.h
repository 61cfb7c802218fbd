//===- stepwise.h - All-reduces in many steps -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All-reduces as others do them, whose messages go between neighbours. Each
// step reads what the one before has written, in the ranks' own buffers.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_STEPWISE_H
#define RUNTIME_COMM_LOCAL_STEPWISE_H

#include "runtime/comm/local/exchange.h"

namespace dist::local {

/// The rank at position 0 reduces for all; 3 meetings.
Status reduceToOne(Exchange &exchange, RankState &state);
/// In steps of one neighbour: 2n - 1 meetings of n ranks.
Status reduceInRing(Exchange &exchange, RankState &state);

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_STEPWISE_H
