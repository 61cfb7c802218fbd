//===- communicator.h - Collectives between ranks ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One object a rank. A collective is prepared once, which checks it and finds
// who takes part, and then run in each step. Which of all it is, its
// generation, step and number there tell, which the communicator counts: the
// call says but what it moves. Every collective carries the id of the op it
// came from, a deadline and an abort flag: a rank that fails or never comes
// makes the others fail with its name, never hang. Reductions have the same
// bits on all ranks, and with the same inputs in each run.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_COMMUNICATOR_H
#define RUNTIME_CORE_COMMUNICATOR_H

#include "runtime/core/algorithm.h"
#include "runtime/core/progress.h"
#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace dist {

class Stream;

enum class Reduction {
  Sum = DIST_RT_SUM,
  Max = DIST_RT_MAX,
  Min = DIST_RT_MIN,
  Product = DIST_RT_PRODUCT
};

enum class CollectiveKind {
  AllReduce = DIST_RT_ALL_REDUCE,
  AllGather = DIST_RT_ALL_GATHER,
  AllSlice = DIST_RT_ALL_SLICE,
  ReduceScatter = DIST_RT_REDUCE_SCATTER,
  AllToAll = DIST_RT_ALL_TO_ALL,
  Permute = DIST_RT_PERMUTE,
  Broadcast = DIST_RT_BROADCAST,
  Send = DIST_RT_SEND,
  Recv = DIST_RT_RECV,
  Reduce = DIST_RT_REDUCE,
  Barrier = DIST_RT_BARRIER
};

/// "all_reduce", ...; of any number, as an algorithm's.
const char *name(CollectiveKind kind);

/// Elements in memory of the caller's.
template <typename T> struct Sequence {
  const T *data = nullptr;
  int64_t size = 0;
  const T &operator[](int64_t i) const { return data[i]; }
  const T *begin() const { return data; }
  const T *end() const { return data + size; }
};

using Piece = dist_rt_piece;

/// What a rank asks of its communicator: abi.h's description, taken apart.
struct Collective {
  CollectiveKind kind = CollectiveKind::Barrier;
  int32_t op = 0;
  Reduction reduction = Reduction::Sum;
  Algorithm algorithm = Algorithm::Auto;
  int64_t peer = 0, tag = 0;
  /// Whether it has buffers to read, and to write.
  bool gives = true, takes = true;
  /// Runs beside the rank's own work: sleeps rather than spins, and leaves the
  /// rank's team alone.
  bool background = false;
  Sequence<int64_t> axes, sources;
  Sequence<Piece> pieces;

  static Collective fromAbi(const dist_rt_collective &description);
};

/// Bytes that a piece reads of one rank's buffer, and writes to one, in groups
/// of `groupSize`.
int64_t bytesFrom(const Piece &piece, int64_t groupSize);
int64_t bytesTo(const Piece &piece, int64_t groupSize);

/// Copies blocks lo..hi-1 (counted over outer and rows) between addresses that
/// the places' strides are in already.
void copyBlocks(const Piece &piece, const void *from, void *to, int64_t lo,
                int64_t hi);

/// The id of what sessions do between programs' ops.
constexpr int32_t sessionOp = -1;

/// Memory that plans have beside their buffers: for what they pack, and for
/// what comes from others. Those that never run at once share it.
class PlanMemory {
public:
  /// The next run has so much, at least. Any thread may ask, also while a plan
  /// runs.
  void reserve(int64_t bytes);
  /// What the plan computes in that begins to run; what was there is lost.
  char *take();
  char *data() const { return memory.get(); }
  int64_t bytes() const { return wanted.load(); }

private:
  struct Free {
    void operator()(char *memory) const;
  };
  std::atomic<int64_t> wanted{0};
  int64_t size = 0;
  std::unique_ptr<char[], Free> memory;
};

/// A collective as one rank has prepared it. It runs once at a time; what the
/// lists of `call` refer to stays as long as it does.
class CollectivePlan {
public:
  CollectivePlan(const Collective &call, uint32_t generation);
  virtual ~CollectivePlan() = default;
  CollectivePlan(const CollectivePlan &) = delete;
  CollectivePlan &operator=(const CollectivePlan &) = delete;

  /// Whether it runs in the background may change between two runs.
  Collective call;
  /// In another one it cannot start.
  const uint32_t generation;
  /// The ranks that it meets; of a send and a recv the other one and the tag.
  /// Those of one channel come in one order on all of its ranks.
  std::array<int64_t, 3> channel{};
  /// The how manyeth of its channel in a step; `unnumbered`: it is of no step,
  /// and counted as it comes. Set before the first run.
  static constexpr int32_t unnumbered = -1;
  int32_t number = unnumbered;
  /// Plans of one line run one at a time, in order: those of a group, sends to
  /// one rank, and recvs from one.
  using Line = std::array<int64_t, 2>;
  Line line() const { return {channel[0], channel[1]}; }
  /// What it has beside its buffers; null: nothing.
  std::shared_ptr<PlanMemory> memory;

  /// Copies of the addresses that a run has, for one that comes later than its
  /// call.
  struct Addresses {
    std::vector<void *> from, to;
  };
  /// Until the next call of it.
  const Addresses &keep(void *const *from, void *const *to);
  const Addresses &addresses() const { return kept; }

private:
  Addresses kept;
};

