//===- local.cpp - Communicator of one process's devices ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/local/reduce.h"
#include "runtime/core/wait.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace dist {

namespace {

/// Data up to this size travel in the publication itself.
constexpr int64_t inlineBytes = 4096;
/// A team helps when its threads get at least this much each.
constexpr int64_t bytesPerThread = 64 << 10;

enum class CallKind : int32_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Barrier
};

const char *nameOf(CallKind kind) {
  static const char *const names[] = {"all_reduce", "all_gather",
                                      "reduce_scatter", "broadcast", "barrier"};
  return names[static_cast<int>(kind)];
}

/// What all ranks of a group must agree on.
struct Call {
  CallKind kind;
  int32_t op;
  int32_t type;
  int32_t extra; // reduction, or root
  int64_t count;
  bool operator==(const Call &other) const {
    return kind == other.kind && op == other.op && type == other.type &&
           extra == other.extra && count == other.count;
  }
};

struct Publication {
  Call call;
  const void *data;
  alignas(64) char small[inlineBytes];
};

/// One rank's place in a group. A rank writes publication `phase % 2` before it
/// arrives at the phase; it can overwrite it only two phases on, and so after
/// all others have arrived at the next one, done with reading this one.
struct alignas(64) Slot {
  std::atomic<uint64_t> arrived{0};
  Publication publications[2];
};

struct Group {
  std::vector<int> members; // world ranks
  std::unique_ptr<Slot[]> slots;
  WaitPoint wait;
};

/// What all ranks share.
struct Shared {
  LocalOptions options;
  std::vector<std::unique_ptr<Group>> groups;
  std::atomic<bool> aborted{false};
  std::mutex reasonMutex;
  std::string reason;

  void abort(const std::string &why) {
    {
      std::lock_guard<std::mutex> lock(reasonMutex);
      if (aborted.load())
        return;
      reason = why;
      aborted.store(true);
    }
    for (auto &group : groups)
      group->wait.notify();
  }
  std::string opName(int32_t op) const {
    return options.nameOp ? options.nameOp(op) : "op " + std::to_string(op);
  }
};

class LocalCommunicator : public Communicator {
public:
  /// A rank's view of one group.
  struct Place {
    Group *group = nullptr;
    int index = 0;
    uint64_t phase = 0;
    int size() const { return group->members.size(); }
  };

  LocalCommunicator(Shared &shared, int rank, int ranks,
                    std::vector<Place> places)
      : shared(shared), myRank(rank), numRanks(ranks),
        places(std::move(places)) {
    scratch.resize(2 * ranks);
  }

  int rank() const override { return myRank; }
  int ranks() const override { return numRanks; }
  int groupSize(uint32_t axes) const override {
    return axes < places.size() ? places[axes].size() : 0;
  }
  int groupRank(uint32_t axes) const override {
    return axes < places.size() ? places[axes].index : 0;
  }

  Status allReduce(int32_t op, void *data, int64_t count, DataType type,
                   Reduction reduction, uint32_t axes) override {
    Call call{CallKind::AllReduce, op, type, static_cast<int>(reduction),
              count};
    Place *place;
    DIST_RETURN_IF_ERROR(enter(call, axes, &place));
    ReduceFn reduce = findReduction(type, reduction);
    if (!reduce)
      return noReduction(call);
    if (place->size() == 1 || count == 0)
      return Status();
    int64_t bytes = count * byteSize(type);
    if (bytes <= inlineBytes) {
      DIST_RETURN_IF_ERROR(meet(*place, call, data, bytes));
      for (int i = 0; i < place->size(); ++i)
        scratch[i] = const_cast<char *>(published(*place, i).small);
      reduce(scratch.data(), place->size(), &data, 1, 0, count);
      return Status();
    }
    DIST_RETURN_IF_ERROR(meet(*place, call, data, 0));
    for (int i = 0; i < place->size(); ++i)
      scratch[i] = const_cast<void *>(published(*place, i).data);
    auto [lo, hi] = part(count, byteSize(type), place->index, place->size());
    runReduce(reduce, place->size(), scratch.data(), place->size(), lo, hi,
              byteSize(type));
    return meet(*place, call, nullptr, 0);
  }

