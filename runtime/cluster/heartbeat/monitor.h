//===- monitor.h - What the chief knows of a cluster at work ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_MONITOR_H
#define RUNTIME_CLUSTER_HEARTBEAT_MONITOR_H

#include "runtime/cluster/heartbeat/stragglers.h"
#include <chrono>
#include <functional>
#include <string>

namespace dist::cluster {

/// How errors and the status call a process.
struct MemberName {
  std::string task;     // worker 1
  std::string address;  // HOST:PORT; empty: not known
  std::string hostName; // the machine's
  int64_t process = 0;
  /// "worker 1 at 10.0.0.2:2222 (process 17)"
  std::string text() const;
};

/// Names an op of a rank's program.
using OpName = std::function<std::string(int rank, int32_t op)>;

class Monitor {
public:
  using Clock = std::chrono::steady_clock;
  using State = proto::ClusterStatus::Member::State;

  explicit Monitor(std::vector<MemberName> members);

  /// There is one more.
  void add(MemberName name);
  /// Its beats are late while it `SILENT`, and end when it is lost or has left.
  void setState(int member, State state);
  State stateOf(int member) const { return members[member].state; }
  void heard(int member, const proto::Beat &beat, Clock::time_point now);

  /// "in step 17, at train_step: conv1.weight"; empty: it has told of nothing.
  std::string lastPlaceOf(int member, const OpName &nameOp) const;
  /// Lines about processes that have become slow, or are so no more, and those
  /// that were added.
  std::vector<std::string> takeNotes();
  void addNote(std::string line) { notes.push_back(std::move(line)); }
  proto::ClusterStatus status(Clock::time_point now) const;

private:
  struct Member {
    MemberName name;
    State state = proto::ClusterStatus::Member::STARTS;
    Clock::time_point lastBeat;
    proto::Beat place; // without its steps
  };
  std::vector<Member> members;
  Stragglers stragglers;
  /// Of the chief's own steps, which count all processes' examples.
  int64_t examples = 0;
  struct Work {
    int64_t examples = 0;
    double seconds = 0;
  };
  std::deque<Work> recent;
  std::vector<std::string> notes;
};

/// "compute", "input", "the network"
const char *textOf(SlowReason reason);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_MONITOR_H