/// All ranks of a group make the same calls in the same order; a send and its
/// recv are no call of the others. Plans of several lines may run at once, each
/// on a thread of its own: none waits for another line's.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// Of this rank: threads that work for it say so here, and its peers'
  /// deadlines stand still while it moves.
  Progress progress;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Ranks in a group, and this rank's place among them. A bit mask of mesh
  /// axes (bit 0: the mesh's first) stands for these axes in mesh order.
  virtual int groupSize(uint32_t axes) const = 0;
  virtual int groupRank(uint32_t axes) const = 0;

  /// Errors: axes that the mesh has not, a peer or a source that is not in the
  /// group, a type without such a reduction. It meets no other rank.
  virtual Status prepare(const Collective &call,
                         std::unique_ptr<CollectivePlan> *out) = 0;
  /// Begins a step, of which the plans that run next are; all ranks do, where
  /// any of them has one there.
  virtual void beginStep() {}

  /// `from` and `to` have an address a piece; they may be the same where the
  /// piece's own part stays in place. Buffers may hold anything when it fails.
  /// Reductions combine in the order of places, or in that of the all-reduce's
  /// algorithm. A send never waits for its recv, nor need a rank that
  /// only gives wait for those that take. Where the root of a broadcast or
  /// reduce is the mesh's host, a rank that only gives has no `to`, and one
  /// that only takes no `from`.
  virtual Status run(CollectivePlan &plan, void *const *from,
                     void *const *to) = 0;
  /// The same where the stream comes to it, which is when its deadline begins;
  /// the call returns at once, and the stream's `finish` tells what failed. The
  /// addresses are copied, and are ones that `run` takes. By a stream that does
  /// each call before it returns, it has run then.
  virtual Status enqueue(CollectivePlan &plan, Stream &stream,
                         void *const *from, void *const *to);

  /// Whether ranks can read each other's buffers.
  virtual bool sharesMemory() const { return false; }
  /// Meets the group and moves nothing: `addresses` gets, for each piece and in
  /// it for each place, where the rank there has what the plan would bring
  /// here. Buffers stay as they are until a barrier of the same axes. Of an
  /// all_slice, an address a piece in `from` itself, and no rank waits.
  virtual Status publish(CollectivePlan &plan, void *const *from,
                         void **addresses);

  /// What is done once: prepared for it, and forgotten.
  Status runOnce(const Collective &call, void *const *from, void *const *to);
  Status publishOnce(const Collective &call, void *const *from,
                     void **addresses);

  /// Which one is under way: each `reset` of the world begins the next. Any
  /// thread may ask.
  virtual uint32_t generation() const = 0;
  /// Makes every collective of every rank of that generation fail from now on;
  /// the first reason stays. Of a generation that is over it does nothing: who
  /// is late ends no other than it knew. Any thread may call it.
  virtual void abort(uint32_t generation, const std::string &reason) = 0;

  // Dense buffers, over the axes of a mask.

  /// In place.
  Status allReduce(int32_t op, void *data, int64_t count, DataType type,
                   Reduction reduction, uint32_t axes);
  /// `bytes` from each rank, one after the other, into `to`.
  Status allGather(int32_t op, const void *from, void *to, int64_t bytes,
                   uint32_t axes);
  /// `count` elements of the result stay here; `from` has them for each rank.
  Status reduceScatter(int32_t op, const void *from, void *to, int64_t count,
                       DataType type, Reduction reduction, uint32_t axes);
  /// In place, from the group's rank `root` to all.
  Status broadcast(int32_t op, void *data, int64_t bytes, int root,
                   uint32_t axes);
  Status barrier(int32_t op, uint32_t axes);
};

/// One dense buffer over the axes of a mask, as communicators are asked for it.
struct DenseCollective {
  DenseCollective(CollectiveKind kind, int32_t op, uint32_t axes, DataType type,
                  int64_t bytes);
  DenseCollective(const DenseCollective &) = delete;
  DenseCollective &operator=(const DenseCollective &) = delete;

  Collective call; // refers to the others
  Piece piece{};
  int64_t axes[32];
};

/// One that runs often, beside a program's collectives: prepared with these, so
/// that it takes no memory in a step.
class DensePlan {
public:
  DensePlan(CollectiveKind kind, int32_t op, uint32_t axes, DataType type,
            int64_t bytes)
      : what(kind, op, axes, type, bytes) {}
  /// What is asked for, until it is prepared.
  DenseCollective what;

  Status prepare(Communicator &communicator) {
    return communicator.prepare(what.call, &plan);
  }
  /// By the communicator that prepared it.
  Status run(Communicator &communicator, const void *from, void *to) {
    void *source = const_cast<void *>(from);
    return communicator.run(*plan, &source, &to);
  }
  const CollectivePlan &prepared() const { return *plan; }

private:
  std::unique_ptr<CollectivePlan> plan;
};

/// An all-reduce in place.
class DenseAllReduce : private DensePlan {
public:
  static Status prepare(Communicator &communicator, int32_t op, int64_t count,
                        DataType type, Reduction reduction, uint32_t axes,
                        std::unique_ptr<DenseAllReduce> *out);

  Status run(Communicator &communicator, void *data) {
    return DensePlan::run(communicator, data, data);
  }
  using DensePlan::prepared;

private:
  using DensePlan::DensePlan;
};

} // namespace dist

#endif // RUNTIME_CORE_COMMUNICATOR_H
