//===- scratch.cpp - Memory of a rank's messages, before it runs ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/message/scratch.h"
#include <algorithm>

namespace dist::message {

Status Scratch::add(const Collective &call) {
  MessagePlan plan(call, /*generation=*/0);
  int64_t bytes = 0;
  DIST_RETURN_IF_ERROR(layOut(options, groups, team, rank, &plan, &bytes));
  if (plan.space.kept)
    return Status();
  int64_t &most = mostOfLine[plan.line()];
  most = std::max(most, bytes);
  return Status();
}

int64_t Scratch::bytes() const {
  int64_t sum = 0;
  for (const auto &[line, most] : mostOfLine)
    sum += most;
  return sum;
}

} // namespace dist::message
