//===- exchange.cpp - A collective under way ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/exchange.h"
#include <algorithm>

namespace dist::local {

RankState::RankState(Shared &shared, int rank, int ranks)
    : shared(shared), rank(rank),
      isHost(shared.options.host && rank == ranks - 1), team(shared.options),
      scratch(2 * ranks), memberAt(ranks) {}

int64_t positionOf(const Shared &shared, const Exchange &exchange, int member) {
  if (exchange.inOrder || (exchange.withHost && member == exchange.size() - 1))
    return member;
  int64_t position = 0;
  for (int64_t axis : exchange.what.axes)
    position = position * shared.options.mesh[axis] +
               shared.coordinate(exchange.group->group->members[member], axis);
  return position;
}

void RankState::prepare(const Exchange &exchange) {
  bool background = exchange.what.background;
  team.inBackground = background;
  exchange.group->patient = isHost;
  exchange.group->background = background;
  exchange.group->spinMicroseconds =
      background || isHost ? 0 : shared.options.spinMicroseconds;
  for (int member = 0; member < exchange.size(); ++member)
    memberAt[positionOf(shared, exchange, member)] = member;
}

void RankState::keepLists(Exchange &exchange) {
  auto keep = [&](bool has, void *const *&list, std::vector<void *> &held) {
    if (!has || !list)
      return;
    held.assign(list, list + exchange.what.pieces.size);
    list = held.data();
  };
  keep(exchange.what.gives, exchange.from, heldFrom);
  keep(exchange.what.takes, exchange.to, heldTo);
}

std::pair<int64_t, int64_t> partOf(int64_t count, int64_t elementBytes,
                                   int index, int size) {
  int64_t line = std::max<int64_t>(1, 64 / elementBytes);
  int64_t lines = (count + line - 1) / line;
  auto cut = [&](int64_t i) {
    return std::min(count, lines * i / size * line);
  };
  return {cut(index), cut(index + 1)};
}

/// What ranks at one collective must have in common. A send and its recv are
/// different ops, which agree on the pieces alone.
static uint64_t digestOf(const Collective &call) {
  uint64_t digest = 1469598103934665603u;
  auto add = [&](const void *data, size_t words) {
    for (size_t i = 0; i < words; ++i)
      digest =
          (digest ^ static_cast<const uint64_t *>(data)[i]) * 1099511628211u;
  };
  add(call.pieces.data, call.pieces.size * (sizeof(Piece) / sizeof(uint64_t)));
  if (call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Recv)
    return digest;
  int64_t rest[] = {static_cast<int64_t>(call.reduction),
                    static_cast<int64_t>(call.algorithm), call.peer};
  add(rest, 3);
  add(call.axes.data, call.axes.size);
  add(call.sources.data, call.sources.size);
  return digest;
}

/// Whether the peer is the position behind those of the axes.
static bool isHostsPosition(const Shared &shared, const Collective &what) {
  int64_t devices = 1;
  for (int64_t axis : what.axes)
    devices *= shared.options.mesh[axis];
  return what.peer == devices;
}

Status begin(const RankState &state, std::vector<Membership> &groups,
             Exchange &exchange) {
  Shared &shared = state.shared;
  const Collective &what = exchange.what;
  exchange.call.kind = what.kind;
  exchange.call.op = what.op;
  auto refuse = [&](const char *why, StatusCode code) {
    return Status::error(code, std::string(name(what.kind)) + " got " + why,
                         shared.opName(state.rank, what.op));
  };
  uint32_t mask = 0;
  for (int64_t i = 0; i < what.axes.size; ++i) {
    int64_t axis = what.axes[i];
    if (axis < 0 || axis >= int64_t(shared.options.mesh.size()) ||
        (mask >> axis & 1))
      return refuse("axes that the mesh has not", StatusCode::Internal);
    exchange.inOrder &= i == 0 || what.axes[i - 1] < axis;
    mask |= 1u << axis;
  }
  // The host's own group is the last; it has all axes.
  exchange.group = &groups[mask];
  bool reachesHost = what.kind == CollectiveKind::Reduce ||
                     what.kind == CollectiveKind::Broadcast;
  exchange.withHost =
      shared.options.host && reachesHost && isHostsPosition(shared, what);
  if (what.kind == CollectiveKind::Reduce && !exchange.withHost)
    return refuse("no host to reduce to", StatusCode::Internal);
  if (exchange.withHost) {
    if (mask + 1 != 1u << shared.options.mesh.size())
      return refuse("axes that do not reach all devices", StatusCode::Internal);
    exchange.group = &groups.back();
  } else if (state.isHost) {
    return refuse("a call that its host has no part in", StatusCode::Internal);
  }
  exchange.call.betweenPrograms = exchange.withHost;
  exchange.position = positionOf(shared, exchange, exchange.group->index);
  int size = exchange.size();
  bool reduces = what.kind == CollectiveKind::AllReduce ||
                 what.kind == CollectiveKind::ReduceScatter ||
                 what.kind == CollectiveKind::Reduce;
  for (const Piece &piece : what.pieces) {
    auto type = static_cast<DataType>(piece.type);
    size_t width = byteSize(type);
    int64_t bytes = bytesFrom(piece, size);
    if (width == 0 || bytes < 0 ||
        (reduces && !findReduction(type, what.reduction)))
      return refuse("a type, size or reduction that there is not",
                    StatusCode::Internal);
    exchange.call.count += bytes / width;
    exchange.bytes += alignPacked(bytes);
  }
  bool hasPeer = what.kind == CollectiveKind::Broadcast ||
                 what.kind == CollectiveKind::Reduce ||
                 what.kind == CollectiveKind::Send ||
                 what.kind == CollectiveKind::Recv;
  if (hasPeer && (what.peer < 0 || what.peer >= size))
    return refuse("a peer that is not in its group",
                  StatusCode::InvalidArgument);
  if (what.kind == CollectiveKind::Permute) {
    bool fits = what.sources.size == size;
    for (int64_t source : what.sources)
      fits &= source >= -1 && source < size;
    if (!fits)
      return refuse("sources that are not in its group",
                    StatusCode::InvalidArgument);
  }
  if (what.kind == CollectiveKind::AllReduce)
    exchange.algorithm = what.algorithm == Algorithm::Auto
                             ? shared.options.allReduce
                             : what.algorithm;
  if (exchange.algorithm < Algorithm::Auto ||
      exchange.algorithm > Algorithm::ReduceToOne)
    return refuse("an algorithm that there is not", StatusCode::Internal);
  exchange.call.digest = digestOf(what);
  return shared.aborted.load() ? shared.abortedStatus(state.rank, exchange.call)
                               : Status();
}

} // namespace dist::local
