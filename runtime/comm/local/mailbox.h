//===- mailbox.h - From one rank to another ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A send leaves a copy in the receiver's mailbox and goes on, so that two ranks
// that send to each other before they receive do not wait for ever.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_MAILBOX_H
#define RUNTIME_COMM_LOCAL_MAILBOX_H

#include "runtime/comm/local/group.h"
#include <deque>
#include <map>

namespace dist::local {

struct Message {
  Call call;
  std::vector<char> bytes;
};

struct Mailbox {
  std::mutex mutex;
  /// By sender and tag, in the order of sending.
  std::map<std::pair<int, int64_t>, std::deque<Message>> messages;
  /// Memory of messages that were received, for those to come.
  std::vector<std::vector<char>> spare;
  std::atomic<uint64_t> delivered{0};
  WaitPoint wait;

  void put(int sender, int64_t tag, const Call &call, const Collective &what,
           void *const *from);
  void clear();
};

/// Waits for the next message from `sender`, and copies it to the pieces.
Status receive(Shared &shared, Mailbox &mailbox, int receiver, int sender,
               const Call &call, const Collective &what, void *const *to);

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_MAILBOX_H
