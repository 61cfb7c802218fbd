//===- operation.cpp - A collective made of messages ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/operation.h"
#include "runtime/comm/schedule/choice.h"
#include <cstring>
#include <numeric>

namespace dist::message {

Operation::Operation(Post *post, const Team &team, Workspace &space,
                     char *memory, const Description &description,
                     Algorithm way, void *const *from, void *const *to)
    : network(post), team(team), space(space), d(description), way(way),
      from(from), to(to), size(description.size()), me(description.position) {
  space.begin(memory);
}

int64_t Operation::measure(const MeshGroups &groups, const Team &team,
                           const Description &d, Algorithm way,
                           Workspace *space) {
  space->rankOf.resize(d.size());
  for (int member = 0; member < d.size(); ++member)
    space->rankOf[d.positionOf(groups, member)] = (*d.members)[member];
  space->positions.resize(d.size());
  std::iota(space->positions.begin(), space->positions.end(), 0);
  // Nothing is read there. No two of them follow each other, so that whatever
  // may have to be packed is.
  std::vector<void *> nowhere(d.what.pieces.size);
  for (size_t i = 0; i < nowhere.size(); ++i)
    nowhere[i] = reinterpret_cast<void *>((i + 1) << 40);      // NOLINT
  auto *memory = reinterpret_cast<char *>(uintptr_t(1) << 39); // NOLINT
  Operation dry(nullptr, team, *space, memory, d, way, nowhere.data(),
                nowhere.data());
  [[maybe_unused]] Status status = dry.runKind(); // nothing can fail
  space->call.fetching.reserve(space->tickets.size());
  space->call.sending.reserve(space->tickets.size());
  return space->used;
}

Status Operation::run() {
  DIST_RETURN_IF_ERROR(network->begin(d, &space.call));
  return runKind();
}

Status Operation::runKind() {
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
    return broadcast(what.peer, isRoot ? outTo(me) : inFrom(what.peer), 0);
  }
  default: // all_gather, all_to_all
    return copyBetweenAll();
  }
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Stream &Operation::newStream() {
  Stream &stream = space.streams.take();
  stream.clear();
  return stream;
}

const Stream &Operation::outTo(int place) {
  Stream &stream = newStream();
  addPiecesTo(d.what.pieces, from, place, 0, d.what.pieces.size, &stream);
  return stream;
}

const Stream &Operation::inFrom(int place) {
  Stream &stream = newStream();
  addPiecesFrom(d.what.pieces, to, place, 0, d.what.pieces.size, &stream);
  return stream;
}

const Stream &Operation::whole(void *const *buffers) {
  Stream &stream = newStream();
  addWholePieces(d.what.pieces, buffers, 0, d.what.pieces.size, &stream);
  return stream;
}

const Stream &Operation::partsOf(void *const *buffers, int part) {
  Stream &stream = newStream();
  for (int64_t i = 0; i < d.what.pieces.size; ++i) {
    int64_t width = d.width(i);
    auto [lo, hi] = partOf(d.elements(i), width, part, size);
    stream.add({static_cast<char *>(buffers[i]) + lo * width, 1, 1,
                (hi - lo) * width, 0, 0, i});
  }
  return stream;
}

const Slices &Operation::cut(const Stream &stream) {
  Slices &slices = space.slices.take();
  slices.cut(stream, 0, stream.size());
  return slices;
}