  Status allGather(int32_t op, const void *from, void *to, int64_t bytes,
                   uint32_t axes) override {
    Call call{CallKind::AllGather, op, 0, 0, bytes};
    Place *place;
    DIST_RETURN_IF_ERROR(enter(call, axes, &place));
    bool small = bytes <= inlineBytes;
    if (place->size() > 1)
      DIST_RETURN_IF_ERROR(meet(*place, call, from, small ? bytes : 0));
    for (int i = 0; i < place->size(); ++i) {
      const void *source = i == place->index ? from
                           : small           ? published(*place, i).small
                                             : published(*place, i).data;
      void *target = static_cast<char *>(to) + i * bytes;
      if (source != target)
        std::memcpy(target, source, bytes);
    }
    if (place->size() == 1 || small)
      return Status();
    return meet(*place, call, nullptr, 0);
  }

  Status reduceScatter(int32_t op, const void *from, void *to, int64_t count,
                       DataType type, Reduction reduction,
                       uint32_t axes) override {
    Call call{CallKind::ReduceScatter, op, type, static_cast<int>(reduction),
              count};
    Place *place;
    DIST_RETURN_IF_ERROR(enter(call, axes, &place));
    ReduceFn reduce = findReduction(type, reduction);
    if (!reduce)
      return noReduction(call);
    int64_t offset = place->index * count * byteSize(type);
    if (place->size() > 1)
      DIST_RETURN_IF_ERROR(meet(*place, call, from, 0));
    for (int i = 0; i < place->size(); ++i) {
      const void *source =
          place->size() == 1 ? from : published(*place, i).data;
      scratch[i] =
          const_cast<char *>(static_cast<const char *>(source)) + offset;
    }
    scratch[place->size()] = to;
    runReduce(reduce, place->size(), scratch.data() + place->size(), 1, 0,
              count, byteSize(type));
    return place->size() == 1 ? Status() : meet(*place, call, nullptr, 0);
  }

  Status broadcast(int32_t op, void *data, int64_t bytes, int root,
                   uint32_t axes) override {
    Call call{CallKind::Broadcast, op, 0, root, bytes};
    Place *place;
    DIST_RETURN_IF_ERROR(enter(call, axes, &place));
    if (root < 0 || root >= place->size())
      return Status::error(StatusCode::InvalidArgument,
                           "a broadcast's root is not in its group",
                           shared.opName(op));
    if (place->size() == 1)
      return Status();
    DIST_RETURN_IF_ERROR(meet(*place, call, data, 0));
    if (place->index != root)
      std::memcpy(data, published(*place, root).data, bytes);
    return meet(*place, call, nullptr, 0);
  }

  Status barrier(int32_t op, uint32_t axes) override {
    Call call{CallKind::Barrier, op, 0, 0, 0};
    Place *place;
    DIST_RETURN_IF_ERROR(enter(call, axes, &place));
    return place->size() == 1 ? Status() : meet(*place, call, nullptr, 0);
  }

  void abort(const std::string &reason) override { shared.abort(reason); }
  void reset() {
    for (Place &place : places)
      place.phase = 0;
  }

private:
  Status enter(const Call &call, uint32_t axes, Place **place) {
    if (axes >= places.size() || call.count < 0)
      return Status::error(StatusCode::Internal,
                           std::string(nameOf(call.kind)) +
                               " got axes or sizes that the mesh has not",
                           shared.opName(call.op));
    *place = &places[axes];
    if (shared.aborted.load())
      return abortedStatus(call);
    return Status();
  }

  Status noReduction(const Call &call) {
    return Status::error(StatusCode::Internal,
                         std::string(nameOf(call.kind)) +
                             " got no such reduction or type",
                         shared.opName(call.op));
  }

  const Publication &published(const Place &place, int index) const {
    return place.group->slots[index].publications[place.phase % 2];
  }

  /// Publishes, then waits until all of the group have.
  Status meet(Place &place, const Call &call, const void *data,
              int64_t copied) {
    Group &group = *place.group;
    uint64_t phase = ++place.phase;
    Slot &mine = group.slots[place.index];
    Publication &publication = mine.publications[phase % 2];
    publication.call = call;
    publication.data = data;
    if (copied)
      std::memcpy(publication.small, data, copied);
    mine.arrived.store(phase);
    group.wait.notify();

    auto ready = [&] {
      if (shared.aborted.load(std::memory_order_relaxed))
        return true;
      for (int i = 0; i < place.size(); ++i)
        if (group.slots[i].arrived.load() < phase)
          return false;
      return true;
    };
    auto deadline = WaitPoint::Clock::time_point::max();
    if (shared.options.timeout > 0)
      deadline = WaitPoint::Clock::now() +
                 std::chrono::milliseconds(
                     static_cast<int64_t>(shared.options.timeout * 1000));
    if (!group.wait.wait(ready, deadline, shared.options.spinMicroseconds))
      return timedOut(place, call);
    if (shared.aborted.load())
      return abortedStatus(call);
    for (int i = 0; i < place.size(); ++i)
      if (!(published(place, i).call == call))
        return mismatch(place, call, i);
    return Status();
  }

