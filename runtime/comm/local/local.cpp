//===- local.cpp - Communicator of one process's devices ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/local/group.h"
#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/reduce.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace dist {

namespace {

using namespace local;

/// A team helps when its threads get at least this much each.
constexpr int64_t bytesPerThread = 64 << 10;

/// Packed pieces start where any element may lie.
constexpr int64_t alignPacked(int64_t bytes) { return (bytes + 7) & ~7; }

/// What ranks at one collective must have in common. A send and its recv are
/// different ops, which agree on the pieces alone.
uint64_t digestOf(const Collective &call) {
  uint64_t digest = 1469598103934665603u;
  auto add = [&](const void *data, size_t words) {
    for (size_t i = 0; i < words; ++i)
      digest =
          (digest ^ static_cast<const uint64_t *>(data)[i]) * 1099511628211u;
  };
  add(call.pieces.data, call.pieces.size * (sizeof(Piece) / sizeof(uint64_t)));
  if (call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Recv)
    return digest;
  int64_t rest[] = {static_cast<int64_t>(call.reduction), call.peer};
  add(rest, 2);
  add(call.axes.data, call.axes.size);
  add(call.sources.data, call.sources.size);
  return digest;
}

class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(Shared &shared, int rank, int ranks,
                    std::vector<Place> places)
      : shared(shared), myRank(rank), numRanks(ranks),
        places(std::move(places)) {
    scratch.resize(2 * ranks);
    memberAt.resize(ranks);
  }

  int rank() const override { return myRank; }
  int ranks() const override { return numRanks; }
  int groupSize(uint32_t axes) const override {
    return axes < places.size() ? places[axes].size() : 0;
  }
  int groupRank(uint32_t axes) const override {
    return axes < places.size() ? places[axes].index : 0;
  }

  Status run(const Collective &what, void *const *from,
             void *const *to) override {
    Collected c{what, from, to};
    DIST_RETURN_IF_ERROR(enter(c));
    switch (what.kind) {
    case CollectiveKind::AllSlice:
      for (int64_t i = 0; i < what.pieces.size; ++i)
        pull(what.pieces[i], from[i], c.mine, to[i], 0);
      return Status();
    case CollectiveKind::Send:
      shared.mailboxes[worldRank(c, what.peer)]->put(myRank, what.tag, c.call,
                                                     what, from);
      return Status();
    case CollectiveKind::Recv:
      return receive(shared, *shared.mailboxes[myRank], worldRank(c, what.peer),
                     c.call, what, to);
    default:
      break;
    }
    if (c.bytes == 0 && what.kind != CollectiveKind::Barrier)
      return Status();
    bool together = c.place->size() > 1;
    if (together)
      DIST_RETURN_IF_ERROR(shared.meet(*c.place, c.call, from, to,
                                       [&](char *small) { pack(c, small); }));
    work(c);
    // Nobody's buffers may change before all have read them.
    if (together && !c.small && what.kind != CollectiveKind::Barrier)
      return shared.meet(*c.place, c.call, from, to, [](char *) {});
    return Status();
  }

  void abort(const std::string &reason) override { shared.abort(reason); }
  void reset() {
    for (Place &place : places)
      place.phase = 0;
  }

private:
  /// A collective under way.
  struct Collected {
    const Collective &what;
    void *const *from;
    void *const *to;
    Place *place = nullptr;
    int mine = 0;      // my place in the group, by the order of axes
    int64_t bytes = 0; // of all pieces, packed
    bool small = false;
    Call call{};
  };

