//===- sums.cpp - Reductions made of messages -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/operation.h"
#include "runtime/comm/schedule/halving.h"
#include <algorithm>
#include <utility>

namespace dist::message {

Slots &Operation::takeSlots(Sequence<int> givers, int64_t bytes) {
  Slots &slots = space.slots.take();
  slots.memory.assign(givers.size, nullptr);
  for (int64_t i = 0; i < givers.size; ++i)
    if (givers[i] != me)
      slots.memory[i] = allocate(bytes);
  return slots;
}

void Operation::receiveAddends(uint32_t step, Sequence<int> givers,
                               int64_t bytes, Slots &slots) {
  slots.tickets.clear();
  // Not all ranks ask the same one first.
  for (int64_t k = 0; k < givers.size; ++k) {
    int64_t i = (me + k) % givers.size;
    if (givers[i] != me)
      slots.tickets.push_back(expect(step, givers[i], slots.memory[i], bytes));
  }
}

Status Operation::sum(const Slots &slots, const Stream &own,
                      const Stream &result, int64_t lo, int64_t hi) {
  size_t next = 0;
  DIST_RETURN_IF_ERROR(wait([&] {
    while (next < slots.tickets.size() && slots.tickets[next]->isDone())
      ++next;
    return next == slots.tickets.size();
  }));
  space.sources.resize(slots.memory.size());
  if (network)
    combine(slots, own, result, lo, hi);
  return Status();
}

void Operation::combine(const Slots &slots, const Stream &own,
                        const Stream &result, int64_t lo, int64_t hi) {
  int numFrom = slots.memory.size();
  std::vector<const void *> &sources = space.sources;
  // Blocks of this rank's own, and in each the blocks of the result.
  auto sumBlock = [&](int64_t piece, const char *ownAt, char *resultAt,
                      int64_t offset, int64_t bytes) {
    for (int source = 0; source < numFrom; ++source)
      sources[source] =
          slots.memory[source] ? slots.memory[source] + (offset - lo) : ownAt;
    void *target = resultAt;
    int64_t width = d.width(piece);
    team.reduce(d.reduction(piece), sources.data(), numFrom, &target, 1, 0,
                bytes / width, width);
  };
  if (own.size() == 0) // the host's
    result.walk(lo, hi,
                [&](int64_t piece, char *at, int64_t offset, int64_t bytes) {
                  sumBlock(piece, nullptr, at, offset, bytes);
                });
  own.walk(lo, hi,
           [&](int64_t piece, char *ownAt, int64_t start, int64_t count) {
             result.walk(start, start + count,
                         [&](int64_t, char *at, int64_t offset, int64_t bytes) {
                           sumBlock(piece, ownAt + (offset - start), at, offset,
                                    bytes);
                         });
           });
}

template <typename Then>
Status Operation::sumSlices(const Slices &slices, const Stream &own,
                            const Stream &result, Sequence<int> givers,
                            uint32_t firstStep, Then then) {
  // So many slices are on their way while one is summed, each to memory where
  // another was summed before: in a cache still.
  constexpr int64_t window = 4;
  int64_t count = slices.count(), most = slices.most();
  Slots *coming[window]; // slice i is in i % window
  auto ask = [&](int64_t i) {
    receiveAddends(firstStep + i, givers, slices.end(i) - slices.begin(i),
                   *coming[i % window]);
  };
  for (int64_t i = 0; i < std::min(window, count); ++i) {
    coming[i] = &takeSlots(givers, most);
    ask(i);
  }
  for (int64_t i = 0; i < count; ++i) {
    DIST_RETURN_IF_ERROR(
        sum(*coming[i % window], own, result, slices.begin(i), slices.end(i)));
    then(i);
    if (i + window < count)
      ask(i + window);
  }
  return Status();
}

Status Operation::allReduce() {
  switch (way) {
  case Algorithm::Exchange:
    return sumAllAtOnce();
  case Algorithm::Gather:
    return gatherAndSum();
  case Algorithm::Ring:
    return sumInRing();
  case Algorithm::ReduceToOne:
    return sumAtOne();
  case Algorithm::HalvingDoubling:
    return sumInHalves();
  case Algorithm::Parts:
  case Algorithm::Auto: // none is left that
    break;
  }
  return sumInParts();
}

Status Operation::sumAllAtOnce() {
  const Stream &own = whole(from), &result = whole(to);
  int64_t bytes = own.size();
  Slots &slots = takeSlots(everybody(), bytes);
  receiveAddends(0, everybody(), bytes, slots);
  for (int k = 1; k < size; ++k)
    send(0, (me + k) % size, own, 0, bytes);
  // The result may lie where what goes does.
  DIST_RETURN_IF_ERROR(finish());
  return sum(slots, own, result, 0, bytes);
}

// Bruck's all-gather: slot j is for the addends of position me + j. Before the
// round of a distance, the first `distance` slots are full; they go to the
// position that far to the left, where they follow those that it has. Any
// number of ranks takes ceil(log2(size)) rounds, the last one of which brings
// what is left. Nothing is summed on the way: each rank has all addends in the
// end, and sums them in the order of ranks.
Status Operation::gatherAndSum() {
  const Stream &own = whole(from), &result = whole(to);
  int64_t bytes = own.size();
  char *slots = allocate(bytes * size);
  if (network)
    own.gather(0, bytes, slots);
  for (int distance = 1, round = 0; distance < size; distance *= 2, ++round) {
    int64_t count = bytes * std::min(distance, size - distance);
    Ticket *coming =
        expect(round, (me + distance) % size, slots + distance * bytes, count);
    post(round, (me + size - distance) % size, slots, count);
    DIST_RETURN_IF_ERROR(waitFor(coming));
  }
  Slots &addends = space.slots.take();
  addends.memory.clear();
  addends.tickets.clear();
  for (int source = 0; source < size; ++source)
    addends.memory.push_back(slots + (source + size - me) % size * bytes);
  DIST_RETURN_IF_ERROR(sum(addends, own, result, 0, bytes));
  return finish();
}

// Position p sums part p. A rank sends it its addends as they lie, in place or
// not: the sum that overwrites them comes when p has them.
Status Operation::sumInParts() {
  const Stream &own = whole(from), &result = whole(to);
  constexpr uint32_t sums = 1u << 31;
  // Part p is the p-th from here on.
  size_t first = space.slices.size();
  int64_t most = 0;
  for (int p = 0; p < size; ++p) {
    Slices &part = space.slices.take();
    part.cutParts(own, p, 1, size);
    most = std::max(most, part.count());
  }
  auto parts = [&](int p) -> const Slices & { return space.slices[first + p]; };
  for (int k = 1; k < size; ++k) {
    int p = (me + size - k) % size;
    receiveSlices(p, result, parts(p), sums);
  }
  for (int64_t i = 0; i < most; ++i)
    for (int k = 1; k < size; ++k) {
      int p = (me + k) % size;
      if (i < parts(p).count())
        send(i, p, own, parts(p).begin(i), parts(p).end(i));
    }
  DIST_RETURN_IF_ERROR(
      sumSlices(parts(me), own, result, everybody(), 0, [&](int64_t i) {
        for (int k = 1; k < size; ++k)
          send(sums + i, (me + k) % size, result, parts(me).begin(i),
               parts(me).end(i));
      }));
  return finish();
}

// Each piece has `size` parts. In step s < size - 1 position p adds its own to
// part (p - 1 - s) mod size, which its left neighbour has summed up over s + 1
// ranks; after size - 1 of them it has one part whole, which then goes around
// in as many steps: part (p - 1 - s) mod size again.
Status Operation::sumInRing() {
  int left = (me + size - 1) % size, right = (me + 1) % size;
  const int both[] = {left, me};
  constexpr uint32_t mostSlices = 1 << 16;
  for (int step = 0; step < 2 * (size - 1); ++step) {
    int mine = (me + 2 * size - 1 - step) % size, next = (mine + 1) % size;
    uint32_t first = step * mostSlices;
    sendAll(right, partsOf(step == 0 ? from : to, next), first);
    const Stream &result = partsOf(to, mine);
    if (step >= size - 1) {
      receiveAll(left, result, first);
      DIST_RETURN_IF_ERROR(finish());
      continue;
    }
    const Stream &own = partsOf(from, mine);
    DIST_RETURN_IF_ERROR(sumSlices(cut(own), own, result, {both, 2}, first));
  }
  return finish();
}

// See halving.h. What a rank gives it has summed before, and what comes back is
// made of that: so it may come to where that lies. The slices of addends and
// those of sums are all that two ranks ever send each other.
Status Operation::sumInHalves() {
  const Halving way(me, size);
  const Stream *own = &whole(from);
  const Stream &result = whole(to);
  constexpr uint32_t sums = 1u << 31;
  if (way.isSummedFor()) {
    receiveAll(way.neighbour(), result, sums);
    sendAll(way.neighbour(), *own, 0);
    return finish();
  }
  auto cutParts = [&](int first, int count) -> const Slices & {
    Slices &slices = space.slices.take();
    slices.cutParts(result, first, count, way.numParts());
    return slices;
  };
  auto sumWith = [&](int partner, const Slices &slices, auto then) {
    const int both[] = {std::min(me, partner), std::max(me, partner)};
    const Stream &before = *std::exchange(own, &result);
    return sumSlices(slices, before, result, {both, 2}, 0, then);
  };
  if (way.neighbour() >= 0)
    DIST_RETURN_IF_ERROR(sumWith(way.neighbour(), cut(result), Nothing()));
  size_t firstTicket = 0, lastTicket = 0; // of what comes in a round back
  auto ask = [&](int partner, const Slices &slices) {
    firstTicket = space.tickets.size();
    receiveSlices(partner, result, slices, sums);
    lastTicket = space.tickets.size();
  };
  for (int r = 0; r < way.rounds(); ++r) {
    const Halving::Round round = way.round(r);
    const Slices &given = cutParts(round.gives, round.count),
                 &kept = cutParts(round.keeps, round.count);
    // The last two that meet are the first to give each other sums: each slice
    // when it is summed.
    const bool turns = r + 1 == way.rounds();
    if (turns)
      ask(round.partner, given);
    sendSlices(round.partner, *own, given, 0);
    DIST_RETURN_IF_ERROR(sumWith(round.partner, kept, [&](int64_t i) {
      if (turns)
        send(sums + i, round.partner, result, kept.begin(i), kept.end(i));
    }));
  }
  for (int r = way.rounds(); r-- > 0;) {
    const Halving::Round round = way.round(r);
    if (r + 1 < way.rounds()) {
      ask(round.partner, cutParts(round.gives, round.count));
      sendSlices(round.partner, result, cutParts(round.keeps, round.count),
                 sums);
    }
    for (size_t i = firstTicket; i < lastTicket; ++i)
      DIST_RETURN_IF_ERROR(waitFor(&space.tickets[i]));
  }
  if (way.neighbour() >= 0)
    sendAll(way.neighbour(), result, sums);
  return finish();
}

// The rank at position 0 sums for all.
Status Operation::sumAtOne() {
  const Stream &result = whole(to), &own = whole(from);
  constexpr uint32_t sums = 1u << 31;
  if (me == 0)
    DIST_RETURN_IF_ERROR(sumSlices(cut(own), own, result, everybody(), 0));
  else
    sendAll(0, own, 0);
  return broadcast(0, result, sums);
}

Status Operation::reduceScatter() {
  const Stream &own = outTo(me), &result = inFrom(0);
  for (int k = 1; k < size; ++k) {
    int target = (me + k) % size;
    sendAll(target, outTo(target), 0);
  }
  DIST_RETURN_IF_ERROR(sumSlices(cut(own), own, result, everybody(), 0));
  return finish();
}

Status Operation::reduceToHost() {
  int host = size - 1;
  if (me != host) {
    sendAll(host, whole(from), 0);
    return finish();
  }
  const Stream &result = whole(to);
  return sumSlices(cut(result), newStream(), result,
                   {space.positions.data(), host}, 0);
}

} // namespace dist::message
