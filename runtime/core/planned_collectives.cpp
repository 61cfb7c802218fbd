//===- planned_collectives.cpp - What a program has ranks do together -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/planned_collectives.h"
#include <map>

namespace dist {

Status readCollectives(const int64_t *words, const std::string &where,
                       CollectiveList *out) {
  constexpr int64_t headWords = sizeof(dist_rt_collective) / sizeof(int64_t);
  constexpr int64_t pieceWords = sizeof(Piece) / sizeof(int64_t);
  constexpr int64_t most = int64_t(1) << 24;
  auto isCount = [](int64_t count) { return count >= 0 && count <= most; };
  int64_t numWords = words[0], at = 1;
  if (!isCount(numWords))
    numWords = 0;
  while (at < numWords) {
    if (at + headWords > numWords)
      break;
    auto *one = reinterpret_cast<const dist_rt_collective *>(words + at);
    if (one->kind < 0 || one->kind > DIST_RT_BARRIER ||
        !isCount(one->num_axes) || !isCount(one->num_sources) ||
        !isCount(one->num_pieces))
      break;
    at += headWords + one->num_axes + one->num_sources +
          one->num_pieces * pieceWords;
    if (at > numWords)
      break;
    out->push_back(one);
  }
  if (at == numWords)
    return Status();
  return Status::error(StatusCode::InvalidInput, "the package is damaged",
                       where, "its list of collectives cannot be read",
                       "compile it again");
}

bool meetOthers(const CollectiveList &list) {
  for (const dist_rt_collective *one : list)
    if (one->kind != DIST_RT_ALL_SLICE)
      return true;
  return false;
}

bool isPublished(const Collective &call) {
  return !call.takes && call.kind != CollectiveKind::Send &&
         call.kind != CollectiveKind::Broadcast &&
         call.kind != CollectiveKind::Reduce;
}

Status PlannedEntry::prepare(Communicator &communicator,
                             const CollectiveList &ofPreparation,
                             const CollectiveList &ofStep) {
  std::map<std::array<int64_t, 3>, int32_t> numbers;
  auto prepareAll = [&](const CollectiveList &list,
                        std::vector<PlannedCollective> *planned) -> Status {
    planned->resize(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      PlannedCollective &one = (*planned)[i];
      one.started = 0;
      DIST_RETURN_IF_ERROR(
          communicator.prepare(Collective::fromAbi(*list[i]), &one.plan));
      one.plan->number = numbers[one.plan->channel]++;
    }
    return Status();
  };
  // The preparation runs before the step, if at all.
  DIST_RETURN_IF_ERROR(prepareAll(ofPreparation, &preparation));
  return prepareAll(ofStep, &step);
}

} // namespace dist
