//===- operation.h - A collective made of messages --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_OPERATION_H
#define RUNTIME_COMM_MESSAGE_OPERATION_H

#include "runtime/comm/common/team.h"
#include "runtime/comm/message/workspace.h"

namespace dist::message {

/// One rank's part of a collective. Positions are those in its group.
class Operation {
public:
  /// `memory`: as much as `measure` said.
  Operation(Post &post, const Team &team, Workspace &space, char *memory,
            const Description &description, Algorithm way, void *const *from,
            void *const *to)
      : Operation(&post, team, space, memory, description, way, from, to) {}

  Status run();

  /// Goes the way of a run without a message or a buffer: the workspace has the
  /// lists of all runs to come behind it. Returns the bytes of memory that a
  /// run needs at most.
  static int64_t measure(const MeshGroups &groups, const Team &team,
                         const Description &description, Algorithm way,
                         Workspace *space);

private:
  Operation(Post *post, const Team &team, Workspace &space, char *memory,
            const Description &description, Algorithm way, void *const *from,
            void *const *to);

  // Kinds:
  Status runKind();
  Status copyBetweenAll();
  Status permute();
  Status broadcast(int root, const Stream &stream, uint32_t firstStep);
  Status allReduce();
  Status sumAllAtOnce();
  Status gatherAndSum();
  Status sumInParts();
  Status sumInRing();
  Status sumInHalves();
  Status sumAtOne();
  Status reduceScatter();
  Status reduceToHost();
  Status barrier();
  Status sendOnly();
  Status receiveOnly();

  // Streams of this rank's buffers:
  Stream &newStream();
  /// What goes to the rank at `place`, and what comes from it.
  const Stream &outTo(int place);
  const Stream &inFrom(int place);
  /// All pieces as they lie; bytes [lo, hi) of them are what `cut` says.
  const Stream &whole(void *const *buffers);
  /// Part `part` of each piece, of as many as there are ranks.
  const Stream &partsOf(void *const *buffers, int part);
  /// All of it.
  const Slices &cut(const Stream &stream);
  void copyOwn();

  // Messages:
  char *allocate(int64_t bytes);
  Ticket *post(uint32_t step, int to, const char *data, int64_t bytes);
  Ticket *expect(uint32_t step, int from, char *to, int64_t bytes);
  void send(uint32_t step, int to, const Stream &stream, int64_t lo,
            int64_t hi);
  /// All of it.
  void sendAll(int to, const Stream &stream, uint32_t firstStep);
  void sendSlices(int to, const Stream &stream, const Slices &slices,
                  uint32_t firstStep);
  /// Into the stream; where that is in blocks, once `finish` or `settle` has
  /// seen it come.
  Ticket *receive(uint32_t step, int from, const Stream &stream, int64_t lo,
                  int64_t hi);
  void receiveAll(int from, const Stream &stream, uint32_t firstStep);
  void receiveSlices(int from, const Stream &stream, const Slices &slices,
                     uint32_t firstStep);

  // Sums. `givers`: the positions whose addends they are, in the order of the
  // sum. This rank's own are not sent.
  Sequence<int> everybody() const { return {space.positions.data(), size}; }
  /// Memory for slices of up to `bytes`.
  Slots &takeSlots(Sequence<int> givers, int64_t bytes);
  void receiveAddends(uint32_t step, Sequence<int> givers, int64_t bytes,
                      Slots &slots);
  /// Waits for them, then combines them with this rank's own in order.
  Status sum(const Slots &slots, const Stream &own, const Stream &result,
             int64_t lo, int64_t hi);
  void combine(const Slots &slots, const Stream &own, const Stream &result,
               int64_t lo, int64_t hi);
  struct Nothing {
    void operator()(int64_t) const {}
  };
  /// Reduces each slice of `slices`, whose addends come with the slice's number
  /// behind `firstStep` as their step; then calls then(slice).
  template <typename Then = Nothing>
  Status sumSlices(const Slices &slices, const Stream &own,
                   const Stream &result, Sequence<int> givers,
                   uint32_t firstStep, Then then = {});

  template <typename Ready> Status wait(Ready ready) {
    return network ? network->wait(space.call, ready) : Status();
  }
  Status waitFor(const Ticket *ticket);
  Status finish();
  void land(const Landing &landing);

  int rankAt(int position) const { return space.rankOf[position]; }

  Post *const network; // null: nothing moves
  const Team &team;
  Workspace &space;
  const Description &d;
  const Algorithm way; // of an all-reduce
  void *const *from;
  void *const *to;
  const int size, me;
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_OPERATION_H