void Operation::copyOwn() {
  for (int64_t i = 0; network && i < d.what.pieces.size; ++i)
    team.pull(d.what.pieces[i], from[i], me, to[i], me);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

char *Operation::allocate(int64_t bytes) {
  char *result = space.memory + space.used;
  space.used += (bytes + 63) & ~int64_t(63);
  return result;
}

Ticket *Operation::post(uint32_t step, int position, const char *data,
                        int64_t bytes) {
  Ticket *ticket = &space.tickets.take();
  if (network)
    network->send(space.call, step, rankAt(position), data, bytes, ticket);
  return ticket;
}

Ticket *Operation::expect(uint32_t step, int position, char *data,
                          int64_t bytes) {
  Ticket *ticket = &space.tickets.take();
  if (network)
    network->receive(space.call, step, rankAt(position), data, bytes, ticket);
  return ticket;
}

void Operation::send(uint32_t step, int position, const Stream &stream,
                     int64_t lo, int64_t hi) {
  const char *data = stream.findRun(lo, hi);
  if (!data && hi > lo) {
    char *packed = allocate(hi - lo);
    if (network)
      stream.gather(lo, hi, packed);
    data = packed;
  }
  post(step, position, data, hi - lo);
}

void Operation::sendAll(int position, const Stream &stream,
                        uint32_t firstStep) {
  sendSlices(position, stream, cut(stream), firstStep);
}

void Operation::sendSlices(int position, const Stream &stream,
                           const Slices &slices, uint32_t firstStep) {
  for (int64_t i = 0; i < slices.count(); ++i)
    send(firstStep + i, position, stream, slices.begin(i), slices.end(i));
}

Ticket *Operation::receive(uint32_t step, int position, const Stream &stream,
                           int64_t lo, int64_t hi) {
  char *run = stream.findRun(lo, hi);
  bool isPacked = !run && hi > lo;
  char *memory = isPacked ? allocate(hi - lo) : run;
  Ticket *ticket = expect(step, position, memory, hi - lo);
  if (isPacked)
    space.landings.push_back({ticket, &stream, lo, hi, memory});
  return ticket;
}

void Operation::receiveAll(int position, const Stream &stream,
                           uint32_t firstStep) {
  receiveSlices(position, stream, cut(stream), firstStep);
}

void Operation::receiveSlices(int position, const Stream &stream,
                              const Slices &slices, uint32_t firstStep) {
  for (int64_t i = 0; i < slices.count(); ++i)
    receive(firstStep + i, position, stream, slices.begin(i), slices.end(i));
}

void Operation::land(const Landing &landing) {
  if (network)
    landing.stream->scatter(landing.lo, landing.hi, landing.memory);
}

Status Operation::waitFor(const Ticket *ticket) {
  DIST_RETURN_IF_ERROR(wait([&] { return ticket->isDone(); }));
  std::vector<Landing> &landings = space.landings;
  for (size_t i = 0; network && i < landings.size(); ++i)
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
  DIST_RETURN_IF_ERROR(wait([&] {
    while (next < space.tickets.size() && space.tickets[next].isDone())
      ++next;
    return next == space.tickets.size();
  }));
  for (const Landing &landing : space.landings)
    land(landing);
  // A dry run leaves the most there may be.
  space.landings.clear();
  return Status();
}

//===----------------------------------------------------------------------===//
// What copies
//===----------------------------------------------------------------------===//

Status Operation::copyBetweenAll() {
  copyOwn();
  for (int k = 1; k < size; ++k) {
    int source = (me + size - k) % size;
    receiveAll(source, inFrom(source), 0);
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
    receiveAll(source, inFrom(source), 0);
  } else {
    for (int64_t i = 0; network && i < d.what.pieces.size; ++i)
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
Status Operation::broadcast(int root, const Stream &stream,
                            uint32_t firstStep) {
  int v = (me - root + size) % size;
  int bit = 1;
  while (bit < size && !(v & bit))
    bit <<= 1;
  const Slices &slices = cut(stream);
  size_t firstTicket = space.tickets.size();
  for (int64_t i = 0; v != 0 && i < slices.count(); ++i)
    receive(firstStep + i, (v - bit + root) % size, stream, slices.begin(i),
            slices.end(i));
  for (int64_t i = 0; i < slices.count(); ++i) {
    if (v != 0)
      DIST_RETURN_IF_ERROR(waitFor(&space.tickets[firstTicket + i]));
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
  if (!meetInRounds(size)) {
    for (int k = 1; k < size; ++k) {
      expect(0, (me + k) % size, nullptr, 0);
      post(0, (me + k) % size, nullptr, 0);
    }
    return finish();
  }
  for (int distance = 1, round = 0; distance < size; distance *= 2, ++round) {
    post(round, (me + distance) % size, nullptr, 0);
    DIST_RETURN_IF_ERROR(
        waitFor(expect(round, (me + size - distance) % size, nullptr, 0)));
  }
  return finish();
}

// What a run before left on its way has the memory still: behind it this one
// waits, as the receiver, who is so far behind, will come to that one first.
Status Operation::sendOnly() {
  const Stream &stream = whole(from);
  Slices &slices = space.slices.take();
  slices.cut(0, stream.size());
  if (!network) {
    space.kept = std::make_shared<Kept>(stream.size(), slices.count());
    return Status();
  }
  Kept &kept = *space.kept;
  DIST_RETURN_IF_ERROR(network->waitForKept(space.call, kept));
  stream.gather(0, stream.size(), kept.memory->take());
  network->sendKept(space.call, rankAt(d.what.peer), slices, space.kept);
  return Status();
}

Status Operation::receiveOnly() {
  const Stream &stream = whole(to);
  // It left as one run: the sender kept a copy.
  Slices &slices = space.slices.take();
  slices.cut(0, stream.size());
  receiveSlices(d.what.peer, stream, slices, 0);
  return finish();
}

} // namespace dist::message
