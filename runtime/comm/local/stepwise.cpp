//===- stepwise.cpp - All-reduces in many steps ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/stepwise.h"
#include "runtime/comm/schedule/halving.h"
#include <algorithm>

namespace dist::local {

Status reduceToOne(Exchange &e, const RankState &state) {
  state.keepLists(e);
  DIST_RETURN_IF_ERROR(state.meet(e));
  int64_t pieces = e.what.pieces.size;
  if (e.position == 0)
    for (int64_t i = 0; i < pieces; ++i) {
      for (int position = 0; position < e.size(); ++position)
        e.scratch[position] = state.published(e, position).from[i];
      e.team.reduce(e.reduction(i), e.scratch.data(), e.size(), &e.to[i], 1, 0,
                    e.elements(i), e.width(i));
    }
  DIST_RETURN_IF_ERROR(state.meet(e));
  if (e.position != 0)
    for (int64_t i = 0; i < pieces; ++i)
      e.team.copy(state.published(e, 0).to[i], e.to[i], 0,
                  e.elements(i) * e.width(i));
  return state.meet(e);
}

// With n ranks each piece has n parts. In step s < n - 1 the rank at position p
// adds its own to part (p - 1 - s) mod n, which its left neighbour has summed
// up over s + 1 ranks; after n - 1 of them it has one part whole, which then
// goes around in as many steps: part (p - 1 - s) mod n again.
Status reduceInRing(Exchange &e, const RankState &state) {
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
        e.team.copy(neighbour.to[i], e.to[i], lo * width, hi * width);
        continue;
      }
      e.scratch[0] = step == 0 ? neighbour.from[i] : neighbour.to[i];
      e.scratch[1] = e.from[i];
      e.team.reduce(e.reduction(i), e.scratch.data(), 2, &e.to[i], 1, lo, hi,
                    width);
    }
    DIST_RETURN_IF_ERROR(state.meet(e));
  }
  return Status();
}

// What a rank reads of another one's result, nobody writes meanwhile: in a
// round each writes what it keeps, and on the way back what it has not.
Status reduceInHalves(Exchange &e, const RankState &state) {
  const Halving way(e.position, e.size());
  auto forParts = [&](int first, int count, auto move) {
    for (int64_t i = 0; i < e.what.pieces.size; ++i) {
      auto cut = [&](int part) {
        return partOf(e.elements(i), e.width(i), part, way.numParts());
      };
      move(i, cut(first).first, cut(first + count - 1).second);
    }
  };
  // What a position has before a round; those that neighbours sum for give it
  // before all rounds.
  constexpr int beforeAll = -1;
  auto has = [&](int position, int round, int64_t i) {
    const Publication &of = state.published(e, position);
    bool hasSummed =
        round > 0 ||
        (round == 0 && Halving(position, e.size()).neighbour() >= 0);
    return (hasSummed ? of.to : of.from)[i];
  };
  auto sum = [&](int partner, int round, int first, int count) {
    forParts(first, count, [&](int64_t i, int64_t lo, int64_t hi) {
      e.scratch[0] = has(std::min(e.position, partner), round, i);
      e.scratch[1] = has(std::max(e.position, partner), round, i);
      e.team.reduce(e.reduction(i), e.scratch.data(), 2, &e.to[i], 1, lo, hi,
                    e.width(i));
    });
  };
  auto copy = [&](int partner, int first, int count) {
    forParts(first, count, [&](int64_t i, int64_t lo, int64_t hi) {
      e.team.copy(state.published(e, partner).to[i], e.to[i], lo * e.width(i),
                  hi * e.width(i));
    });
  };
  state.keepLists(e);
  DIST_RETURN_IF_ERROR(state.meet(e));
  if (way.hasNeighbours()) {
    if (way.neighbour() >= 0 && !way.isSummedFor())
      sum(way.neighbour(), beforeAll, 0, way.numParts());
    DIST_RETURN_IF_ERROR(state.meet(e));
  }
  for (int r = 0; r < way.rounds(); ++r) {
    auto [partner, keeps, gives, count] = way.round(r);
    if (!way.isSummedFor())
      sum(partner, r, keeps, count);
    DIST_RETURN_IF_ERROR(state.meet(e));
  }
  for (int r = way.rounds(); r-- > 0;) {
    auto [partner, keeps, takes, count] = way.round(r);
    if (!way.isSummedFor())
      copy(partner, takes, count);
    DIST_RETURN_IF_ERROR(state.meet(e));
  }
  if (way.hasNeighbours()) {
    if (way.isSummedFor())
      copy(way.neighbour(), 0, way.numParts());
    DIST_RETURN_IF_ERROR(state.meet(e));
  }
  return Status();
}

} // namespace dist::local
