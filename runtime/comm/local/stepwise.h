//===- stepwise.h - All-reduces in many steps -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All-reduces as others do them, by messages between two ranks each. Each step
// reads what the one before has written, in the ranks' own buffers.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_STEPWISE_H
#define RUNTIME_COMM_LOCAL_STEPWISE_H

#include "runtime/comm/local/exchange.h"

namespace dist::local {

/// The rank at position 0 reduces for all; 3 meetings.
Status reduceToOne(Exchange &exchange, const RankState &state);
/// In steps of one neighbour: 2n - 1 meetings of n ranks.
Status reduceInRing(Exchange &exchange, const RankState &state);
/// By halving and doubling (schedule/halving.h): 2 k + 1 meetings of 2^k ranks.
Status reduceInHalves(Exchange &exchange, const RankState &state);

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_STEPWISE_H
