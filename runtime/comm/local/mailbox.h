//===- mailbox.h - From one rank to another ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A send leaves a copy in the receiver's mailbox and goes on, so that two ranks
// that send to each other before they receive do not wait for ever. The copy is
// of its plan, which can send again when it was taken.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_MAILBOX_H
#define RUNTIME_COMM_LOCAL_MAILBOX_H

#include "runtime/comm/local/group.h"
#include <map>

namespace dist::local {

/// Of a plan that sends; and the mailbox's, while it is there.
struct Letter {
  explicit Letter(int64_t bytes)
      : memory(std::make_shared<PlanMemory>()), bytes(bytes) {
    memory->reserve(bytes);
  }
  Call call{};
  const std::shared_ptr<PlanMemory> memory;
  const int64_t bytes;
  /// From the send on until it was taken.
  std::atomic<bool> underWay{false};
  std::shared_ptr<Letter> next; // of its sender and tag
};

/// The letter of a plan that sends so.
std::shared_ptr<Letter> makeLetter(const Collective &what);

struct Mailbox {
  struct Queue {
    std::shared_ptr<Letter> first;
    Letter *last = nullptr;
  };
  std::mutex mutex;
  /// By sender and tag, in the order of sending.
  std::map<std::pair<int, int64_t>, Queue> queues;
  std::atomic<uint64_t> delivered{0};
  WaitPoint wait; // for letters to come, and to be taken

  /// Who sends so, or receives, finds its queue there.
  void open(int sender, int64_t tag);
  void clear();
};

/// Copies the pieces into the mailbox of `receiver`; waits while what the plan
/// sent before is there still.
Status send(Shared &shared, int sender, int receiver, const Call &call,
            const Collective &what, void *const *from,
            const std::shared_ptr<Letter> &letter);

/// Waits for the next message from `sender`, and copies it to the pieces.
Status receive(Shared &shared, int receiver, int sender, const Call &call,
               const Collective &what, void *const *to);

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_MAILBOX_H
