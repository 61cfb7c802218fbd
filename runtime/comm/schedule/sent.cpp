//===- sent.cpp - How much a collective makes each rank send --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/schedule/sent.h"
#include "runtime/comm/schedule/choice.h"
#include "runtime/comm/schedule/parts.h"
#include "runtime/comm/schedule/stream.h"

namespace dist::message {

static Traffic times(const Traffic &one, int64_t count) {
  return {one.messages * count, one.bytes * count};
}

static Traffic sizeOf(const Slices &slices) {
  Traffic sum{slices.count(), 0};
  for (int64_t i = 0; i < slices.count(); ++i)
    sum.bytes += slices.end(i) - slices.begin(i);
  return sum;
}

static Traffic sizeOf(const Stream &stream) {
  return sizeOf(Slices(stream, 0, stream.size()));
}

/// Rounds in the k-th of which each reaches 2^k others.
static int64_t roundsOf(int64_t size) {
  int64_t rounds = 0;
  for (int64_t distance = 1; distance < size; distance *= 2)
    ++rounds;
  return rounds;
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

/// Who tells whom in a binomial tree: those with one lower bit more.
static int64_t childrenOf(int64_t position, int64_t root, int64_t size) {
  int64_t v = (position - root + size) % size, bit = 1, children = 0;
  while (bit < size && !(v & bit))
    bit <<= 1;
  for (int64_t lower = bit >> 1; lower > 0; lower >>= 1)
    children += v + lower < size;
  return children;
}

static void addBroadcast(const Stream &stream, int64_t root,
                         std::vector<Traffic> *sent) {
  Traffic one = sizeOf(stream);
  for (size_t i = 0; i < sent->size(); ++i)
    (*sent)[i] += times(one, childrenOf(i, root, sent->size()));
}

/// Addends to who sums a part, then this rank's part to all.
static void addParts(const Stream &stream, std::vector<Traffic> *sent) {
  int64_t size = sent->size();
  std::vector<Traffic> parts;
  Traffic all;
  for (int64_t p = 0; p < size; ++p) {
    parts.push_back(sizeOf(partOfStream(stream, p, size)));
    all += parts.back();
  }
  for (int64_t i = 0; i < size; ++i) {
    (*sent)[i] += all;
    (*sent)[i] += times(parts[i], size - 2); // not to itself, twice
  }
}

/// In step s position p sends part p - s on.
static void addRing(const Sequence<Piece> &pieces, std::vector<Traffic> *sent) {
  int64_t size = sent->size();
  std::vector<Traffic> parts;
  for (int64_t p = 0; p < size; ++p) {
    Stream stream;
    for (int64_t i = 0; i < pieces.size; ++i) {
      const Piece &piece = pieces[i];
      int64_t width = byteSize(static_cast<DataType>(piece.type));
      auto [lo, hi] = partOf(piece.outer * piece.rows * piece.bytes / width,
                             width, p, size);
      stream.add({nullptr, 1, 1, (hi - lo) * width, 0, 0, i});
    }
    parts.push_back(sizeOf(stream));
  }
  for (int64_t i = 0; i < size; ++i)
    for (int64_t step = 0; step < 2 * (size - 1); ++step)
      (*sent)[i] += parts[(i + 2 * size - step) % size];
}

static void addAllReduce(const Collective &what, const Stream &stream,
                         std::vector<Traffic> *sent) {
  int64_t size = sent->size(), bytes = stream.size();
  Algorithm way = chooseAllReduce(what.algorithm, bytes, size);
  switch (way) {
  case Algorithm::Exchange:
  case Algorithm::Gather:
    for (Traffic &one : *sent)
      one += {way == Algorithm::Gather ? roundsOf(size) : size - 1,
              bytes * (size - 1)};
    return;
  case Algorithm::Ring:
    return addRing(what.pieces, sent);
  case Algorithm::ReduceToOne:
    for (int64_t i = 1; i < size; ++i)
      (*sent)[i] += sizeOf(stream);
    return addBroadcast(stream, 0, sent);
  case Algorithm::Parts:
  case Algorithm::Auto: // none is left that
    break;
  }
  addParts(stream, sent);
}

static int64_t barrierMessages(int64_t size) {
  return meetInRounds(size) ? roundsOf(size) : size - 1;
}

std::vector<Traffic> countSent(const Collective &what, int size) {
  std::vector<Traffic> sent(size);
  if (what.kind == CollectiveKind::Barrier) {
    for (Traffic &one : sent)
      one.messages = barrierMessages(size);
    return sent;
  }
  Stream stream = partsOf(what.pieces);
  auto addToAll = [&](const Traffic &one) {
    for (Traffic &of : sent)
      of += one;
  };
  // It leaves as one run of memory.
  if (what.kind == CollectiveKind::Send)
    addToAll(sizeOf(Slices(0, stream.size())));
  if (stream.size() == 0)
    return sent;
  switch (what.kind) {
  case CollectiveKind::AllReduce:
    addAllReduce(what, stream, &sent);
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::AllToAll:
  case CollectiveKind::ReduceScatter:
    addToAll(times(sizeOf(stream), size - 1));
    break;
  case CollectiveKind::Permute:
    for (int64_t target = 0; target < what.sources.size; ++target)
      if (int64_t source = what.sources[target];
          source >= 0 && source != target)
        sent[source] += sizeOf(stream);
    break;
  case CollectiveKind::Broadcast:
    addBroadcast(stream, what.peer, &sent);
    break;
  case CollectiveKind::Reduce:
    for (int i = 0; i + 1 < size; ++i)
      sent[i] += sizeOf(stream);
    break;
  case CollectiveKind::AllSlice:
  case CollectiveKind::Send:
  case CollectiveKind::Recv:
  case CollectiveKind::Barrier:
    break;
  }
  return sent;
}

} // namespace dist::message
