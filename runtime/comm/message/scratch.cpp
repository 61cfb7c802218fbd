//===- scratch.cpp - Memory of ranks' messages, before they run -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/message/scratch.h"
#include "runtime/comm/message/positions.h"
#include <algorithm>
#include <optional>

namespace dist::message {

Status Scratch::add(const Collective &call, const std::vector<int> &ranks) {
  std::optional<Positions> positions; // of groups of one size
  std::map<Positions::Key, int64_t> known;
  for (int rank : ranks) {
    MessagePlan plan(call, /*generation=*/0);
    DIST_RETURN_IF_ERROR(describe(options, groups, rank, &plan));
    if (call.kind == CollectiveKind::Send)
      continue; // it has a copy
    const Description &d = plan.description;
    if (!positions)
      positions.emplace(call, plan.way, d.size());
    auto [found, isNew] = known.try_emplace(positions->keyOf(d.position), 0);
    if (isNew)
      found->second =
          Operation::measure(groups, team, d, plan.way, &plan.space);
    int64_t &most = mostOfLine[rank][plan.line()];
    most = std::max(most, found->second);
  }
  return Status();
}

int64_t Scratch::bytesOf(int rank) const {
  int64_t sum = 0;
  for (const auto &[line, most] : mostOfLine[rank])
    sum += most;
  return sum;
}

} // namespace dist::message
