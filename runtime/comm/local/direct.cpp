//===- direct.cpp - Collectives that meet once or twice -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/direct.h"
#include <cstring>

namespace dist::local {

namespace {

class Direct {
public:
  Direct(Exchange &exchange, const RankState &state)
      : e(exchange), state(state) {}
  virtual ~Direct() = default;

  /// This rank's part, once all can be read.
  void work();

protected:
  /// Piece `i` of the rank at `position`; `offset` is where it is when packed.
  virtual void *source(int position, int64_t i, int64_t offset) const = 0;
  /// Reduces the first `numFrom` positions' pieces, for all or for `root`.
  virtual void reduce(int64_t i, int64_t offset, int numFrom, int root) = 0;

  void takeSources(int64_t i, int64_t offset, int numFrom) {
    for (int position = 0; position < numFrom; ++position)
      e.scratch[position] = source(position, i, offset);
  }
  /// Elements lo..hi-1, from `numFrom` sources to the targets behind them.
  void reduceScratch(int64_t i, int numFrom, int numTo, int64_t lo,
                     int64_t hi) {
    void **targets = e.scratch.data() + numFrom;
    e.team.reduce(e.reduction(i), e.scratch.data(), numFrom, targets, numTo, lo,
                  hi, e.width(i));
  }

  Exchange &e;
  const RankState &state;

private:
  void pull(int64_t i, int64_t offset, int from) {
    e.team.pull(e.what.pieces[i], source(from, i, offset), e.position, e.to[i],
                from);
  }
  void reduceScatter(int64_t i, int64_t offset);
};

/// Each rank reduces all of a piece, and keeps the result: no rank waits for
/// what another one computes.
class ForItself : public Direct {
  using Direct::Direct;
  void reduce(int64_t i, int64_t offset, int numFrom, int root) final {
    if (root >= 0 && root != e.position)
      return;
    takeSources(i, offset, numFrom);
    e.scratch[numFrom] = e.to[i];
    reduceScratch(i, numFrom, 1, 0, e.elements(i));
  }
};

/// The only rank of its group.
class Alone final : public ForItself {
  using ForItself::ForItself;
  void *source(int, int64_t i, int64_t) const override { return e.from[i]; }
};

/// The pieces travel in what the ranks publish.
class Packed final : public ForItself {
public:
  using ForItself::ForItself;
  void pack(char *small) const {
    if (!e.what.gives)
      return;
    for (int64_t i = 0; i < e.what.pieces.size; ++i) {
      int64_t bytes = bytesFrom(e.what.pieces[i], e.size());
      if (bytes)
        std::memcpy(small, e.from[i], bytes);
      small += alignPacked(bytes);
    }
  }

private:
  void *source(int position, int64_t, int64_t offset) const override {
    return const_cast<char *>(state.published(e, position).small) + offset;
  }
};

/// Ranks read and write each other's buffers: each reduces a part, for all.
class InPlace final : public Direct {
  using Direct::Direct;
  void *source(int position, int64_t i, int64_t) const override {
    return state.published(e, position).from[i];
  }
  void reduce(int64_t i, int64_t offset, int numFrom, int root) override {
    if (e.position >= numFrom)
      return; // the host, for which the devices work
    takeSources(i, offset, numFrom);
    int numTo = root < 0 ? e.size() : 1;
    for (int to = 0; to < numTo; ++to)
      e.scratch[numFrom + to] = state.published(e, root < 0 ? to : root).to[i];
    auto [lo, hi] = partOf(e.elements(i), e.width(i), e.position, numFrom);
    reduceScratch(i, numFrom, numTo, lo, hi);
  }
};

} // namespace

void Direct::work() {
  const Collective &what = e.what;
  int size = e.size();
  int64_t offset = 0;
  for (int64_t i = 0; i < what.pieces.size; ++i) {
    const Piece &piece = what.pieces[i];
    switch (what.kind) {
    case CollectiveKind::AllReduce:
      reduce(i, offset, size, -1);
      break;
    case CollectiveKind::ReduceScatter:
      reduceScatter(i, offset);
      break;
    case CollectiveKind::Permute:
      if (int64_t from = what.sources[e.position]; from >= 0)
        pull(i, offset, from);
      else
        std::memset(e.to[i], 0, bytesTo(piece, size));
      break;
    case CollectiveKind::Reduce:
      reduce(i, offset, size - 1, size - 1);
      break;
    case CollectiveKind::Broadcast:
      if (!e.withHost || !state.isHost) // its own stays where it is
        pull(i, offset, what.peer);
      break;
    default: // all_gather, all_to_all
      for (int from = 0; from < size; ++from)
        pull(i, offset, from);
      break;
    }
    offset += alignPacked(bytesFrom(piece, size));
  }
}

void Direct::reduceScatter(int64_t i, int64_t offset) {
  const Piece &piece = e.what.pieces[i];
  int size = e.size();
  for (int64_t o = 0; o < piece.outer; ++o)
    for (int64_t row = 0; row < piece.rows; ++row) {
      int64_t from = e.position * piece.from_place + o * piece.from_outer +
                     row * piece.from_row;
      for (int position = 0; position < size; ++position)
        e.scratch[position] =
            static_cast<char *>(source(position, i, offset)) + from;
      e.scratch[size] = static_cast<char *>(e.to[i]) + o * piece.to_outer +
                        row * piece.to_row;
      reduceScratch(i, size, 1, 0, piece.bytes / e.width(i));
    }
}

Status collectDirectly(Exchange &exchange, const RankState &state) {
  if (exchange.size() == 1) {
    Alone(exchange, state).work();
    return Status();
  }
  state.keepLists(exchange);
  if (exchange.bytes <= inlineBytes) {
    Packed packed(exchange, state);
    DIST_RETURN_IF_ERROR(
        state.meet(exchange, [&](char *small) { packed.pack(small); }));
    packed.work();
    return Status();
  }
  DIST_RETURN_IF_ERROR(state.meet(exchange));
  InPlace(exchange, state).work();
  // No rank's buffers may change before all have read them.
  return state.meet(exchange);
}

} // namespace dist::local
