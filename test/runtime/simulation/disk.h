//===- disk.h - A simulated disk --------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_DISK_H
#define TEST_RUNTIME_SIMULATION_DISK_H

#include "runtime/cluster/etcd/journal.h"
#include "test/runtime/simulation/simulator.h"

namespace dist::simulation {

/// Holds one file. What was written and not synced outlasts a crash of the
/// machine in parts, by chance: each sector by itself.
class Disk {
public:
  explicit Disk(Simulator &simulator) : simulator(simulator) {}

  std::unique_ptr<cluster::JournalFile> open();
  /// Power is lost in the midst of the operation after so many more: it and
  /// those behind it fail.
  void crashIn(int operations) { crashesIn = operations; }
  bool isOff() const { return isDead; }
  /// Power is lost now, or was; then it is back.
  void lose();
  /// The next write finds no room for all of it.
  void fill() { isFull = true; }

private:
  class File;
  /// Whether an operation is to be done.
  bool begins();

  Simulator &simulator;
  std::string durable, cached;
  int crashesIn = -1; // below 0: never
  bool isDead = false, isFull = false;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_DISK_H
