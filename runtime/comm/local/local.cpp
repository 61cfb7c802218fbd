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
#include "runtime/comm/local/team.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace dist {

namespace {

using namespace local;

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
  int64_t rest[] = {static_cast<int64_t>(call.reduction),
                    static_cast<int64_t>(call.algorithm), call.peer};
  add(rest, 3);
  add(call.axes.data, call.axes.size);
  add(call.sources.data, call.sources.size);
  return digest;
}

class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(Shared &shared, int rank, int ranks,
                    std::vector<Place> places)
      : shared(shared), myRank(rank), numRanks(ranks),
        places(std::move(places)), team(shared.options) {
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
    prepare(c);
    switch (what.kind) {
    case CollectiveKind::AllSlice:
      for (int64_t i = 0; i < what.pieces.size; ++i)
        team.pull(what.pieces[i], from[i], c.mine, to[i], 0);
      return Status();
    case CollectiveKind::Send:
      shared.mailboxes[worldRank(c, what.peer)]->put(myRank, what.tag, c.call,
                                                     what, from);
      return Status();
    case CollectiveKind::Recv:
      return receive(shared, *shared.mailboxes[myRank], myRank,
                     worldRank(c, what.peer), c.call, what, to);
    default:
      break;
    }
    if (c.bytes == 0 && what.kind != CollectiveKind::Barrier)
      return Status();
    bool together = c.place->size() > 1;
    if (together)
      hold(c);
    if (together && c.algorithm != Algorithm::Auto)
      return allReduceInSteps(c);
    if (together)
      DIST_RETURN_IF_ERROR(shared.meet(*c.place, c.call, c.from, c.to,
                                       [&](char *small) { pack(c, small); }));
    work(c);
    // Nobody's buffers may change before all have read them.
    if (together && !c.small && what.kind != CollectiveKind::Barrier)
      return shared.meet(*c.place, c.call, c.from, c.to, [](char *) {});
    return Status();
  }

  bool sharesMemory() const override { return true; }
  Status share(const Collective &what, void *const *from,
               void **addresses) override {
    Collected c{what, from, nullptr};
    DIST_RETURN_IF_ERROR(enter(c));
    for (const Piece &piece : what.pieces)
      if (piece.outer * piece.rows != 1)
        return Status::error(StatusCode::Internal,
                             std::string(name(what.kind)) +
                                 " got a piece to share that is not one block",
                             shared.opName(myRank, what.op));
    auto at = [&](const Piece &piece, void *buffer) {
      return static_cast<char *>(buffer) + c.mine * piece.from_place;
    };
    bool alone = what.kind == CollectiveKind::AllSlice || c.place->size() == 1;
    if (alone) {
      for (int64_t i = 0; i < what.pieces.size; ++i)
        addresses[i] = at(what.pieces[i], from[i]);
      return Status();
    }
    prepare(c);
    // It is another call than the one that moves the same. Whoever leaves first
    // reuses the array it came with, so the addresses travel as data; those
    // that are too many are read before anybody leaves.
    c.call.digest = ~c.call.digest;
    size_t bytes = what.pieces.size * sizeof(void *);
    bool packed = bytes <= inlineBytes;
    hold(c);
    auto meet = [&] {
      return shared.meet(*c.place, c.call, c.from, nullptr, [&](char *small) {
        if (packed && bytes > 0)
          std::memcpy(small, from, bytes);
      });
    };
    DIST_RETURN_IF_ERROR(meet());
    for (int place = 0; place < c.place->size(); ++place) {
      const Publication &publication = c.place->published(memberAt[place]);
      for (int64_t i = 0; i < what.pieces.size; ++i) {
        void *buffer = nullptr;
        if (packed)
          std::memcpy(&buffer, publication.small + i * sizeof buffer,
                      sizeof buffer);
        else
          buffer = publication.from[i];
        addresses[i * c.place->size() + place] = at(what.pieces[i], buffer);
      }
    }
    return packed ? Status() : meet();
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
    int mine = 0; // my place in the group, by the order of axes
    bool withHost = false;
    bool inOrder = true; // places are the members' numbers
    int64_t bytes = 0;   // of all pieces, packed
    bool small = false;
    Algorithm algorithm = Algorithm::Auto;
    Call call{};
  };

  /// A member's place in the group, by the order of axes; the host's is last.
  int64_t placeOf(const Collected &c, int member) const {
    if (c.inOrder || (c.withHost && member == c.place->size() - 1))
      return member;
    int64_t place = 0;
    for (int64_t axis : c.what.axes)
      place = place * shared.options.mesh[axis] +
              shared.coordinate(c.place->group->members[member], axis);
    return place;
  }

  /// Takes over what one call at a time has. What meets nobody may come while a
  /// started collective is under way, and leaves this alone.
  void prepare(const Collected &c) {
    team.inBackground = c.what.background;
    c.place->patient = isHost();
    c.place->background = c.what.background;
    c.place->spinMicroseconds =
        c.what.background || isHost() ? 0 : shared.options.spinMicroseconds;
    for (int member = 0; member < c.place->size(); ++member)
      memberAt[placeOf(c, member)] = member;
  }

  /// Finds the group and the order of its ranks. Changes nothing.
  Status enter(Collected &c) {
    const Collective &what = c.what;
    progress.advance();
    c.call.kind = what.kind;
    c.call.op = what.op;
    auto refuse = [&](const char *why, StatusCode code) {
      return Status::error(code, std::string(name(what.kind)) + " got " + why,
                           shared.opName(myRank, what.op));
    };
    uint32_t mask = 0;
    for (int64_t i = 0; i < what.axes.size; ++i) {
      int64_t axis = what.axes[i];
      if (axis < 0 || axis >= int64_t(shared.options.mesh.size()) ||
          (mask >> axis & 1))
        return refuse("axes that the mesh has not", StatusCode::Internal);
      c.inOrder &= i == 0 || what.axes[i - 1] < axis;
      mask |= 1u << axis;
    }
    // The host's own group is the last; it has all axes.
    c.place = &places[mask];
    bool reachesHost = what.kind == CollectiveKind::Reduce ||
                       what.kind == CollectiveKind::Broadcast;
    c.withHost = shared.options.host && reachesHost && isHostsPlace(what);
    if (what.kind == CollectiveKind::Reduce && !c.withHost)
      return refuse("no host to reduce to", StatusCode::Internal);
    if (c.withHost) {
      if (mask + 1 != 1u << shared.options.mesh.size())
        return refuse("axes that do not reach all devices",
                      StatusCode::Internal);
      c.place = &places.back();
    } else if (isHost()) {
      return refuse("a call that its host has no part in",
                    StatusCode::Internal);
    }
    c.call.betweenPrograms = c.withHost;
    c.mine = placeOf(c, c.place->index);
    int size = c.place->size();
    bool reduces = what.kind == CollectiveKind::AllReduce ||
                   what.kind == CollectiveKind::ReduceScatter ||
                   what.kind == CollectiveKind::Reduce;
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
                   what.kind == CollectiveKind::Reduce ||
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
    if (what.kind == CollectiveKind::AllReduce)
      c.algorithm = what.algorithm == Algorithm::Auto ? shared.options.allReduce
                                                      : what.algorithm;
    if (c.algorithm < Algorithm::Auto || c.algorithm > Algorithm::ReduceToOne)
      return refuse("an algorithm that there is not", StatusCode::Internal);
    c.call.digest = digestOf(what);
    return shared.aborted.load() ? shared.abortedStatus(myRank, c.call)
                                 : Status();
  }

  int worldRank(const Collected &c, int64_t place) const {
    return c.place->group->members[memberAt[place]];
  }

  void pack(const Collected &c, char *small) const {
    if (!c.small || !c.what.gives)
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
          team.pull(piece, source(c, from, i, offset), c.mine, c.to[i], from);
        else
          std::memset(c.to[i], 0, bytesTo(piece, size));
        break;
      case CollectiveKind::Reduce:
        reduceToHost(c, i, offset);
        break;
      case CollectiveKind::Broadcast:
        if (c.withHost && isHost())
          break; // its own stays where it is
        team.pull(piece, source(c, what.peer, i, offset), c.mine, c.to[i],
                  what.peer);
        break;
      default: // all_gather, all_to_all
        for (int from = 0; from < size; ++from)
          team.pull(piece, source(c, from, i, offset), c.mine, c.to[i], from);
        break;
      }
      offset += alignPacked(bytesFrom(piece, size));
    }
  }

  /// Others read where this rank's buffers are. Its own list goes with it when
  /// it gives up and leaves; the buffers stay as long as the session. Who only
  /// gives has no list of what it takes.
  void hold(Collected &c) {
    auto keep = [&](bool has, void *const *&list, std::vector<void *> &held) {
      if (!has || !list)
        return;
      held.assign(list, list + c.what.pieces.size);
      list = held.data();
    };
    keep(c.what.gives, c.from, heldFrom);
    keep(c.what.takes, c.to, heldTo);
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
      team.reduce(reduce, scratch.data(), size, scratch.data() + size, 1, 0,
                  count, width);
      return;
    }
    for (int place = 0; place < size; ++place)
      scratch[size + place] = target(c, place, i);
    auto [lo, hi] = part(count, width, c.mine, size);
    team.reduce(reduce, scratch.data(), size, scratch.data() + size, size, lo,
                hi, width);
  }

  //===--------------------------------------------------------------------===//
  // All-reduces as others do them, whose messages go between neighbours
  //===--------------------------------------------------------------------===//

  Status allReduceInSteps(Collected &c) {
    c.small = false; // each step reads what the one before has written
    auto meet = [&] {
      return shared.meet(*c.place, c.call, c.from, c.to, [](char *) {});
    };
    DIST_RETURN_IF_ERROR(meet());
    if (c.algorithm == Algorithm::ReduceToOne) {
      if (c.mine == 0)
        forEachPiece(
            c, [&](int64_t i, int64_t count, int64_t width, ReduceFn reduce) {
              for (int place = 0; place < c.place->size(); ++place)
                scratch[place] = source(c, place, i, 0);
              team.reduce(reduce, scratch.data(), c.place->size(), &c.to[i], 1,
                          0, count, width);
            });
      DIST_RETURN_IF_ERROR(meet());
      if (c.mine != 0)
        forEachPiece(c, [&](int64_t i, int64_t count, int64_t width, ReduceFn) {
          team.copy(target(c, 0, i), c.to[i], 0, count * width);
        });
      return meet();
    }
    // In step s a rank adds its own to the part that its neighbour has summed
    // up so far; after size - 1 of them it has one part whole, which then goes
    // around.
    int64_t size = c.place->size(), left = (c.mine + size - 1) % size;
    for (int64_t step = 0; step < 2 * (size - 1); ++step) {
      bool sums = step < size - 1;
      int64_t at = (c.mine + 2 * size - 1 - step) % size;
      forEachPiece(
          c, [&](int64_t i, int64_t count, int64_t width, ReduceFn reduce) {
            auto [lo, hi] = part(count, width, at, size);
            if (!sums) {
              team.copy(target(c, left, i), c.to[i], lo * width, hi * width);
              return;
            }
            scratch[0] = step == 0 ? source(c, left, i, 0) : target(c, left, i);
            scratch[1] = c.from[i];
            team.reduce(reduce, scratch.data(), 2, &c.to[i], 1, lo, hi, width);
          });
      DIST_RETURN_IF_ERROR(meet());
    }
    return Status();
  }

  /// Calls `fn(piece, elements, bytes of one, reduction)`.
  template <typename Fn> void forEachPiece(const Collected &c, Fn fn) {
    for (int64_t i = 0; i < c.what.pieces.size; ++i) {
      const Piece &piece = c.what.pieces[i];
      auto type = static_cast<DataType>(piece.type);
      int64_t width = byteSize(type);
      fn(i, piece.outer * piece.rows * piece.bytes / width, width,
         findReduction(type, c.what.reduction));
    }
  }

  void *target(const Collected &c, int64_t place, int64_t i) const {
    return c.place->published(memberAt[place]).to[i];
  }

  /// Small: the host all. Large: each device a part of the host's, for it.
  void reduceToHost(const Collected &c, int64_t i, int64_t offset) {
    const Piece &piece = c.what.pieces[i];
    auto type = static_cast<DataType>(piece.type);
    int64_t width = byteSize(type), devices = c.place->size() - 1;
    int64_t count = piece.outer * piece.rows * piece.bytes / width;
    if (c.small != isHost())
      return;
    ReduceFn reduce = findReduction(type, c.what.reduction);
    for (int place = 0; place < devices; ++place)
      scratch[place] = source(c, place, i, offset);
    scratch[devices] = c.small ? c.to[i] : target(c, devices, i);
    auto [lo, hi] = c.small ? std::pair<int64_t, int64_t>(0, count)
                            : part(count, width, c.mine, devices);
    team.reduce(reduce, scratch.data(), devices, scratch.data() + devices, 1,
                lo, hi, width);
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
        team.reduce(reduce, scratch.data(), size, scratch.data() + size, 1, 0,
                    piece.bytes / width, width);
      }
  }

  bool isHost() const { return shared.options.host && myRank == numRanks - 1; }
  /// Whether the peer is the place behind those of the axes.
  bool isHostsPlace(const Collective &what) const {
    int64_t devices = 1;
    for (int64_t axis : what.axes)
      devices *= shared.options.mesh[axis];
    return what.peer == devices;
  }

  Shared &shared;
  int myRank, numRanks;
  std::vector<Place> places; // by mask of axes
  std::vector<void *> scratch;
  std::vector<void *> heldFrom, heldTo; // what others read of a collective
  Team team;
  std::vector<int> memberAt; // the group's members by place, in a collective
};

