//===- workspace.h - What an operation keeps from run to run ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step takes no memory: all lists that an operation makes on its way belong
// to its plan, and have the room that a dry run wanted (Operation::measure).
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_WORKSPACE_H
#define RUNTIME_COMM_MESSAGE_WORKSPACE_H

#include "runtime/comm/message/post.h"
#include "runtime/comm/schedule/stream.h"
#include <deque>

namespace dist::message {

/// Objects in the order in which a run asks for them. Each run gets the same
/// ones, so that those that are lists have their room already.
template <typename T> class Pool {
public:
  T &take() {
    if (used == all.size())
      all.emplace_back();
    return all[used++];
  }
  void reuse() { used = 0; }
  size_t size() const { return used; }
  T &operator[](size_t i) { return all[i]; }

private:
  std::deque<T> all;
  size_t used = 0;
};

/// Slices [lo, hi) of others' addends, in the order of the sum; null at this
/// rank's own.
struct Slots {
  std::vector<char *> memory;
  std::vector<Ticket *> tickets;
};

/// What came to memory of the plan's, and goes where a stream lies.
struct Landing {
  Ticket *ticket;
  const Stream *stream;
  int64_t lo, hi;
  char *memory;
};

struct Workspace {
  CallOnWire call;
  Pool<Ticket> tickets;
  Pool<Stream> streams;
  Pool<Slices> slices;
  Pool<Slots> slots;
  std::vector<Landing> landings;
  std::vector<const void *> sources; // of one sum
  std::vector<int> rankOf;           // by position
  std::vector<int> positions;        // all of them: 0, 1, 2, ...
  /// In the plan's memory, of which `used` is given out in this run.
  char *memory = nullptr;
  int64_t used = 0;
  /// Of a send: what goes on without the call.
  std::shared_ptr<Kept> kept;

  /// For a run with so much memory.
  void begin(char *of) {
    memory = of;
    used = 0;
    tickets.reuse();
    streams.reuse();
    slices.reuse();
    slots.reuse();
    landings.clear();
  }
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_WORKSPACE_H
