//===- stepwise.cpp - All-reduces in many steps ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/stepwise.h"

namespace dist::local {

Status reduceToOne(Exchange &e, RankState &state) {
  state.keepLists(e);
  DIST_RETURN_IF_ERROR(state.meet(e));
  int64_t pieces = e.what.pieces.size;
  if (e.position == 0)
    for (int64_t i = 0; i < pieces; ++i) {
      for (int position = 0; position < e.size(); ++position)
        state.scratch[position] = state.published(e, position).from[i];
      state.team.reduce(e.reduction(i), state.scratch.data(), e.size(),
                        &e.to[i], 1, 0, e.elements(i), e.width(i));
    }
  DIST_RETURN_IF_ERROR(state.meet(e));
  if (e.position != 0)
    for (int64_t i = 0; i < pieces; ++i)
      state.team.copy(state.published(e, 0).to[i], e.to[i], 0,
                      e.elements(i) * e.width(i));
  return state.meet(e);
}

// With n ranks each piece has n parts. In step s < n - 1 the rank at position p
// adds its own to part (p - 1 - s) mod n, which its left neighbour has summed
// up over s + 1 ranks; after n - 1 of them it has one part whole, which then
// goes around in as many steps: part (p - 1 - s) mod n again.
Status reduceInRing(Exchange &e, RankState &state) {
  state.keepLists(e);
  DIST_RETURN_IF_ERROR(state.meet(e));
  int64_t size = e.size(), left = (e.position + size - 1) % size;
  for (int64_t step = 0; step < 2 * (size - 1); ++step) {
    int64_t part = (e.position + 2 * size - 1 - step) % size;
    for (int64_t i = 0; i < e.what.pieces.size; ++i) {
      int64_t width = e.width(i);
      auto [lo, hi] = partOf(e.elements(i), width, part, size);
      const Publication &neighbour = state.published(e, left);
      if (step >= size - 1) {
        state.team.copy(neighbour.to[i], e.to[i], lo * width, hi * width);
        continue;
      }
      state.scratch[0] = step == 0 ? neighbour.from[i] : neighbour.to[i];
      state.scratch[1] = e.from[i];
      state.team.reduce(e.reduction(i), state.scratch.data(), 2, &e.to[i], 1,
                        lo, hi, width);
    }
    DIST_RETURN_IF_ERROR(state.meet(e));
  }
  return Status();
}

} // namespace dist::local
