//===- transport.h - What carries messages between ranks --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a communicator of messages needs of a network: one end a rank, which
// sends, says what arrived, sleeps and can be woken. Messages between two ranks
// may overtake each other; none is lost or comes twice.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_TRANSPORT_H
#define RUNTIME_COMM_MESSAGE_TRANSPORT_H

#include "runtime/core/status.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dist {

enum class MessageType : uint8_t {
  Data,
  Abort,    // the reason follows
  Question, // how far are you?
  Answer    // what `Post` makes of it follows
};

/// Which of the calls with the same ranks, or of the sends with the same tag:
/// by step of the program, and number there. A run may be of more than 2^32
/// steps, and a step of as many calls where none ends it.
struct Turn {
  uint64_t step = 0;
  uint64_t number = 0;
  bool operator==(const Turn &other) const {
    return step == other.step && number == other.number;
  }
  bool operator<(const Turn &other) const {
    return step != other.step ? step < other.step : number < other.number;
  }
};

/// Travels before the bytes of a message. All ranks run on machines of one
/// byte order.
struct MessageHeader {
  uint32_t generation;
  MessageType type;
  uint8_t isSend : 1; // of a send, not of a group's collective
  /// The sender's call, for the receiver to compare with its own: here, and
  /// from `op` on.
  uint8_t betweenPrograms : 1;
  uint8_t kind;
  uint8_t algorithm;
  /// The group's number, or the send's tag; which of its collectives or sends;
  /// which message of that one.
  int64_t channel;
  Turn turn;
  uint32_t message;
  int32_t op;
  int64_t count;
  uint64_t digest;
  /// Of all the group's calls before.
  uint64_t history;
};
static_assert(sizeof(MessageHeader) == 64, "small messages are mostly header");

class Transport {
public:
  using Clock = std::chrono::steady_clock;

  /// Something under way. It stays where it is until it is over.
  struct Request {
    enum State { Idle, Pending, Done, Failed };
    State state = Idle;
    void *handle = nullptr; // the transport's
  };

  /// A message whose header is here; its bytes may be with the sender still.
  struct Arrival {
    int from = 0;
    MessageHeader header{};
    size_t bytes = 0;
    void *handle = nullptr; // the transport's
  };

  /// Hears what `progress` finds.
  class Receiver {
  public:
    virtual ~Receiver() = default;
    /// Fetches or drops it, now or later.
    virtual void arrived(const Arrival &arrival) = 0;
    /// Nothing will come from that rank any more; once a rank.
    virtual void lost(int rank, const std::string &why) = 0;
  };

  /// Closes: what the others wait for of this end is lost to them.
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // One thread at a time:

  /// There is one more rank, behind the last, which its process has this
  /// address of. It connects to this one: until then nothing reaches it.
  virtual Status admit(const std::string &address) = 0;
  /// The header is copied; `data` stays until the request is over. Failed: the
  /// rank is lost.
  virtual void send(int to, const MessageHeader &header, const void *data,
                    size_t bytes, Request *request) = 0;
  /// Brings an arrival's bytes, all of them, and is done with it.
  virtual void fetch(const Arrival &arrival, void *to, Request *request) = 0;
  virtual void drop(const Arrival &arrival) = 0;
  /// Moves what can be moved; whether anything did.
  virtual bool progress(Receiver &receiver) = 0;
  /// Returns when something may have arrived, when `wake` was called since the
  /// last return, or at the time.
  virtual void sleepUntil(Clock::time_point time) = 0;
  /// Every request is over when it returns, and no memory of theirs is touched
  /// any more. The peers of those that were not over may be lost to each other.
  virtual void cancelAll() = 0;

  // Any thread:

  virtual void wake() = 0;
  /// By which deadlines are counted.
  virtual Clock::time_point now() const { return Clock::now(); }
};

} // namespace dist

#endif // RUNTIME_COMM_MESSAGE_TRANSPORT_H
