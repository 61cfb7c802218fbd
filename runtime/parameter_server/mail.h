//===- mail.h - Letters between the processes of a cluster ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coordinator, workers and servers send each other letters: a few numbers and,
// with some kinds, bytes. What a letter's bytes are is the business of who
// reads it; this file brings them whole, or tells that a peer is lost.
//
// One thread uses it. Letters may overtake each other. Who is frozen, or cut
// off without a word, is seen by others' means: a watch tells of it.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_MAIL_H
#define RUNTIME_PARAMETER_SERVER_MAIL_H

#include "runtime/comm/message/message.h"
#include "runtime/core/types.h"
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace dist::ps {

enum class Kind : int64_t {
  // To a server, each with its answer.
  Pull = 1,     // for Parameters: numbers of rows, table by table
  Parameters,   // the server's part of the variables, then these rows
  Push,         // gradients of a closure, of these rows with their numbers
  Applied,      // an `AppliedBody`
  ReadState,    // for State
  State,        // all that the server holds
  WriteState,   // the same, for StateWritten
  StateWritten, //
  // Between the coordinator and a worker.
  Closure, // to be run; bytes: what it does, where that is no training step
  Report,  // a `ReportBody`, then the closure's metrics
  // To a server, with its answer: a worker has come back. An `AdmitBody`, and
  // where the worker is.
  Admit,
  Admitted,
  Ready, // to the coordinator: a worker that has come back can begin
  // To the coordinator: this process was told to stop.
  Stop,
  // From the coordinator: the run is over. An `EndBody`.
  End,
  Last = End
};

struct Letter {
  int from = 0;
  Kind kind = Kind::Pull;
  /// The asker's number of a question, which the answer repeats.
  uint64_t question = 0;
  /// The step that it is about.
  int64_t closure = 0;
  /// All closures below this one are done.
  int64_t settled = 0;
  Buffer bytes;
};

class Mail {
public:
  using Clock = Transport::Clock;

  /// `largest`: a peer that sends more bytes in a letter than any letter has is
  /// lost, as one that sends what is no letter.
  Mail(std::unique_ptr<Transport> transport, size_t largest);
  /// What was sent and not fetched is not sent any more: see `flush`.
  ~Mail();

  int rank() const { return transport->rank(); }
  int ranks() const { return transport->ranks(); }

  /// `from` of the letter is ignored. To a lost peer, it goes nowhere.
  void send(int to, Letter letter);
  /// The same with bytes that other letters have, too.
  void send(int to, const Letter &letter, std::shared_ptr<const Buffer> bytes);

  enum class Event { Nothing, Letter, Lost };
  /// The next thing that happened, by `until`. Of a loss the letter has `from`
  /// alone.
  Event wait(Clock::time_point until, Letter *letter);
  bool isLost(int rank) const { return peers[rank].isLost; }
  /// Why a rank is lost.
  const std::string &why(int rank) const { return peers[rank].why; }
  /// There is one more rank, see Transport::admit.
  Status admit(const std::string &address);
  /// From now on nothing of it is read: it does not keep to the rules.
  void drop(int rank, const std::string &why);
  /// Who else knows of lost ranks, with the reasons: asked every `kWatch` in
  /// `wait`; the same ones again do no harm, nor those that are no ranks yet.
  using Watch = std::function<std::vector<std::pair<int, std::string>>()>;
  void setWatch(Watch newWatch) { watch = std::move(newWatch); }
  static constexpr std::chrono::milliseconds kWatch{20};
  /// Until all that was sent has left or cannot, or the time is over.
  void flush(Clock::time_point until);
  Clock::time_point now() const { return transport->now(); }
  /// What this end has sent, without letters' numbers.
  Traffic traffic() const { return sent; }

private:
  struct Peer {
    bool isLost = false;
    std::string why;
  };
  struct Sending {
    int to = 0;
    Transport::Request request;
    std::shared_ptr<const Buffer> bytes;
  };
  struct Receiving {
    Transport::Request request;
    Letter letter;
  };
  class Hearer;

  /// Finishes what is over; what has come whole becomes an event.
  void collect();
  void look();
  void lose(int rank, const std::string &why);

  std::vector<Peer> peers;
  const size_t largest;
  std::list<Sending> outgoing;
  std::list<Receiving> incoming;
  std::deque<Letter> letters;
  std::deque<int> losses;
  Traffic sent;
  Watch watch;
  Clock::time_point nextLook;
  std::unique_ptr<Transport> transport;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_MAIL_H