  /// Finds the group and the order of its ranks.
  Status enter(Collected &c) {
    const Collective &what = c.what;
    c.call.kind = what.kind;
    c.call.op = what.op;
    auto refuse = [&](const char *why, StatusCode code) {
      return Status::error(code, std::string(name(what.kind)) + " got " + why,
                           shared.opName(what.op));
    };
    uint32_t mask = 0;
    bool inOrder = true;
    for (int64_t i = 0; i < what.axes.size; ++i) {
      int64_t axis = what.axes[i];
      if (axis < 0 || axis >= int64_t(shared.options.mesh.size()) ||
          (mask >> axis & 1))
        return refuse("axes that the mesh has not", StatusCode::Internal);
      inOrder &= i == 0 || what.axes[i - 1] < axis;
      mask |= 1u << axis;
    }
    c.place = &places[mask];
    inBackground = what.background;
    c.place->spinMicroseconds =
        inBackground ? 0 : shared.options.spinMicroseconds;
    int size = c.place->size();
    for (int member = 0; member < size; ++member) {
      int64_t place = inOrder ? member : 0;
      if (!inOrder)
        for (int64_t axis : what.axes)
          place = place * shared.options.mesh[axis] +
                  shared.coordinate(c.place->group->members[member], axis);
      memberAt[place] = member;
      if (member == c.place->index)
        c.mine = place;
    }
    bool reduces = what.kind == CollectiveKind::AllReduce ||
                   what.kind == CollectiveKind::ReduceScatter;
    for (const Piece &piece : what.pieces) {
      auto type = static_cast<DataType>(piece.type);
      size_t width = byteSize(type);
      int64_t bytes = bytesFrom(piece, size);
      if (width == 0 || bytes < 0 ||
          (reduces && !findReduction(type, what.reduction)))
        return refuse("a type, size or reduction that there is not",
                      StatusCode::Internal);
      c.call.count += bytes / width;
      c.bytes += alignPacked(bytes);
    }
    bool hasPeer = what.kind == CollectiveKind::Broadcast ||
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
    c.small = c.bytes <= inlineBytes;
    c.call.digest = digestOf(what);
    return shared.aborted.load() ? shared.abortedStatus(c.call) : Status();
  }

  int worldRank(const Collected &c, int64_t place) const {
    return c.place->group->members[memberAt[place]];
  }

  void pack(const Collected &c, char *small) const {
    if (!c.small)
      return;
    for (int64_t i = 0; i < c.what.pieces.size; ++i) {
      int64_t bytes = bytesFrom(c.what.pieces[i], c.place->size());
      if (bytes)
        std::memcpy(small, c.from[i], bytes);
      small += alignPacked(bytes);
    }
  }

  /// Piece `i` of the rank at `place`; `offset` is where it is when packed.
  void *source(const Collected &c, int place, int64_t i, int64_t offset) const {
    if (c.place->size() == 1)
      return c.from[i];
    const Publication &publication = c.place->published(memberAt[place]);
    return c.small ? const_cast<char *>(publication.small) + offset
                   : publication.from[i];
  }

  /// This rank's part.
  void work(const Collected &c) {
    const Collective &what = c.what;
    int size = c.place->size();
    int64_t offset = 0;
    for (int64_t i = 0; i < what.pieces.size; ++i) {
      const Piece &piece = what.pieces[i];
      switch (what.kind) {
      case CollectiveKind::AllReduce:
        allReduce(c, i, offset);
        break;
      case CollectiveKind::ReduceScatter:
        reduceScatter(c, i, offset);
        break;
      case CollectiveKind::Permute:
        if (int64_t from = what.sources[c.mine]; from >= 0)
          pull(piece, source(c, from, i, offset), c.mine, c.to[i], from);
        else
          std::memset(c.to[i], 0, bytesTo(piece, size));
        break;
      case CollectiveKind::Broadcast:
        pull(piece, source(c, what.peer, i, offset), c.mine, c.to[i],
             what.peer);
        break;
      default: // all_gather, all_to_all
        for (int from = 0; from < size; ++from)
          pull(piece, source(c, from, i, offset), c.mine, c.to[i], from);
        break;
      }
      offset += alignPacked(bytesFrom(piece, size));
    }
  }

  /// Rank `index`'s part of `count` elements, cut at cache lines.
  static std::pair<int64_t, int64_t> part(int64_t count, int64_t elementBytes,
                                          int index, int size) {
    int64_t line = std::max<int64_t>(1, 64 / elementBytes);
    int64_t lines = (count + line - 1) / line;
    auto cut = [&](int64_t i) {
      return std::min(count, lines * i / size * line);
    };
    return {cut(index), cut(index + 1)};
  }

