//===- surroundings.h - What heartbeats need of their machine ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clock, thread, connections: all by which heartbeats touch the world, so that
// a simulation can be that.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_SURROUNDINGS_H
#define RUNTIME_CLUSTER_HEARTBEAT_SURROUNDINGS_H

#include "runtime/cluster/cluster_spec.h"
#include "runtime/cluster/heartbeat/detector.h"
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace dist::cluster {

/// One end of a connection. Nothing here waits.
class Link {
public:
  virtual ~Link() = default;
  /// How many of the bytes it takes; 0: none now; below 0: it has ended.
  virtual int64_t send(const char *bytes, size_t count) = 0;
  /// How many have come; 0: none now; below 0: it has ended.
  virtual int64_t receive(char *bytes, size_t count) = 0;
  /// For the system to wait for; below 0: it is none of the system's.
  virtual int descriptor() const { return -1; }
};

/// Where others connect to.
class Door {
public:
  virtual ~Door() = default;
  /// One that has come; null: none has.
  virtual std::unique_ptr<Link> accept() = 0;
  virtual int descriptor() const { return -1; }
};

/// Waits for many links at once.
class Waiter {
public:
  struct Awaited {
    const Link *link = nullptr;
    bool sends = false; // whether it has bytes that it did not take yet
  };
  virtual ~Waiter() = default;
  /// Until one of them moves, someone is at the door (null: there is none), or
  /// the time. False: `end` was called.
  virtual bool wait(const std::vector<Awaited> &links, const Door *door,
                    Detector::TimePoint until) = 0;
  /// From another thread.
  virtual void end() = 0;
};

class BeatSurroundings {
public:
  using Clock = Detector::Clock;
  /// Of a thread; its end waits for that.
  class Thread {
  public:
    virtual ~Thread() = default;
  };

  virtual ~BeatSurroundings() = default;
  virtual Clock::time_point now() = 0;
  virtual void sleep(std::chrono::milliseconds time) = 0;
  virtual std::unique_ptr<Thread> start(std::function<void()> body) = 0;
  /// Until the condition is told of, or the time. False: what this process
  /// waits for never comes, as it is over itself.
  virtual bool wait(std::unique_lock<std::mutex> &lock,
                    std::condition_variable &condition,
                    Clock::time_point until) = 0;
  virtual std::unique_ptr<Waiter> makeWaiter() = 0;

  /// As sockets do (cluster/socket.h).
  virtual Status listen(const std::string &literal, PortRange ports,
                        std::unique_ptr<Door> *out, int *port) = 0;
  virtual Status connect(const Address &address, int milliseconds,
                         std::unique_ptr<Link> *out) = 0;

  /// The system's numbers of this process, and of the thread that asks.
  virtual int64_t process() = 0;
  virtual int64_t thread() = 0;
  /// The same where processes see each other by these (process_space.h).
  virtual std::string space() = 0;
  /// Of a process in the same space.
  virtual ThreadState stateOf(int64_t process, int64_t thread) = 0;
};

BeatSurroundings &systemBeatSurroundings();

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_SURROUNDINGS_H