  Status fail(StatusCode code, const Call &call, const std::string &why,
              const std::string &todo) {
    Status status =
        Status::error(code, std::string(nameOf(call.kind)) + " failed",
                      shared.opName(call.op), why, todo);
    shared.abort(status.message());
    return status;
  }

  Status timedOut(const Place &place, const Call &call) {
    std::string missing;
    int count = 0;
    for (int i = 0; i < place.size(); ++i)
      if (place.group->slots[i].arrived.load() < place.phase) {
        missing +=
            (count++ ? ", " : "") + std::to_string(place.group->members[i]);
      }
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", shared.options.timeout);
    return fail(StatusCode::Unavailable, call,
                (count == 1 ? "rank " : "ranks ") + missing +
                    " did not arrive within " + seconds + " s",
                "see why, or raise --collective-timeout");
  }

  Status mismatch(const Place &place, const Call &call, int index) {
    auto text = [&](const Call &call, int rank) {
      return std::string(nameOf(call.kind)) + " of " + shared.opName(call.op) +
             " with " + std::to_string(call.count) + " elements on rank " +
             std::to_string(rank);
    };
    return fail(
        StatusCode::Internal, call,
        "ranks are at different collectives: " + text(call, myRank) + ", " +
            text(published(place, index).call, place.group->members[index]),
        "recompile the package");
  }

  Status abortedStatus(const Call &call) {
    std::lock_guard<std::mutex> lock(shared.reasonMutex);
    return Status::error(StatusCode::Unavailable,
                         std::string(nameOf(call.kind)) + " was given up",
                         shared.opName(call.op), shared.reason);
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

  struct TeamJob {
    ReduceFn reduce;
    const void *const *from;
    int numFrom;
    void *const *to;
    int numTo;
    int64_t lo;
  };
  static void runTeamJob(void **buffers, int64_t lo, int64_t hi, int64_t) {
    const TeamJob &job = *reinterpret_cast<const TeamJob *>(buffers);
    job.reduce(job.from, job.numFrom, job.to, job.numTo, job.lo + lo,
               job.lo + hi);
  }

  /// Reduces the buffers in `scratch`, with the team where there is enough.
  void runReduce(ReduceFn reduce, int numFrom, void *const *to, int numTo,
                 int64_t lo, int64_t hi, int64_t elementBytes) {
    int64_t chunks =
        std::min<int64_t>(shared.options.threadsPerRank,
                          (hi - lo) * elementBytes / bytesPerThread);
    if (!shared.options.parallelFor || chunks < 2) {
      reduce(scratch.data(), numFrom, to, numTo, lo, hi);
      return;
    }
    TeamJob job{reduce, scratch.data(), numFrom, to, numTo, lo};
    shared.options.parallelFor(runTeamJob, reinterpret_cast<void **>(&job),
                               hi - lo, chunks);
  }

  Shared &shared;
  int myRank, numRanks;
  std::vector<Place> places; // by mask of axes
  std::vector<void *> scratch;
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
  world->shared.options = options;
  uint32_t masks = 1u << options.mesh.size();
  std::vector<std::vector<LocalCommunicator::Place>> places(ranks);
  for (uint32_t mask = 0; mask < masks; ++mask) {
    // Ranks of one group have the same coordinates on all other axes.
    std::map<int64_t, Group *> groupAt;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t color = 0, rest = rank, stride = 1;
      for (size_t axis = options.mesh.size(); axis-- > 0;) {
        int64_t coordinate = rest % options.mesh[axis];
        rest /= options.mesh[axis];
        if (!(mask >> axis & 1))
          color += coordinate * stride;
        stride *= options.mesh[axis];
      }
      Group *&group = groupAt[color];
      if (!group) {
        world->shared.groups.push_back(std::make_unique<Group>());
        group = world->shared.groups.back().get();
      }
      LocalCommunicator::Place place;
      place.group = group;
      place.index = group->members.size();
      group->members.push_back(rank);
      places[rank].push_back(place);
    }
  }
  for (auto &group : world->shared.groups)
    if (group->members.size() > 1) // nobody waits alone
      group->slots = std::make_unique<Slot[]>(group->members.size());
  for (int64_t rank = 0; rank < ranks; ++rank)
    world->communicators.push_back(std::make_unique<LocalCommunicator>(
        world->shared, rank, ranks, std::move(places[rank])));
  *out = std::move(world);
  return Status();
}

} // namespace dist