class AllRanks : public LocalWorld {
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
  int64_t devices = ranks;
  ranks += options.host;
  auto world = std::make_unique<AllRanks>();
  Shared &shared = world->shared;
  shared.options = options;
  size_t axes = options.mesh.size();
  shared.coordinates.resize(ranks * axes);
  for (int64_t rank = 0; rank < devices; ++rank)
    for (int64_t rest = rank, axis = axes; axis-- > 0;) {
      shared.coordinates[rank * axes + axis] = rest % options.mesh[axis];
      rest /= options.mesh[axis];
    }
  std::vector<std::vector<Place>> places(ranks);
  auto addPlace = [&](int64_t rank, Group &group) {
    Place place;
    place.group = &group;
    place.index = group.members.size();
    group.members.push_back(rank);
    places[rank].push_back(place);
  };
  for (uint32_t mask = 0; mask < 1u << axes; ++mask) {
    // Ranks of one group have the same coordinates on all other axes.
    std::map<int64_t, Group *> groupAt;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t color = 0;
      for (size_t axis = 0; axis < axes; ++axis)
        color = color * options.mesh[axis] +
                (mask >> axis & 1 ? 0 : shared.coordinate(rank, axis));
      // The host is alone.
      Group *&group = groupAt[rank < devices ? color : -1];
      if (!group) {
        shared.groups.push_back(std::make_unique<Group>());
        group = shared.groups.back().get();
      }
      addPlace(rank, *group);
    }
  }
  if (options.host) {
    shared.groups.push_back(std::make_unique<Group>());
    for (int64_t rank = 0; rank < ranks; ++rank)
      addPlace(rank, *shared.groups.back());
  }
  for (auto &group : shared.groups)
    if (group->members.size() > 1) // nobody waits alone
      group->slots = std::make_unique<Slot[]>(group->members.size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    shared.mailboxes.push_back(std::make_unique<Mailbox>());
    world->communicators.push_back(std::make_unique<LocalCommunicator>(
        shared, rank, ranks, std::move(places[rank])));
    shared.progress.push_back(&world->communicators.back()->progress);
  }
  *out = std::move(world);
  return Status();
}

} // namespace dist
