//===- post.h - A rank's messages, by what they are for ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings together what a rank waits for and what arrives, compares the calls of
// both ends, and keeps deadlines, failures and the end of a generation.
//
// Calls of several groups may be under way, each on a thread of the rank's. One
// of these has the post at a time, and leaves it to the others while it waits.
// Of those that wait one looks at the network, for all; the others sleep until
// it finds something of theirs, or its own wait is over. While none is there,
// an attendant looks in now and then: peers ask how far the rank is, and sends
// go on.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_POST_H
#define RUNTIME_COMM_MESSAGE_POST_H

#include "runtime/comm/common/description.h"
#include "runtime/comm/common/waits.h"
#include "runtime/comm/message/message.h"
#include "runtime/comm/schedule/stream.h"
#include "runtime/core/wait.h"
#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <thread>

namespace dist::message {

/// Which message, of those between two ranks.
struct Key {
  bool isSend = false;
  int64_t channel = 0; // a group's number, or a tag
  Turn turn;
  uint32_t message = 0;
  bool operator==(const Key &other) const {
    return isSend == other.isSend && channel == other.channel &&
           turn == other.turn && message == other.message;
  }
};

/// A message to come or to go, and whether it is over.
struct Ticket {
  Transport::Request request;
  int peer = 0;
  bool isDone() const { return request.state == Transport::Request::Done; }
};

/// A call under way, as its messages say it.
struct CallOnWire {
  Call call{};
  Key key; // of its messages, but for which one
  uint64_t history = 0;
  bool background = false;
  /// What has met its message, and what goes.
  std::vector<const Ticket *> fetching, sending;
  /// The host, which waits while devices compute: its time begins to count when
  /// the first of them comes.
  bool patient = false;
  int spinMicroseconds = 0;
};

/// A send that has memory of its own, and goes on without its call. Its plan's;
/// and the post's as long as it is under way.
struct Kept {
  Kept(int64_t bytes, int64_t messages)
      : memory(std::make_shared<PlanMemory>()), tickets(messages) {
    memory->reserve(bytes);
  }
  bool isOver() const;

  const std::shared_ptr<PlanMemory> memory;
  std::vector<Ticket> tickets;
};

class Post : Transport::Receiver {
public:
  Post(const MessageOptions &options, const MeshGroups &groups,
       std::unique_ptr<Transport> transport, Progress &progress);
  ~Post() override;

  int rank() const { return transport->rank(); }

  /// A thread of the rank that has the post.
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
  void send(CallOnWire &call, uint32_t message, int to, const void *data,
            int64_t bytes, Ticket *ticket);
  void receive(CallOnWire &call, uint32_t message, int from, void *to,
               int64_t bytes, Ticket *ticket);
  /// Until `ready()`, which any thread asks that has the post; a failure, or
  /// the deadline.
  template <typename Ready> Status wait(const CallOnWire &call, Ready ready) {
    Waiting waiting(
        *this, call, [](void *of) { return (*static_cast<Ready *>(of))(); },
        &ready);
    while (true) {
      bool moved = waiting.polls() && poll();
      DIST_RETURN_IF_ERROR(statusOf(call.call));
      if (ready())
        return Status();
      if (!waiting.polls())
        waiting.sleep();
      else if (entering.load() > 0)
        letIn();
      else if (!moved)
        waiting.pass();
    }
  }
  /// Nothing touches what the call's tickets are of any more, after a failure:
  /// nor what is of others, which fail, too.
  void giveUp(CallOnWire *call);

  /// Until it can be sent again: what it sent last has left.
  Status waitForKept(CallOnWire &call, const Kept &kept);
  void sendKept(const CallOnWire &call, int to, const Slices &slices,
                const std::shared_ptr<Kept> &kept);

  // Any thread:

  uint32_t currentGeneration() const { return generation; }
  void abort(uint32_t generation, const std::string &reason);
  /// The next generation; no thread is inside.
  void reset();
  Traffic traffic();

private:
  struct Expected {
    Key key;
    CallOnWire *call = nullptr;
    void *to = nullptr;
    int64_t bytes = 0;
    Ticket *ticket = nullptr;
  };
  struct Peer {
    std::vector<Expected> expected;
    bool isExpectedBy(const CallOnWire &call) const {
      for (const Expected &one : expected)
        if (one.call == &call)
          return true;
      return false;
    }
    std::vector<Transport::Arrival> arrived;
    std::string lost; // why; empty: it is not
    /// What it last said of itself.
    LifeSign sign;
    std::vector<Wait> waits;
  };
  /// Where this rank is among the calls that it has with others.
  struct Course {
    Turn last;
    uint64_t unnumbered = 0; // of the step of the last one
  };
  /// A group's, of this rank.
  struct Group {
    Course course;
    uint64_t history = 0;
    Call last{};
    bool underWay = false;
  };
  /// A message of the post's own, to a rank.
  struct Note {
    std::vector<char> bytes;
    Transport::Request request;
  };
  /// And one that has arrived.
  struct Control {
    Transport::Arrival arrival;
    std::vector<char> bytes;
    Transport::Request request;
  };
  /// A wait, from its first moment to its end; on its thread's stack.
  class Waiting {
  public:
    using Test = bool (*)(void *);
    Waiting(Post &post, const CallOnWire &call, Test test, void *of);
    ~Waiting();
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

    /// Whether it looks at the network, for all.
    bool polls() const { return post.poller == this; }
    /// It does, and nothing moved: spins, sleeps, looks at the others.
    void pass();
    /// It does not: sleeps until it is woken, and leaves the post to others.
    void sleep();
    /// By who has the post. It comes before that one goes on.
    void wake();
    bool isAsleep() const { return asleep; }
    bool isReady() const { return test(of); }
    const CallOnWire &ofCall() const { return call; }
    /// Whether the others are to know of it, and as they do.
    bool isKnown() const { return looks > 0; }
    Wait report() const;

  private:
    void begin(Transport::Clock::time_point now);
    void look(Transport::Clock::time_point now);

    Post &post;
    const CallOnWire &call;
    const Test test;
    void *const of;
    bool asleep = false;
    std::condition_variable woken;
    bool warned = false;
    int spins = 0, looks = 0;
    Transport::Clock::duration slice, timeout, left;
    Transport::Clock::time_point awake, last;
    Transport::Clock::time_point next = Transport::Clock::time_point::max();
    LifeWatch watch;
  };

  void enter();
  /// Somebody looks at the network for those that wait.
  void leave();
  /// Leaves the post to those that want in, until they wait or are gone.
  void letIn();
  /// One that was counted in `entering` has the post.
  void cameIn();
  /// Wakes those that wait no more.
  void wakeReady();

  /// Goes on to the call: its turn.
  Status advance(const Description &description, Course *course, Turn *turn);
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
  MessageHeader makeHeader(const CallOnWire &call, uint32_t message) const;

  /// Ends the generation for all.
  void fail(StatusCode code, int rank, CollectiveKind kind, int32_t op,
            const std::string &why, const std::string &todo);
  void failOnMismatch(const Call &call, const Transport::Arrival &arrival);
  void failOnLostRank(const CallOnWire &call);
  Status statusOf(const Call &call);
  void setAborted(uint32_t of, const std::string &why);
  void tellAborted();
  void releaseKept();
  /// Whether what goes on without a call is under way.
  bool goesOn() const { return !kept.empty() || !notes.empty(); }
  /// What no call has taken.
  void dropArrivals();
  /// Who the call waits for: for their messages, or, if for none,
  /// for those who take its own.
  std::vector<int> missing(const CallOnWire &call) const;
  void attend();

  const MessageOptions &options;
  const MeshGroups &groups;
  std::unique_ptr<Transport> transport;
  Progress &progress;
  std::vector<Peer> peers; // by rank
  std::vector<Group> mine; // as MeshGroups::groupsOf
  /// By receiver and tag, by sender and tag.
  std::map<std::pair<int, int64_t>, Course> sends, recvs;
  std::atomic<uint64_t> step; // of the generation
  std::vector<std::shared_ptr<Kept>> kept;
  std::list<Note> notes;
  std::list<Control> controls;
  std::vector<int> lostRanks;
  /// All waits, and the one that looks at the network for them.
  std::vector<Waiting *> waits;
  Waiting *poller = nullptr;
  Status failure;                        // of this rank's own finding
  std::atomic<uint32_t> generation{0};   // changes under both mutexes
  std::vector<Transport::Arrival> early; // of later generations
  Traffic sent;

  std::mutex inside;
  /// Threads that have to have it next.
  std::atomic<int> entering{0};
  WaitPoint entered;
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
