//===- operation.cpp - A collective made of messages ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/operation.h"
#include "runtime/comm/schedule/choice.h"
#include <cstring>

namespace dist::message {

char *Scratch::allocate(int64_t bytes) {
  if (used == blocks.size())
    blocks.emplace_back();
  Block &block = blocks[used++];
  if (block.bytes < bytes) {
    block.memory.reset(new char[bytes]);
    block.bytes = bytes;
  }
  return block.memory.get();
}

Operation::Operation(Post &post, const MeshGroups &groups, const Team &team,
                     Scratch &scratch, const Description &description,
                     Algorithm way, void *const *from, void *const *to)
    : post(post), team(team), scratch(scratch), d(description), way(way),
      from(from), to(to), size(description.size()), me(description.position),
      rankOf(size) {
  for (int member = 0; member < size; ++member)
    rankOf[d.positionOf(groups, member)] = (*d.members)[member];
}

Status Operation::run() {
  scratch.reuse();
  DIST_RETURN_IF_ERROR(post.begin(d, &call));
  const Collective &what = d.what;
  switch (what.kind) {
  case CollectiveKind::Send:
    return sendOnly();
  case CollectiveKind::Recv:
    return receiveOnly();
  case CollectiveKind::Barrier:
    return barrier();
  default:
    break;
  }
  if (d.bytes == 0)
    return Status();
  switch (what.kind) {
  case CollectiveKind::AllReduce:
    return allReduce();
  case CollectiveKind::ReduceScatter:
    return reduceScatter();
  case CollectiveKind::Permute:
    return permute();
  case CollectiveKind::Reduce:
    return reduceToHost();
  case CollectiveKind::Broadcast: {
    bool isRoot = me == what.peer;
    if (isRoot && !d.withHost)
      copyOwn();
    streams.push_back(isRoot ? outTo(me) : Stream());
    const Stream &out = streams.back();
    streams.push_back(isRoot ? Stream() : inFrom(what.peer));
    return broadcast(what.peer, out, streams.back(), 0);
  }
  default: // all_gather, all_to_all
    return copyBetweenAll();
  }
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Stream Operation::outTo(int place) const {
  return piecesTo(d.what.pieces, from, place, 0, d.what.pieces.size);
}

Stream Operation::inFrom(int place) const {
  return piecesFrom(d.what.pieces, to, place, 0, d.what.pieces.size);
}

Stream Operation::whole(void *const *buffers) const {
  return wholePieces(d.what.pieces, buffers, 0, d.what.pieces.size);
}

void Operation::copyOwn() {
  for (int64_t i = 0; i < d.what.pieces.size; ++i)
    team.pull(d.what.pieces[i], from[i], me, to[i], me);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void Operation::send(uint32_t step, int position, const Stream &stream,
                     int64_t lo, int64_t hi) {
  const char *data = stream.findRun(lo, hi);
  if (!data && hi > lo) {
    char *packed = scratch.allocate(hi - lo);
    stream.gather(lo, hi, packed);
    data = packed;
  }
  tickets.emplace_back();
  post.send(call, step, rankAt(position), data, hi - lo, &tickets.back());
}

void Operation::sendAll(int position, const Stream &stream,
                        uint32_t firstStep) {
  Slices slices(stream, 0, stream.size());
  for (int64_t i = 0; i < slices.count(); ++i)
    send(firstStep + i, position, stream, slices.begin(i), slices.end(i));
}

Ticket *Operation::receive(uint32_t step, int position, const Stream &stream,
                           int64_t lo, int64_t hi) {
  tickets.emplace_back();
  Ticket *ticket = &tickets.back();
  char *memory = stream.findRun(lo, hi);
  if (!memory && hi > lo) {
    memory = scratch.allocate(hi - lo);
    landings.push_back({ticket, &stream, lo, hi, memory});
  }
  post.receive(call, step, rankAt(position), memory, hi - lo, ticket);
  return ticket;
}

void Operation::receiveAll(int position, const Stream &stream,
                           uint32_t firstStep) {
  Slices slices(stream, 0, stream.size());
  for (int64_t i = 0; i < slices.count(); ++i)
    receive(firstStep + i, position, stream, slices.begin(i), slices.end(i));
}

void Operation::land(const Landing &landing) {
  landing.stream->scatter(landing.lo, landing.hi, landing.memory);
}

Status Operation::waitFor(const Ticket *ticket) {
  DIST_RETURN_IF_ERROR(post.wait(call, [&] { return ticket->isDone(); }));
  for (size_t i = 0; i < landings.size(); ++i)
    if (landings[i].ticket == ticket) {
      land(landings[i]);
      landings[i] = landings.back();
      landings.pop_back();
      break;
    }
  return Status();
}

Status Operation::finish() {
  size_t next = 0;
  DIST_RETURN_IF_ERROR(post.wait(call, [&] {
    while (next < tickets.size() && tickets[next].isDone())
      ++next;
    return next == tickets.size();
  }));
  for (const Landing &landing : landings)
    land(landing);
  landings.clear();
  return Status();
}

//===----------------------------------------------------------------------===//
// What copies
//===----------------------------------------------------------------------===//

Status Operation::copyBetweenAll() {
  copyOwn();
  for (int k = 1; k < size; ++k) {
    int source = (me + size - k) % size;
    streams.push_back(inFrom(source));
    receiveAll(source, streams.back(), 0);
  }
  for (int k = 1; k < size; ++k) {
    int target = (me + k) % size;
    sendAll(target, outTo(target), 0);
  }
  return finish();
}

Status Operation::permute() {
  const Sequence<int64_t> &sources = d.what.sources;
  if (int64_t source = sources[me]; source == me) {
    copyOwn();
  } else if (source >= 0) {
    streams.push_back(inFrom(source));
    receiveAll(source, streams.back(), 0);
  } else {
    for (int64_t i = 0; i < d.what.pieces.size; ++i)
      std::memset(to[i], 0, bytesTo(d.what.pieces[i], size));
  }
  for (int target = 0; target < size; ++target)
    if (sources[target] == me && target != me)
      sendAll(target, outTo(target), 0);
  return finish();
}

// A binomial tree: counted from the root, position v hears from v without its
// lowest bit, and tells those that have one lower bit more. What has come goes
// on slice by slice.
Status Operation::broadcast(int root, const Stream &out, const Stream &in,
                            uint32_t firstStep) {
  int v = (me - root + size) % size;
  int bit = 1;
  while (bit < size && !(v & bit))
    bit <<= 1;
  const Stream &stream = v == 0 ? out : in;
  Slices slices(stream, 0, stream.size());
  std::vector<Ticket *> coming;
  for (int64_t i = 0; v != 0 && i < slices.count(); ++i)
    coming.push_back(receive(firstStep + i, (v - bit + root) % size, stream,
                             slices.begin(i), slices.end(i)));
  for (int64_t i = 0; i < slices.count(); ++i) {
    if (v != 0)
      DIST_RETURN_IF_ERROR(waitFor(coming[i]));
    for (int lower = bit >> 1; lower > 0; lower >>= 1)
      if (v + lower < size)
        send(firstStep + i, (v + lower + root) % size, stream, slices.begin(i),
             slices.end(i));
  }
  return finish();
}

// A few send to each other; many meet in log2 rounds, in the k-th of which each
// hears of 2^k others.
Status Operation::barrier() {
  Stream nothing;
  if (!meetInRounds(size)) {
    for (int k = 1; k < size; ++k) {
      receive(0, (me + k) % size, nothing, 0, 0);
      send(0, (me + k) % size, nothing, 0, 0);
    }
    return finish();
  }
  for (int distance = 1, round = 0; distance < size; distance *= 2, ++round) {
    send(round, (me + distance) % size, nothing, 0, 0);
    DIST_RETURN_IF_ERROR(
        waitFor(receive(round, (me + size - distance) % size, nothing, 0, 0)));
  }
  return finish();
}

Status Operation::sendOnly() {
  Stream stream = whole(from);
  std::vector<char> bytes = post.takeSpare();
  bytes.resize(stream.size());
  stream.gather(0, stream.size(), bytes.data());
  post.sendKept(call, rankAt(d.what.peer), std::move(bytes));
  return Status();
}

Status Operation::receiveOnly() {
  streams.push_back(whole(to));
  const Stream &stream = streams.back();
  // It left as one run: the sender kept a copy.
  Slices slices(0, stream.size());
  for (int64_t i = 0; i < slices.count(); ++i)
    receive(i, d.what.peer, stream, slices.begin(i), slices.end(i));
  return finish();
}

//===----------------------------------------------------------------------===//
// What sums
//===----------------------------------------------------------------------===//

Operation::Slots Operation::takeSlots(int numFrom, int64_t bytes) {
  Slots slots;
  slots.memory.resize(numFrom);
  for (int source = 0; source < numFrom; ++source)
    if (source != me)
      slots.memory[source] = scratch.allocate(bytes);
  return slots;
}

void Operation::receiveAddends(uint32_t step, int64_t bytes, Slots &slots) {
  int numFrom = slots.memory.size();
  slots.tickets.clear();
  for (int k = 0; k < numFrom; ++k) {
    int source = (me + k) % numFrom;
    if (source == me)
      continue;
    tickets.emplace_back();
    slots.tickets.push_back(&tickets.back());
    post.receive(call, step, rankAt(source), slots.memory[source], bytes,
                 &tickets.back());
  }
}

Status Operation::sum(const Slots &slots, const Stream &own,
                      const Stream &result, int64_t lo, int64_t hi) {
  size_t next = 0;
  DIST_RETURN_IF_ERROR(post.wait(call, [&] {
    while (next < slots.tickets.size() && slots.tickets[next]->isDone())
      ++next;
    return next == slots.tickets.size();
  }));
  int numFrom = slots.memory.size();
  std::vector<const void *> sources(numFrom);
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
  return Status();
}

template <typename Then>
Status Operation::sumSlices(const Slices &slices, const Stream &own,
                            const Stream &result, int numFrom, Then then) {
  // So many slices are on their way while one is summed, each to memory where
  // another was summed before: in a cache still.
  constexpr int64_t window = 4;
  int64_t count = slices.count(), most = slices.most();
  std::vector<Slots> coming; // slice i is in i % window
  auto ask = [&](int64_t i) {
    receiveAddends(i, slices.end(i) - slices.begin(i), coming[i % window]);
  };
  for (int64_t i = 0; i < std::min(window, count); ++i) {
    coming.push_back(takeSlots(numFrom, most));
    ask(i);
  }
  for (int64_t i = 0; i < count; ++i) {
    DIST_RETURN_IF_ERROR(
        sum(coming[i % window], own, result, slices.begin(i), slices.end(i)));
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
  case Algorithm::Parts:
  case Algorithm::Auto: // none is left that
    break;
  }
  return sumInParts();
}

Status Operation::sumAllAtOnce() {
  Stream own = whole(from), result = whole(to);
  int64_t bytes = own.size();
  Slots slots = takeSlots(size, bytes);
  receiveAddends(0, bytes, slots);
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
  Stream own = whole(from), result = whole(to);
  int64_t bytes = own.size();
  char *slots = scratch.allocate(bytes * size);
  own.gather(0, bytes, slots);
  for (int distance = 1, round = 0; distance < size; distance *= 2, ++round) {
    int64_t count = bytes * std::min(distance, size - distance);
    tickets.emplace_back();
    Ticket *coming = &tickets.back();
    post.receive(call, round, rankAt((me + distance) % size),
                 slots + distance * bytes, count, coming);
    tickets.emplace_back();
    post.send(call, round, rankAt((me + size - distance) % size), slots, count,
              &tickets.back());
    DIST_RETURN_IF_ERROR(waitFor(coming));
  }
  Slots addends;
  for (int source = 0; source < size; ++source)
    addends.memory.push_back(slots + (source + size - me) % size * bytes);
  DIST_RETURN_IF_ERROR(sum(addends, own, result, 0, bytes));
  return finish();
}

// Position p sums part p. A rank sends it its addends as they lie, in place or
// not: the sum that overwrites them comes when p has them.
Status Operation::sumInParts() {
  Stream own = whole(from), result = whole(to);
  constexpr uint32_t sums = 1u << 31;
  std::vector<Slices> parts;
  int64_t most = 0;
  for (int p = 0; p < size; ++p) {
    parts.push_back(partOfStream(own, p, size));
    most = std::max(most, parts[p].count());
  }
  for (int k = 1; k < size; ++k) {
    int p = (me + size - k) % size;
    for (int64_t i = 0; i < parts[p].count(); ++i)
      receive(sums + i, p, result, parts[p].begin(i), parts[p].end(i));
  }
  for (int64_t i = 0; i < most; ++i)
    for (int k = 1; k < size; ++k) {
      int p = (me + k) % size;
      if (i < parts[p].count())
        send(i, p, own, parts[p].begin(i), parts[p].end(i));
    }
  DIST_RETURN_IF_ERROR(sumSlices(parts[me], own, result, size, [&](int64_t i) {
    for (int k = 1; k < size; ++k)
      send(sums + i, (me + k) % size, result, parts[me].begin(i),
           parts[me].end(i));
  }));
  return finish();
}

// Each piece has `size` parts. In step s < size - 1 position p adds its own to
// part (p - 1 - s) mod size, which its left neighbour has summed up over s + 1
// ranks; after size - 1 of them it has one part whole, which then goes around
// in as many steps: part (p - 1 - s) mod size again.
Status Operation::sumInRing() {
  int left = (me + size - 1) % size, right = (me + 1) % size;
  auto partsOf = [&](void *const *buffers, int part) {
    Stream stream;
    for (int64_t i = 0; i < d.what.pieces.size; ++i) {
      int64_t width = d.width(i);
      auto [lo, hi] = partOf(d.elements(i), width, part, size);
      stream.add({static_cast<char *>(buffers[i]) + lo * width, 1, 1,
                  (hi - lo) * width, 0, 0, i});
    }
    return stream;
  };
  constexpr uint32_t mostSlices = 1 << 16;
  for (int step = 0; step < 2 * (size - 1); ++step) {
    int mine = (me + 2 * size - 1 - step) % size, next = (mine + 1) % size;
    uint32_t first = step * mostSlices;
    streams.push_back(partsOf(step == 0 ? from : to, next));
    sendAll(right, streams.back(), first);
    streams.push_back(partsOf(to, mine));
    const Stream &result = streams.back();
    if (step >= size - 1) {
      receiveAll(left, result, first);
      DIST_RETURN_IF_ERROR(finish());
      continue;
    }
    Stream own = partsOf(from, mine);
    Slices slices(own, 0, own.size());
    std::vector<Slots> coming;
    for (int64_t i = 0; i < slices.count(); ++i) {
      Slots slots;
      slots.memory = {scratch.allocate(slices.end(i) - slices.begin(i)),
                      nullptr};
      tickets.emplace_back();
      slots.tickets = {&tickets.back()};
      post.receive(call, first + i, rankAt(left), slots.memory[0],
                   slices.end(i) - slices.begin(i), &tickets.back());
      coming.push_back(std::move(slots));
    }
    for (int64_t i = 0; i < slices.count(); ++i)
      DIST_RETURN_IF_ERROR(
          sum(coming[i], own, result, slices.begin(i), slices.end(i)));
  }
  return finish();
}

// The rank at position 0 sums for all.
Status Operation::sumAtOne() {
  streams.push_back(whole(to));
  const Stream &result = streams.back();
  Stream own = whole(from);
  constexpr uint32_t sums = 1u << 31;
  if (me == 0)
    DIST_RETURN_IF_ERROR(sumSlices(Slices(own, 0, own.size()), own, result,
                                   size, [](int64_t) {}));
  else
    sendAll(0, own, 0);
  return broadcast(0, result, result, sums);
}

Status Operation::reduceScatter() {
  Stream own = outTo(me), result = inFrom(0);
  for (int k = 1; k < size; ++k) {
    int target = (me + k) % size;
    sendAll(target, outTo(target), 0);
  }
  DIST_RETURN_IF_ERROR(
      sumSlices(Slices(own, 0, own.size()), own, result, size, [](int64_t) {}));
  return finish();
}

Status Operation::reduceToHost() {
  int host = size - 1;
  if (me != host) {
    sendAll(host, whole(from), 0);
    return finish();
  }
  Stream result = whole(to);
  return sumSlices(Slices(result, 0, result.size()), Stream(), result, size - 1,
                   [](int64_t) {});
}

} // namespace dist::message
