//===- peer_access.cpp - Where peers' buffers lie -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/peer_access.h"
#include <cstring>

namespace dist::local {

Status publishBuffers(Exchange &e, const RankState &state, void **addresses) {
  const Collective &what = e.what;
  // What lies here is all that one alone needs.
  DIST_RETURN_IF_ERROR(
      locateOwnParts(state.shared.options, state.rank, e, e.from, addresses));
  if (e.size() == 1)
    return Status();
  auto at = [&](int64_t i, void *buffer) {
    return static_cast<char *>(buffer) + e.position * what.pieces[i].from_place;
  };
  state.use(e);
  // It is another call than the one that moves the same. A rank that leaves
  // first reuses the list it came with, so the addresses travel as data; those
  // that are too many are read before any rank leaves.
  Call call = e.call;
  call.digest = ~call.digest;
  size_t bytes = what.pieces.size * sizeof(void *);
  bool packed = bytes <= inlineBytes;
  void *const *given = e.from;
  state.keepLists(e);
  auto meet = [&] {
    return state.shared.meet(*e.group, call, e.from, e.to, [&](char *small) {
      if (packed && bytes > 0)
        std::memcpy(small, given, bytes);
    });
  };
  DIST_RETURN_IF_ERROR(meet());
  for (int position = 0; position < e.size(); ++position) {
    const Publication &publication = state.published(e, position);
    for (int64_t i = 0; i < what.pieces.size; ++i) {
      void *buffer = nullptr;
      if (packed)
        std::memcpy(&buffer, publication.small + i * sizeof buffer,
                    sizeof buffer);
      else
        buffer = publication.from[i];
      addresses[i * e.size() + position] = at(i, buffer);
    }
  }
  return packed ? Status() : meet();
}

} // namespace dist::local
