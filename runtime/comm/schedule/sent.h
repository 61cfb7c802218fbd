//===- sent.h - How much a collective makes each rank send ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the communicator of messages counts when it has sent them, known before:
// by the same choices and the same cuts (see message/operation.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_SENT_H
#define RUNTIME_COMM_SCHEDULE_SENT_H

#include "runtime/core/communicator.h"
#include <functional>
#include <vector>

namespace dist {

/// What a rank has sent, without headers.
struct Traffic {
  int64_t messages = 0, bytes = 0;
};

inline Traffic &operator+=(Traffic &to, const Traffic &more) {
  to.messages += more.messages;
  to.bytes += more.bytes;
  return to;
}

namespace message {

/// What a position sends another one. What it sends in a round leaves in this
/// order, and when all has come that goes to it in the rounds before.
struct Sending {
  int64_t round = 0; // from 0 on
  int from = 0, to = 0;
  Traffic traffic;
};

/// Told of all of them, round by round.
using SentFunction = std::function<void(const Sending &)>;

/// In a group of `size`; with the mesh's host, which is the last. Of a send
/// each position has what it sends if it is the one that does.
void visitSent(const Collective &what, int size, const SentFunction &sent);

/// The same of each position together.
std::vector<Traffic> countSent(const Collective &what, int size);

} // namespace message
} // namespace dist

#endif // RUNTIME_COMM_SCHEDULE_SENT_H
