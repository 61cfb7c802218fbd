//===- sent.cpp - How much a collective makes each rank send --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/schedule/sent.h"
#include "runtime/comm/schedule/choice.h"
#include "runtime/comm/schedule/halving.h"
#include "runtime/comm/schedule/parts.h"
#include "runtime/comm/schedule/stream.h"

namespace dist::message {

static Traffic sizeOf(const Slices &slices) {
  Traffic sum{slices.count(), 0};
  for (int64_t i = 0; i < slices.count(); ++i)
    sum.bytes += slices.end(i) - slices.begin(i);
  return sum;
}

static Traffic sizeOf(const Stream &stream) {
  return sizeOf(Slices(stream, 0, stream.size()));
}

/// What goes to one position, or is summed, wherever it lies.
static Stream partsOf(const Sequence<Piece> &pieces) {
  Stream stream;
  for (int64_t i = 0; i < pieces.size; ++i) {
    const Piece &p = pieces[i];
    stream.add({nullptr, 1, 1, p.outer * p.rows * p.bytes, 0, 0, i});
  }
  return stream;
}

/// Who tells whom in a binomial tree: those with one lower bit more. A position
/// has heard of it behind as many rounds as it has bits.
static void visitBroadcast(const Stream &stream, int64_t root, int64_t size,
                           int64_t firstRound, const SentFunction &sent) {
  Traffic one = sizeOf(stream);
  bool isMore = true;
  for (int64_t depth = 0; isMore; ++depth) {
    isMore = false;
    for (int64_t v = 0; v < size; ++v) {
      if (__builtin_popcountll(uint64_t(v)) != depth)
        continue;
      int64_t bit = 1;
      while (bit < size && !(v & bit))
        bit <<= 1;
      for (int64_t lower = bit >> 1; lower > 0; lower >>= 1)
        if (v + lower < size) {
          isMore = true;
          sent({firstRound + depth, int((v + root) % size),
                int((v + lower + root) % size), one});
        }
    }
  }
}

/// From each to each other: the next ones first.
template <typename Fn>
static void visitPairs(int64_t size, int64_t round, const SentFunction &sent,
                       Fn between) {
  for (int64_t from = 0; from < size; ++from)
    for (int64_t k = 1; k < size; ++k) {
      int64_t to = (from + k) % size;
      sent({round, int(from), int(to), between(from, to)});
    }
}

/// Addends to who sums a part, then this rank's part to all.
static void visitParts(const Stream &stream, int64_t size,
                       const SentFunction &sent) {
  std::vector<Traffic> parts;
  Slices slices;
  for (int64_t p = 0; p < size; ++p) {
    slices.cutParts(stream, int(p), 1, int(size));
    parts.push_back(sizeOf(slices));
  }
  visitPairs(size, 0, sent, [&](int64_t, int64_t to) { return parts[to]; });
  visitPairs(size, 1, sent, [&](int64_t from, int64_t) { return parts[from]; });
}

/// In step s position p sends part p - s on.
static void visitRing(const Sequence<Piece> &pieces, int64_t size,
                      const SentFunction &sent) {
  std::vector<Traffic> parts;
  for (int64_t p = 0; p < size; ++p) {
    Stream stream;
    for (int64_t i = 0; i < pieces.size; ++i) {
      const Piece &piece = pieces[i];
      int64_t width = byteSize(static_cast<DataType>(piece.type));
      auto [lo, hi] = partOf(piece.outer * piece.rows * piece.bytes / width,
                             width, int(p), int(size));
      stream.add({nullptr, 1, 1, (hi - lo) * width, 0, 0, i});
    }
    parts.push_back(sizeOf(stream));
  }
  for (int64_t step = 0; step < 2 * (size - 1); ++step)
    for (int64_t i = 0; i < size; ++i)
      sent({step, int(i), int((i + 1) % size),
            parts[(i + 2 * size - step) % size]});
}

/// In each round what a position has, and what all need of that, goes on by its
/// distance.
static void visitGather(int64_t bytes, int64_t size, const SentFunction &sent) {
  int64_t round = 0;
  for (int64_t distance = 1; distance < size; distance *= 2, ++round)
    for (int64_t i = 0; i < size; ++i)
      sent({round,
            int(i),
            int((i + size - distance) % size),
            {1, bytes * std::min(distance, size - distance)}});
}

/// Addends, and on the way back sums of the other parts.
static void visitHalving(const Stream &stream, int64_t size,
                         const SentFunction &sent) {
  const Halving any(0, int(size));
  Slices slices;
  int64_t number = 0; // of the round
  // All it has to who sums for it, or from there the result.
  auto visitNeighbours = [&](bool isBack) {
    for (int position = 0; position < size; ++position)
      if (Halving way(position, int(size));
          way.neighbour() >= 0 && way.isSummedFor() != isBack)
        sent({number, position, way.neighbour(), sizeOf(stream)});
    ++number;
  };
  auto visitRound = [&](int r, bool isBack) {
    for (int position = 0; position < size; ++position) {
      Halving way(position, int(size));
      if (way.isSummedFor())
        continue;
      auto [partner, keeps, gives, count] = way.round(r);
      slices.cutParts(stream, isBack ? keeps : gives, count, way.numParts());
      sent({number, position, partner, sizeOf(slices)});
    }
    ++number;
  };
  if (any.hasNeighbours())
    visitNeighbours(false);
  for (int r = 0; r < any.rounds(); ++r)
    visitRound(r, false);
  for (int r = any.rounds(); r-- > 0;)
    visitRound(r, true);
  if (any.hasNeighbours())
    visitNeighbours(true);
}

static void visitAllReduce(const Collective &what, const Stream &stream,
                           int64_t size, const SentFunction &sent) {
  int64_t bytes = stream.size();
  switch (chooseAllReduce(what.algorithm, bytes, size)) {
  case Algorithm::Exchange:
    return visitPairs(size, 0, sent,
                      [&](int64_t, int64_t) { return Traffic{1, bytes}; });
  case Algorithm::Gather:
    return visitGather(bytes, size, sent);
  case Algorithm::Ring:
    return visitRing(what.pieces, size, sent);
  case Algorithm::ReduceToOne:
    for (int64_t i = 1; i < size; ++i)
      sent({0, int(i), 0, sizeOf(stream)});
    return visitBroadcast(stream, 0, size, 1, sent);
  case Algorithm::HalvingDoubling:
    return visitHalving(stream, size, sent);
  case Algorithm::Parts:
  case Algorithm::Auto: // none is left that
    break;
  }
  visitParts(stream, size, sent);
}

static void visitBarrier(int64_t size, const SentFunction &sent) {
  if (!meetInRounds(size))
    return visitPairs(size, 0, sent,
                      [](int64_t, int64_t) { return Traffic{1, 0}; });
  int64_t round = 0;
  for (int64_t distance = 1; distance < size; distance *= 2, ++round)
    for (int64_t i = 0; i < size; ++i)
      sent({round, int(i), int((i + distance) % size), {1, 0}});
}

void visitSent(const Collective &what, int size, const SentFunction &sent) {
  if (what.kind == CollectiveKind::Barrier)
    return visitBarrier(size, sent);
  Stream stream = partsOf(what.pieces);
  // It leaves as one run of memory.
  if (what.kind == CollectiveKind::Send)
    for (int i = 0; i < size; ++i)
      if (i != what.peer)
        sent({0, i, int(what.peer), sizeOf(Slices(0, stream.size()))});
  if (stream.size() == 0)
    return;
  switch (what.kind) {
  case CollectiveKind::AllReduce:
    return visitAllReduce(what, stream, size, sent);
  case CollectiveKind::AllGather:
  case CollectiveKind::AllToAll:
  case CollectiveKind::ReduceScatter:
    return visitPairs(size, 0, sent,
                      [one = sizeOf(stream)](int64_t, int64_t) { return one; });
  case CollectiveKind::Permute:
    for (int64_t target = 0; target < what.sources.size; ++target)
      if (int64_t source = what.sources[target];
          source >= 0 && source != target)
        sent({0, int(source), int(target), sizeOf(stream)});
    return;
  case CollectiveKind::Broadcast:
    return visitBroadcast(stream, what.peer, size, 0, sent);
  case CollectiveKind::Reduce:
    for (int i = 0; i + 1 < size; ++i)
      sent({0, i, size - 1, sizeOf(stream)});
    return;
  case CollectiveKind::AllSlice:
  case CollectiveKind::Send:
  case CollectiveKind::Recv:
  case CollectiveKind::Barrier:
    return;
  }
}

std::vector<Traffic> countSent(const Collective &what, int size) {
  std::vector<Traffic> all(size);
  visitSent(what, size,
            [&](const Sending &one) { all[one.from] += one.traffic; });
  return all;
}

} // namespace dist::message
