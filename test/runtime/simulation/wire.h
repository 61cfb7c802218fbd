//===- wire.h - Messages between simulated processes ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What UCX does over TCP: messages of a connection come in their order, late by
// chance; those of different connections overtake each other. Long ones are
// with their sender until they are fetched. A connection that ends may take
// with it what is under way, and each end hears of that in its own time.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_WIRE_H
#define TEST_RUNTIME_SIMULATION_WIRE_H

#include "runtime/comm/message/transport.h"
#include "test/runtime/simulation/simulator.h"
#include <deque>

namespace dist::simulation {

class Wire {
public:
  /// Between so many ranks at most.
  Wire(Simulator &simulator, int ranks);
  ~Wire();

  /// Of a process by the simulator's number. It knows so many ranks, and those
  /// that it admits; an address is of no matter.
  std::unique_ptr<Transport> makeEnd(int rank, int known, int process);
  /// Ranks that this end knows, or 0: it is closed.
  int knownTo(int rank) const;
  /// Two ranks do not reach each other any more, which both find out.
  void cut(int one, int other);
  bool isCut(int one, int other) const { return links[one][other].isCut; }
  /// A crash: what others wait for of it is lost to them.
  void close(int rank, bool isCrash);

private:
  class End;
  struct Message {
    int from = 0, to = 0;
    MessageHeader header{};
    std::vector<char> bytes;
    bool isLong = false, isCancelled = false;
    Transport::Request *sending = nullptr; // null: over
  };
  struct Link {
    Time last; // arrival of the newest message
    bool isCut = false, isClosed = false;
  };

  Duration delay();
  void tellLoss(int to, int from, const std::string &why);

  Simulator &simulator;
  std::vector<int> processes;           // by rank; -1: none yet
  std::vector<End *> ends;              // null: closed
  std::vector<std::vector<Link>> links; // by sender, by receiver
  /// Of this run: part of the messages that are late, and by how much.
  double latePart = 0;
  Duration latest{};
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_WIRE_H
