//===- post.h - A rank's messages, by what they are for ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings together what a rank waits for and what arrives, compares the calls of
// both ends, and keeps deadlines, failures and the end of a generation. One
// thread of the rank is inside at a time; while none is, an attendant looks in
// now and then: peers ask how far the rank is, and sends go on.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_POST_H
#define RUNTIME_COMM_MESSAGE_POST_H

#include "runtime/comm/common/description.h"
#include "runtime/comm/common/waits.h"
#include "runtime/comm/message/message.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>

namespace dist::message {

/// Which message, of those between two ranks.
struct Key {
  bool isSend = false;
  int64_t channel = 0; // a group's number, or a tag
  uint64_t sequence = 0;
  uint32_t step = 0;
  bool operator==(const Key &other) const {
    return isSend == other.isSend && channel == other.channel &&
           sequence == other.sequence && step == other.step;
  }
};

/// A call under way, as its messages say it.
struct CallOnWire {
  Call call{};
  Key key; // of its messages, but for the step
  uint64_t history = 0;
  bool background = false;
  uint64_t arrivalsBefore = 0;
  /// The host, which waits while devices compute: its time begins to count when
  /// the first of them comes.
  bool patient = false;
  int spinMicroseconds = 0;
};

/// A message to come or to go, and whether it is over.
struct Ticket {
  Transport::Request request;
  int peer = 0;
  bool isDone() const { return request.state == Transport::Request::Done; }
};

class Post : Transport::Receiver {
public:
  Post(const MessageOptions &options, const MeshGroups &groups,
       std::unique_ptr<Transport> transport, Progress &progress);
  ~Post() override;

  int rank() const { return transport->rank(); }

  /// A thread of the rank, inside. Fails where the generation has ended.
  class Inside {
  public:
    explicit Inside(Post &post);
    ~Inside();
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;

  private:
    Post &post;
  };

  // Inside:

  /// Calls of plans are of the next step from here on.
  void beginStep();
  /// Begins a call; the error of a generation that has ended.
  Status begin(const Description &description, CallOnWire *call);
  /// Behind a call that went well.
  void end(const Description &description);
  void send(const CallOnWire &call, uint32_t step, int to, const void *data,
            int64_t bytes, Ticket *ticket);
  void receive(const CallOnWire &call, uint32_t step, int from, void *to,
               int64_t bytes, Ticket *ticket);
  /// Until `ready()`, a failure, or the deadline.
  template <typename Ready> Status wait(const CallOnWire &call, Ready ready) {
    Waiting waiting(*this, call);
    while (true) {
      bool moved = poll();
      if (!lostRanks.empty())
        failOnLostRank(call);
      DIST_RETURN_IF_ERROR(statusOf(call.call));
      if (ready())
        return Status();
      if (!moved)
        DIST_RETURN_IF_ERROR(waiting.pass());
    }
  }
  /// Nothing touches what tickets are of any more, after a failure.
  void giveUp();

  /// Messages that have memory of their own, and go on without their call.
  void sendKept(const CallOnWire &call, int to, std::vector<char> bytes);
  /// Memory of messages that have gone, for those to come.
  std::vector<char> takeSpare();

  // Any thread:

