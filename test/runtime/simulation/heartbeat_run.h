//===- heartbeat_run.h - Processes that watch each other --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_HEARTBEAT_RUN_H
#define TEST_RUNTIME_SIMULATION_HEARTBEAT_RUN_H

#include "runtime/cluster/heartbeat/heartbeat.h"
#include "test/runtime/simulation/beats.h"
#include <optional>

namespace dist::simulation {

using namespace cluster;

inline constexpr double kPatience = 0.9;
inline constexpr seconds kWork{8};
inline constexpr std::chrono::minutes kLimit{10};
/// What is known of the processes is looked at so often.
inline constexpr milliseconds kSample{20};
/// Shorter silence is none, whatever else makes beats late.
inline constexpr milliseconds kShort{200};
/// Of who looks for beats: when looks are as late, silence may not count.
inline constexpr milliseconds kTolerable{80};

class HeartbeatRun {
public:
  HeartbeatRun(uint64_t seed, bool isTraced);
  ~HeartbeatRun() { simulator.crashAll(); }
  std::string run();

private:
  enum class Fault { None, Crash, Freeze, Cut };
  struct Process {
    std::unique_ptr<BeatMachine> machine;
    Heartbeat *beats = nullptr; // while it has them
    std::optional<Time> joined;
    Fault fault = Fault::None;
    std::optional<Time> faultBegin, faultEnd; // as is known
    std::optional<Time> failed;               // when it has heard of one
    std::optional<Time> lost;                 // to the chief
    std::optional<Time> ended;                // its words have left
    Status result;
  };

  void makeProcess(int number);
  void live(int self);
  void work(int self, Heartbeat &beats);
  void write(int self);
  bool hearsFromOthers(int self);
  void hearsOfFailure(int self, Heartbeat &beats);
  void checkWokenChief();
  void planFaults();
  void disturb(int victim);
  void pauseAll();
  void sample();
  void checkEnd();
  void checkNoticed(int victim, int self);
  /// When at the latest one notices what befell another.
  std::optional<Duration> bound(int victim, int self) const;
  bool isLookedAt(int number) const {
    return processes[number].machine->lateness <= kTolerable;
  }
  std::string nameOf(int number) const {
    return "worker " + std::to_string(number);
  }

  Simulator simulator;
  BeatNetwork network;
  std::vector<Process> processes;
  std::string endpoint;
  Time end;
  bool isBusy = false;      // the machine that they are on
  bool isTalkative = false; // who fails tells others of it
  bool isShort = true;      // each fault, so that nobody may be lost
  bool isCalm = true;       // so that nobody may be suspected
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_HEARTBEAT_RUN_H