  void allReduce(const Collected &c, int64_t i, int64_t offset) {
    const Piece &piece = c.what.pieces[i];
    auto type = static_cast<DataType>(piece.type);
    int64_t width = byteSize(type), size = c.place->size();
    int64_t count = piece.outer * piece.rows * piece.bytes / width;
    ReduceFn reduce = findReduction(type, c.what.reduction);
    for (int place = 0; place < size; ++place)
      scratch[place] = source(c, place, i, offset);
    // Small: each rank all, for itself. Large: each a part, for all.
    if (c.small || size == 1) {
      scratch[size] = c.to[i];
      runReduce(reduce, size, scratch.data() + size, 1, 0, count, width);
      return;
    }
    for (int place = 0; place < size; ++place)
      scratch[size + place] = c.place->published(memberAt[place]).to[i];
    auto [lo, hi] = part(count, width, c.mine, size);
    runReduce(reduce, size, scratch.data() + size, size, lo, hi, width);
  }

  void reduceScatter(const Collected &c, int64_t i, int64_t offset) {
    const Piece &piece = c.what.pieces[i];
    auto type = static_cast<DataType>(piece.type);
    int64_t width = byteSize(type), size = c.place->size();
    ReduceFn reduce = findReduction(type, c.what.reduction);
    for (int64_t o = 0; o < piece.outer; ++o)
      for (int64_t row = 0; row < piece.rows; ++row) {
        int64_t from = c.mine * piece.from_place + o * piece.from_outer +
                       row * piece.from_row;
        for (int place = 0; place < size; ++place)
          scratch[place] =
              static_cast<char *>(source(c, place, i, offset)) + from;
        scratch[size] = static_cast<char *>(c.to[i]) + o * piece.to_outer +
                        row * piece.to_row;
        runReduce(reduce, size, scratch.data() + size, 1, 0,
                  piece.bytes / width, width);
      }
  }

  //===--------------------------------------------------------------------===//
  // With the device's team where there is enough
  //===--------------------------------------------------------------------===//

  int64_t countChunks(int64_t bytes) const {
    if (!shared.options.parallelFor || inBackground)
      return 1;
    return std::min<int64_t>(shared.options.threadsPerRank,
                             bytes / bytesPerThread);
  }

  struct ReduceJob {
    ReduceFn reduce;
    const void *const *from;
    int numFrom;
    void *const *to;
    int numTo;
    int64_t lo;
  };
  static void runReduceJob(void **buffers, int64_t lo, int64_t hi, int64_t) {
    const ReduceJob &job = *reinterpret_cast<const ReduceJob *>(buffers);
    job.reduce(job.from, job.numFrom, job.to, job.numTo, job.lo + lo,
               job.lo + hi);
  }

  /// Reduces the buffers in `scratch`.
  void runReduce(ReduceFn reduce, int numFrom, void *const *to, int numTo,
                 int64_t lo, int64_t hi, int64_t elementBytes) {
    int64_t chunks = countChunks((hi - lo) * elementBytes);
    if (chunks < 2) {
      reduce(scratch.data(), numFrom, to, numTo, lo, hi);
      return;
    }
    ReduceJob job{reduce, scratch.data(), numFrom, to, numTo, lo};
    shared.options.parallelFor(runReduceJob, reinterpret_cast<void **>(&job),
                               hi - lo, chunks);
  }

  struct CopyJob {
    const Piece *piece;
    const char *from;
    char *to;
  };
  static void runCopyJob(void **buffers, int64_t lo, int64_t hi, int64_t) {
    const CopyJob &job = *reinterpret_cast<const CopyJob *>(buffers);
    if (job.piece)
      copyBlocks(*job.piece, job.from, job.to, lo, hi);
    else
      std::memcpy(job.to + lo, job.from + lo, hi - lo);
  }

