//===- stragglers.h - Which process the others wait for ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In step all processes take as long for a step, whoever is slow. What differs
// is how much of it each spends in collectives: a process's own time is the
// rest, its input and what it computes, and the one with the most of it is who
// the others wait for.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_STRAGGLERS_H
#define RUNTIME_CLUSTER_HEARTBEAT_STRAGGLERS_H

#include "runtime/cluster/heartbeat/heartbeat.pb.h"
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace dist::cluster {

using SlowReason = proto::ClusterStatus::Reason;

class Stragglers {
public:
  explicit Stragglers(int members) : members(members) {}
  /// There is one more.
  void grow() { members.emplace_back(); }

  /// A process's times of a step; each process's come in the order of steps.
  void add(int member, const proto::StepTimes &times);
  /// It tells no more of itself.
  void remove(int member);

  /// Means over the last steps that all have told of.
  struct Means {
    double input = 0, compute = 0, wait = 0;
    double own() const { return input + compute; }
  };
  Means meansOf(int member) const;

  /// Who the others waited for most in these steps, and for what. None: less
  /// than two processes have told of themselves.
  struct Slowest {
    int member = 0;
    SlowReason reason = proto::ClusterStatus::NONE;
    double own = 0, others = 0; // seconds; the others' median
    bool isFar = false;         // from the others
    double factor() const { return others > 0 ? own / others : 0; }
  };
  std::optional<Slowest> slowest() const;

  /// Who has become so slow that the user should know, or is so no more; of
  /// most of the last steps, since anyone's single step may be late.
  struct Change {
    Slowest who;
    bool isSlow = false;
    int64_t step = 0; // the newest of them
  };
  std::vector<Change> takeChanges();

private:
  struct Member {
    bool isHere = true;
    std::deque<Means> last;
    std::deque<bool> slow; // by step: whether it was the one, and by far
    bool isNamed = false;
  };
  void compare(int64_t step, const std::vector<std::optional<Means>> &all);
  std::optional<Slowest> findSlowest(const std::vector<Means> &all,
                                     const std::vector<int> &here) const;

  std::vector<Member> members;
  /// Steps that some have told of, by member.
  std::map<int64_t, std::vector<std::optional<Means>>> open;
  std::vector<Change> changes;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_STRAGGLERS_H