  uint32_t currentGeneration() const { return generation; }
  void abort(uint32_t generation, const std::string &reason);
  /// The next generation; no thread is inside.
  void reset();
  Traffic traffic();

private:
  struct Expected {
    Key key;
    Call call;
    uint64_t history = 0;
    void *to = nullptr;
    int64_t bytes = 0;
    Ticket *ticket = nullptr;
  };
  struct Peer {
    std::vector<Expected> expected;
    std::vector<Transport::Arrival> arrived;
    std::string lost; // why; empty: it is not
    /// What it last said of itself.
    LifeSign sign;
    std::vector<Wait> waits;
  };
  /// Where this rank is among the calls that it has with others: which are of
  /// which step, and which one there.
  struct Course {
    uint64_t sequence = 0; // of the last one
    uint32_t step = 0;
    uint32_t unnumbered = 0; // of the step
  };
  /// A group's, of this rank.
  struct Group {
    Course course;
    uint64_t history = 0;
    Call last{};
    bool underWay = false;
  };
  struct Kept {
    std::vector<char> bytes;
    std::deque<Ticket> tickets;
  };
  /// Of a message of the post's own that has arrived.
  struct Control {
    Transport::Arrival arrival;
    std::vector<char> bytes;
    Transport::Request request;
  };
  /// A wait, from its first moment to its end.
  class Waiting {
  public:
    Waiting(Post &post, const CallOnWire &call);
    ~Waiting();
    /// Nothing moved: spins, sleeps, looks at the others.
    Status pass();
    /// As the others hear of it.
    Wait report() const;

  private:
    Status look(Transport::Clock::time_point now);

    Post &post;
    const CallOnWire &call;
    bool warned = false;
    int spins = 0, looks = 0;
    Transport::Clock::duration slice, timeout, left;
    Transport::Clock::time_point awake, last, next;
    LifeWatch watch;
  };

  /// Goes on to the call: its sequence.
  Status advance(const Description &description, Course *course,
                 uint64_t *sequence);
  bool poll();
  void arrived(const Transport::Arrival &arrival) override;
  void lost(int rank, const std::string &why) override;
  /// An arrival meets who expects it.
  void meet(const Expected &expected, const Transport::Arrival &arrival);
  /// An arrival that no call expects: of a group that is elsewhere?
  void keep(const Transport::Arrival &arrival);
  void readControl(const Control &control);
  std::string toldBy(int from, std::string why) const;
  void answer(int to);
  void sendControl(MessageType type, int to, const void *data, int64_t bytes);
  MessageHeader makeHeader(const CallOnWire &call, uint32_t step) const;

  /// Ends the generation for all.
  void fail(StatusCode code, int rank, CollectiveKind kind, int32_t op,
            const std::string &why, const std::string &todo);
  void failOnMismatch(const Call &call, const Transport::Arrival &arrival);
  void failOnLostRank(const CallOnWire &call);
  Status statusOf(const Call &call);
  void setAborted(uint32_t of, const std::string &why);
  void tellAborted();
  void releaseKept();
  /// What no call has taken.
  void dropArrivals();
  /// Who the call under way waits for: for their messages, or, if for none,
  /// for those who take its own.
  std::vector<int> missing() const;
  void attend();

  const MessageOptions &options;
  const MeshGroups &groups;
  std::unique_ptr<Transport> transport;
  Progress &progress;
  std::vector<Peer> peers; // by rank
  std::vector<Group> mine; // as MeshGroups::groupsOf
  /// By receiver and tag, by sender and tag.
  std::map<std::pair<int, int64_t>, Course> sends, recvs;
  std::atomic<uint32_t> step{0}; // of the generation
  std::list<Kept> kept;
  std::list<Control> controls;
  std::vector<std::vector<char>> spare;
  /// Of the call under way: what has met its message, and what goes.
  std::vector<const Ticket *> fetching, sending;
  uint64_t arrivals = 0;
  std::vector<int> lostRanks;
  /// The wait of the thread inside, once the others should know.
  const Waiting *waiting = nullptr;
  Status failure;                        // of this rank's own finding
  std::atomic<uint32_t> generation{0};   // changes under both mutexes
  std::vector<Transport::Arrival> early; // of later generations
  Traffic sent;

  std::mutex inside;
  std::atomic<bool> wanted{false}; // by a rank's thread, of the attendant
  std::atomic<bool> aborted{false}, told{false};
  std::mutex reasonMutex;
  std::string reason;

  std::mutex attendantMutex;
  std::condition_variable attendantWakes;
  std::atomic<bool> closing{false};
  std::thread attendant;
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_POST_H
