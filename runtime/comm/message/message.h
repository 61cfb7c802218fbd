//===- message.h - Communicator of ranks that send messages -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that share no memory: every collective is made of messages between two
// of them. Sums have the bits of the local communicator: an element's addends
// are combined in the order of ranks by the rank that has them all.
//
// Auto (schedule/choice.h): what is small goes from each to all, who each sum
// all of it: one message's time. Else each rank sums one part, which all send
// it, and sends the result to all: each byte leaves a rank twice, however many
// there are.
//
// A rank that only gives does not wait for those who take.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_MESSAGE_H
#define RUNTIME_COMM_MESSAGE_MESSAGE_H

#include "runtime/comm/common/options.h"
#include "runtime/comm/message/transport.h"
#include "runtime/comm/schedule/sent.h"
#include "runtime/core/world.h"
#include <cstdint>
#include <memory>

namespace dist {

struct MessageOptions : WorldOptions {
  /// Of the world's beginning; `reset` begins the next. Messages of an older
  /// one are dropped.
  uint32_t generation = 0;
  /// The program's steps that each generation has behind it: of a run that has
  /// done many. The same for all.
  uint64_t firstStep = 0;
};

/// The communicators of those ranks that are here.
class MessageWorld : public World {
public:
  /// `ends`: one for each rank of this process, all of them of as many ranks as
  /// the mesh has.
  static Status create(const MessageOptions &options,
                       std::vector<std::unique_ptr<Transport>> ends,
                       std::unique_ptr<MessageWorld> *out);
  /// Of a rank that is here; no thread of which is in a collective.
  virtual Traffic traffic(int rank) = 0;
};

} // namespace dist

#endif // RUNTIME_COMM_MESSAGE_MESSAGE_H