  /// Copies what the rank at place `me` gets from the rank at place `peer`.
  void pull(const Piece &piece, const void *from, int64_t me, void *to,
            int64_t peer) {
    const char *source =
        static_cast<const char *>(from) + me * piece.from_place;
    char *target = static_cast<char *>(to) + peer * piece.to_place;
    int64_t blocks = piece.outer * piece.rows;
    if (source == target || blocks * piece.bytes == 0)
      return;
    int64_t chunks = countChunks(blocks * piece.bytes);
    bool single = blocks == 1; // cut by bytes, not by blocks
    if (chunks < 2) {
      copyBlocks(piece, source, target, 0, blocks);
      return;
    }
    CopyJob job{single ? nullptr : &piece, source, target};
    shared.options.parallelFor(runCopyJob, reinterpret_cast<void **>(&job),
                               single ? piece.bytes : blocks, chunks);
  }

  Shared &shared;
  int myRank, numRanks;
  std::vector<Place> places; // by mask of axes
  std::vector<void *> scratch;
  bool inBackground = false;
  std::vector<int> memberAt; // the group's members by place, in a collective
};

class World : public LocalWorld {
public:
  Shared shared;
  std::vector<std::unique_ptr<LocalCommunicator>> communicators;

  int ranks() const override { return communicators.size(); }
  Communicator &rank(int rank) override { return *communicators[rank]; }
  void reset() override {
    for (auto &group : shared.groups)
      for (size_t i = 0; group->slots && i < group->members.size(); ++i)
        group->slots[i].arrived.store(0);
    for (auto &mailbox : shared.mailboxes)
      mailbox->clear();
    for (auto &communicator : communicators)
      communicator->reset();
    std::lock_guard<std::mutex> lock(shared.reasonMutex);
    shared.reason.clear();
    shared.aborted.store(false);
  }
};

} // namespace

Status LocalWorld::create(const LocalOptions &options,
                          std::unique_ptr<LocalWorld> *out) {
  // Groups exist for every set of axes, so that no call looks any up.
  constexpr size_t maxAxes = 6;
  constexpr int64_t maxRanks = 1024;
  int64_t ranks = 1;
  for (int64_t size : options.mesh) {
    if (size < 1 || ranks * size > maxRanks || options.mesh.size() > maxAxes)
      return Status::error(StatusCode::InvalidArgument,
                           "a mesh has at most 6 axes and 1024 ranks",
                           toString(options.mesh));
    ranks *= size;
  }
  auto world = std::make_unique<World>();
  Shared &shared = world->shared;
  shared.options = options;
  size_t axes = options.mesh.size();
  shared.coordinates.resize(ranks * axes);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t rest = rank, axis = axes; axis-- > 0;) {
      shared.coordinates[rank * axes + axis] = rest % options.mesh[axis];
      rest /= options.mesh[axis];
    }
  std::vector<std::vector<Place>> places(ranks);
  for (uint32_t mask = 0; mask < 1u << axes; ++mask) {
    // Ranks of one group have the same coordinates on all other axes.
    std::map<int64_t, Group *> groupAt;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t color = 0;
      for (size_t axis = 0; axis < axes; ++axis)
        color = color * options.mesh[axis] +
                (mask >> axis & 1 ? 0 : shared.coordinate(rank, axis));
      Group *&group = groupAt[color];
      if (!group) {
        shared.groups.push_back(std::make_unique<Group>());
        group = shared.groups.back().get();
      }
      Place place;
      place.group = group;
      place.index = group->members.size();
      group->members.push_back(rank);
      places[rank].push_back(place);
    }
  }
  for (auto &group : shared.groups)
    if (group->members.size() > 1) // nobody waits alone
      group->slots = std::make_unique<Slot[]>(group->members.size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    shared.mailboxes.push_back(std::make_unique<Mailbox>());
    world->communicators.push_back(std::make_unique<LocalCommunicator>(
        shared, rank, ranks, std::move(places[rank])));
  }
  *out = std::move(world);
  return Status();
}

} // namespace dist
