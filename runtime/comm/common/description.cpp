//===- description.cpp - A collective, checked ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/common/description.h"
#include <algorithm>
#include <cstdio>

namespace dist {

std::string rankName(const WorldOptions &options, int rank) {
  std::string text = "rank " + std::to_string(rank);
  return options.nameProcess ? text + " of " + options.nameProcess(rank) : text;
}

std::string opName(const WorldOptions &options, int rank, int32_t op) {
  return options.nameOp ? options.nameOp(rank, op) : "op " + std::to_string(op);
}

std::string withinTimeout(const WorldOptions &options) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "within %g s", options.timeout);
  return seconds;
}

std::string describe(const WorldOptions &options, int rank, const Call &call) {
  return std::string(name(call.kind)) + " of " +
         opName(options, rank, call.op) + " with " +
         std::to_string(call.count) + " elements on rank " +
         std::to_string(rank);
}

std::string describeMismatch(const WorldOptions &options, int rank,
                             const Call &call, int other,
                             const Call &othersCall) {
  bool sameOp = call.op == othersCall.op || call.betweenPrograms;
  bool sameWay = call.algorithm == othersCall.algorithm;
  auto way = [&](const Call &of) {
    return sameWay ? "" : std::string(" by ") + name(of.algorithm);
  };
  bool looksSame = sameOp && sameWay && call.kind == othersCall.kind &&
                   call.count == othersCall.count &&
                   call.digest != othersCall.digest;
  return "ranks are at different collectives: " +
         describe(options, rank, call) + way(call) + ", " +
         describe(options, other, othersCall) + way(othersCall) +
         (looksSame ? ", which differ in element type, reduction, axes, root "
                      "or how their pieces lie"
                    : "");
}

std::string describeMismatchedSend(const WorldOptions &options, int sender,
                                   const Call &sent, int64_t tag,
                                   const Call &expected) {
  return "rank " + std::to_string(sender) + " sent " +
         std::to_string(sent.count) + " elements of " +
         opName(options, sender, sent.op) + " with tag " + std::to_string(tag) +
         ", but " + std::to_string(expected.count) +
         " of another form are expected";
}

int Description::positionOf(const MeshGroups &groups, int member) const {
  if (inOrder || (withHost && member == size() - 1))
    return member;
  int64_t position = 0;
  for (int64_t axis : what.axes)
    position = position * groups.mesh()[axis] +
               groups.coordinate((*members)[member], axis);
  return position;
}

int Description::rankAt(const MeshGroups &groups, int64_t position) const {
  int member = 0;
  while (positionOf(groups, member) != position)
    ++member;
  return (*members)[member];
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
static bool isHostsPosition(const MeshGroups &groups, const Collective &what) {
  int64_t devices = 1;
  for (int64_t axis : what.axes)
    devices *= groups.mesh()[axis];
  return what.peer == devices;
}

Status check(const WorldOptions &options, const MeshGroups &groups, int rank,
             Description *description) {
  Description &d = *description;
  const Collective &what = d.what;
  d.call.kind = what.kind;
  d.call.op = what.op;
  auto refuse = [&](const char *why, StatusCode code) {
    return Status::error(code, std::string(name(what.kind)) + " got " + why,
                         opName(options, rank, what.op));
  };
  uint32_t mask = 0;
  for (int64_t i = 0; i < what.axes.size; ++i) {
    int64_t axis = what.axes[i];
    if (axis < 0 || axis >= int64_t(groups.mesh().size()) || (mask >> axis & 1))
      return refuse("axes that the mesh has not", StatusCode::Internal);
    d.inOrder &= i == 0 || what.axes[i - 1] < axis;
    mask |= 1u << axis;
  }
  const std::vector<int> &mine = groups.groupsOf(rank);
  d.groupIndex = mask;
  bool reachesHost = what.kind == CollectiveKind::Reduce ||
                     what.kind == CollectiveKind::Broadcast;
  d.withHost = groups.hasHost() && reachesHost && isHostsPosition(groups, what);
  if (what.kind == CollectiveKind::Reduce && !d.withHost)
    return refuse("no host to reduce to", StatusCode::Internal);
  if (d.withHost) {
    if (mask + 1 != 1u << groups.mesh().size())
      return refuse("axes that do not reach all devices", StatusCode::Internal);
    d.groupIndex = mine.size() - 1;
  } else if (groups.isHost(rank)) {
    return refuse("a call that its host has no part in", StatusCode::Internal);
  }
  d.call.betweenPrograms = d.withHost;
  d.members = &groups.membersOf(mine[d.groupIndex]);
  const std::vector<int> &members = *d.members;
  int member =
      std::lower_bound(members.begin(), members.end(), rank) - members.begin();
  d.position = d.positionOf(groups, member);
  int size = d.size();
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
    d.call.count += bytes / width;
    d.bytes += alignPacked(bytes);
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
    d.algorithm =
        what.algorithm == Algorithm::Auto ? options.allReduce : what.algorithm;
  if (!isAlgorithm(static_cast<int64_t>(d.algorithm)))
    return refuse("an algorithm that there is not", StatusCode::Internal);
  d.call.digest = digestOf(what);
  d.call.algorithm = d.algorithm;
  bool toPeer =
      what.kind == CollectiveKind::Send || what.kind == CollectiveKind::Recv;
  if (toPeer)
    d.channel = {1 + (what.kind == CollectiveKind::Recv),
                 d.rankAt(groups, what.peer), what.tag};
  else
    d.channel = {0, mine[d.groupIndex], 0};
  return Status();
}

Status locateOwnParts(const WorldOptions &options, int rank,
                      const Description &d, void *const *from,
                      void **addresses) {
  for (int64_t i = 0; i < d.what.pieces.size; ++i) {
    const Piece &piece = d.what.pieces[i];
    if (piece.outer * piece.rows != 1)
      return Status::error(StatusCode::Internal,
                           std::string(name(d.what.kind)) +
                               " got a piece to share that is not one block",
                           opName(options, rank, d.what.op));
    addresses[i] = static_cast<char *>(from[i]) + d.position * piece.from_place;
  }
  return Status();
}

} // namespace dist
