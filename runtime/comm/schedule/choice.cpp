//===- choice.cpp - How an all-reduce of messages goes --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/schedule/choice.h"

namespace dist::message {

Algorithm chooseAllReduce(Algorithm asked, int64_t bytes, int64_t ranks) {
  if (ranks == 1)
    return Algorithm::Exchange;
  if (asked != Algorithm::Auto)
    return asked;
  // Up to here, a message's time is more than that of its bytes.
  constexpr int64_t fewBytes = 32 << 10;
  if (bytes * (ranks - 1) > fewBytes)
    return Algorithm::Parts;
  constexpr int64_t manyRanks = 8;
  return ranks >= manyRanks ? Algorithm::Gather : Algorithm::Exchange;
}

} // namespace dist::message
