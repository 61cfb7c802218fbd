//===- choice.h - How an all-reduce of messages goes ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks of a group choose by what all of them know: they must agree. The
// compiler, which tells what they will send, asks here, too.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_CHOICE_H
#define RUNTIME_COMM_SCHEDULE_CHOICE_H

#include "runtime/core/communicator.h"

namespace dist::message {

/// Of an all-reduce of `bytes`, packed, among `ranks`, which was asked to go as
/// `asked`. Never Auto.
Algorithm chooseAllReduce(Algorithm asked, int64_t bytes, int64_t ranks);

/// Whether an all-reduce by it sums in the order of ranks, so that its bits are
/// those of all others that do. What sums on the way does not. To keep the
/// order by halving, addends would have to travel unsummed, half of all ranks'
/// in the last round; Parts sends each of them once, straight to who sums it:
/// the same bytes as halving and doubling, in fewer rounds and more messages.
inline bool keepsOrder(Algorithm algorithm) {
  return factsOf(algorithm).order == SumOrder::OfPlaces;
}

/// Whether so many ranks come to a barrier in log2 rounds, or send to each
/// other.
inline bool meetInRounds(int64_t ranks) { return ranks > 4; }

} // namespace dist::message

#endif // RUNTIME_COMM_SCHEDULE_CHOICE_H
