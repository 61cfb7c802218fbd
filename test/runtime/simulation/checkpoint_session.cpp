//===- checkpoint_session.cpp - Processes that save together --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/checkpoint_session.h"
#include <algorithm>

namespace dist::simulation {

Status GroupSession::exchange(const std::string &mine,
                              std::vector<std::string> *all) {
  const size_t round = next++;
  if (rounds.told.size() <= round)
    rounds.told.resize(round + 1);
  rounds.told[round].resize(size_t(count));
  if (!simulator.isGhost())
    rounds.told[round][size_t(self)] = mine;
  auto isWhole = [&] {
    auto &texts = rounds.told[round];
    return std::all_of(texts.begin(), texts.end(),
                       [](auto &text) { return text.has_value(); });
  };
  while (!isWhole() && !rounds.isBroken && !simulator.isGhost())
    simulator.sleepUntil(simulator.now() + milliseconds(1));
  const bool isMissed = rounds.isBroken && simulator.chance(0.3);
  if (!isWhole() || isMissed || simulator.isGhost())
    return Status::error(StatusCode::Unavailable, "a process is lost", "", "");
  all->clear();
  for (auto &text : rounds.told[round])
    all->push_back(*text);
  return Status();
}

Status GroupSession::agree(bool here, bool *everywhere) {
  std::vector<std::string> all;
  DIST_RETURN_IF_ERROR(exchange(here ? "yes" : "no", &all));
  *everywhere = std::count(all.begin(), all.end(), "yes") == count;
  return Status();
}

Status GroupSession::readVariable(int index, Tensor *out) {
  std::vector<std::string> ignored;
  if (manifest().variables(index).on_read())
    DIST_RETURN_IF_ERROR(exchange("", &ignored));
  return FakeSession::readVariable(index, out);
}

void GroupSession::hold(int64_t step) {
  for (Ranks &rank : state)
    rank[W] = rank[Total] = double(step);
}

bool GroupSession::holds(int64_t step) const {
  const Ranks &rank = state[size_t(self)];
  return rank[W] == double(step) && rank[Total] <= 3 * double(step) &&
         (step == 0 || int64_t(rank[Total]) % step == 0);
}

} // namespace dist::simulation
