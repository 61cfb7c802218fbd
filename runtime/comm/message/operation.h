//===- operation.h - A collective made of messages --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_OPERATION_H
#define RUNTIME_COMM_MESSAGE_OPERATION_H

#include "runtime/comm/common/team.h"
#include "runtime/comm/message/post.h"
#include "runtime/comm/schedule/stream.h"

namespace dist::message {

/// Memory for what is under way, used again by the next collective.
class Scratch {
public:
  char *allocate(int64_t bytes);
  void reuse() { used = 0; }

private:
  struct Block {
    std::unique_ptr<char[]> memory;
    int64_t bytes = 0;
  };
  std::vector<Block> blocks;
  size_t used = 0;
};

/// One rank's part of a collective. Positions are those in its group.
class Operation {
public:
  Operation(Post &post, const MeshGroups &groups, const Team &team,
            Scratch &scratch, const Description &description, Algorithm way,
            void *const *from, void *const *to);

  Status run();

private:
  // Kinds:
  Status copyBetweenAll();
  Status permute();
  Status broadcast(int root, const Stream &out, const Stream &in,
                   uint32_t firstStep);
  Status allReduce();
  Status sumAllAtOnce();
  Status gatherAndSum();
  Status sumInParts();
  Status sumInRing();
  Status sumAtOne();
  Status reduceScatter();
  Status reduceToHost();
  Status barrier();
  Status sendOnly();
  Status receiveOnly();

  // Streams of this rank's buffers:
  /// What goes to the rank at `place`, and what comes from it.
  Stream outTo(int place) const;
  Stream inFrom(int place) const;
  /// All pieces as they lie; bytes [lo, hi) of them are what `cut` says.
  Stream whole(void *const *buffers) const;
  void copyOwn();

  // Messages:
  void send(uint32_t step, int to, const Stream &stream, int64_t lo,
            int64_t hi);
  void sendAll(int to, const Stream &stream, uint32_t firstStep);
  /// Into the stream; where that is in blocks, once `finish` or `settle` has
  /// seen it come.
  Ticket *receive(uint32_t step, int from, const Stream &stream, int64_t lo,
                  int64_t hi);
  void receiveAll(int from, const Stream &stream, uint32_t firstStep);
  /// Slices [lo, hi) of others' sums, by position; null at this rank's own.
  struct Slots {
    std::vector<char *> memory;
    std::vector<Ticket *> tickets;
  };
  /// Memory for slices of up to `bytes` from `numFrom` positions.
  Slots takeSlots(int numFrom, int64_t bytes);
  void receiveAddends(uint32_t step, int64_t bytes, Slots &slots);
  /// Waits for them, then combines them with this rank's own in order.
  Status sum(const Slots &slots, const Stream &own, const Stream &result,
             int64_t lo, int64_t hi);
  /// Reduces each slice of `slices`, whose addends come with the slice's number
  /// as their step; then calls then(slice).
  template <typename Then>
  Status sumSlices(const Slices &slices, const Stream &own,
                   const Stream &result, int numFrom, Then then);
  Status waitFor(const Ticket *ticket);
  Status finish();

  struct Landing {
    Ticket *ticket;
    const Stream *stream;
    int64_t lo, hi;
    char *memory;
  };
  void land(const Landing &landing);

  int rankAt(int position) const { return rankOf[position]; }

  Post &post;
  const Team &team;
  Scratch &scratch;
  const Description &d;
  const Algorithm way; // of an all-reduce
  void *const *from;
  void *const *to;
  const int size, me;
  std::vector<int> rankOf; // by position
  CallOnWire call;
  std::deque<Ticket> tickets;
  std::deque<Stream> streams; // that landings are of
  std::vector<Landing> landings;
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_OPERATION_H
