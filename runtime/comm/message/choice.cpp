//===- choice.cpp - How an all-reduce of messages goes --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/choice.h"

namespace dist::message {

AllReduceWay chooseAllReduce(AllReduceWay forced, Algorithm asked,
                             int64_t bytes, int ranks) {
  if (ranks == 1)
    return AllReduceWay::Exchange;
  if (asked == Algorithm::Ring)
    return AllReduceWay::Ring;
  if (asked == Algorithm::ReduceToOne)
    return AllReduceWay::ToOne;
  if (forced != AllReduceWay::Default)
    return forced;
  // Up to here, a message's time is more than that of its bytes.
  constexpr int64_t fewBytes = 32 << 10;
  if (bytes * (ranks - 1) > fewBytes)
    return AllReduceWay::Parts;
  constexpr int manyRanks = 8;
  return ranks >= manyRanks ? AllReduceWay::Gather : AllReduceWay::Exchange;
}

} // namespace dist::message
