//===- beats.h - A process's machine, as heartbeats see it ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Connections as TCP has them: bytes come in their order, in pieces, late by
// chance; while two machines are cut off they stay on their way, and come when
// that is over. What a frozen process does not read waits for it, up to a
// limit. Who crashes is seen by its connections' ends, unless it is cut off.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_BEATS_H
#define TEST_RUNTIME_SIMULATION_BEATS_H

#include "runtime/cluster/heartbeat/surroundings.h"
#include "test/runtime/simulation/simulator.h"
#include <deque>
#include <set>

namespace dist::simulation {

/// Connections between the simulator's processes.
class BeatNetwork {
public:
  explicit BeatNetwork(Simulator &simulator);
  ~BeatNetwork();

  /// Between two processes nothing passes until `join`.
  void cut(int one, int other) { cuts.insert(std::minmax(one, other)); }
  void join(int one, int other);
  /// Its system closes what it had open.
  void crash(int process);

  Duration latest = milliseconds(2);

private:
  friend class BeatMachine;
  /// One direction of a connection.
  struct Pipe {
    int from = 0, to = 0;
    std::string underWay, arrived;
    bool isClosed = false, isAtEnd = false; // by the sender; as was heard
    bool isAbandoned = false;               // by the receiver
    Time last;                              // arrival of the newest bytes
  };
  struct Waiting {
    int thread = 0;
    bool isOver = false;
  };
  class End;
  class Gate;
  class Patience;

  void carry(const std::shared_ptr<Pipe> &pipe);
  void arrive(const std::shared_ptr<Pipe> &pipe);
  void close(const std::shared_ptr<Pipe> &pipe);
  bool isCut(const Pipe &pipe) const {
    return cuts.count(std::minmax(pipe.from, pipe.to)) > 0;
  }
  void wakeAll(int process);

  Simulator &simulator;
  std::set<std::pair<int, int>> cuts;
  std::vector<std::weak_ptr<Pipe>> pipes;
  std::map<int, Gate *> gates; // by port
  std::set<Waiting *> waiting;
  size_t room = 0; // bytes that one may leave unread
  int ports = 2000;
};

/// What one process has of the simulated world.
class BeatMachine final : public cluster::BeatSurroundings {
public:
  /// `host`: where processes see each other by their numbers.
  BeatMachine(Simulator &simulator, BeatNetwork &network, int number, int host)
      : simulator(simulator), network(network), number(number), host(host) {}

  /// How fast its clock goes.
  double rate = 1;
  /// A thread of it waits up to so long for a CPU each time that it wakes.
  Duration lateness{};
  /// Its thread of the beats; below 0: not yet.
  int beating = -1;
  /// The others of the cluster, by number.
  std::function<BeatMachine *(int64_t process)> find;

  Clock::time_point now() override;
  void sleep(std::chrono::milliseconds time) override;
  std::unique_ptr<Thread> start(std::function<void()> body) override;
  bool wait(std::unique_lock<std::mutex> &lock, std::condition_variable &,
            Clock::time_point until) override;
  std::unique_ptr<cluster::Waiter> makeWaiter() override;
  Status listen(const std::string &literal, cluster::PortRange ports,
                std::unique_ptr<cluster::Door> *out, int *port) override;
  Status connect(const cluster::Address &address, int milliseconds,
                 std::unique_ptr<cluster::Link> *out) override;
  int64_t process() override { return number; }
  int64_t thread() override { return simulator.running(); }
  std::string space() override { return "machine " + std::to_string(host); }
  cluster::ThreadState stateOf(int64_t process, int64_t thread) override;

private:
  friend class BeatNetwork;
  class Running;
  /// In the simulator's time.
  Time timeOf(Clock::time_point own) const;
  void waitForCpu();

  Simulator &simulator;
  BeatNetwork &network;
  const int number, host;
  const Time begin = Time() + seconds(1000);
  std::set<int> runnable; // threads that would run if they had a CPU
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_BEATS_H
