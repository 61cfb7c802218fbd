//===- detector.h - Who shows no sign of life -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each peer sends a beat every 100 ms. One whose beats stay away is suspected,
// and then lost: it was frozen, its machine is gone, or the network between is
// cut. A busy machine is none of these, so silence counts only while
//   - this process's own looks were on time: after a late one, beats may have
//     been as late as it was, and all counts begin anew;
//   - of a peer on this machine, the thread that sends the beats is not waiting
//     for a CPU.
//
// The clock is the caller's.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_DETECTOR_H
#define RUNTIME_CLUSTER_HEARTBEAT_DETECTOR_H

#include <chrono>
#include <functional>
#include <vector>

namespace dist::cluster {

/// How often each process sends a beat, and how often it looks for those of the
/// others.
constexpr std::chrono::milliseconds kBeatInterval{100}, kLookInterval{50};
/// How long a thread may be blocked before its silence counts: a busy disk's
/// time, and not that of one which never answers.
constexpr std::chrono::seconds kLongestBlock{5};

/// What the system says of a peer's thread.
enum class ThreadState {
  /// Of another machine's, or a thread that is no more.
  Unknown,
  Sleeps,
  /// In the kernel, where nothing wakes it: it waits for a disk, as for code
  /// that was paged out, or for memory.
  Blocked,
  /// Runs, or would if it had a CPU.
  Runnable,
  /// By SIGSTOP or a debugger.
  Stopped
};

class Detector {
public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;

  /// Peers are lost after `patience` of silence, and suspected after half of
  /// it; 0: never.
  Detector(int peers, Clock::duration patience)
      : patience(patience), peers(peers) {}

  /// There is one more.
  void grow() { peers.emplace_back(); }
  /// The peer's beats are to come from `begin` on, which may be later.
  void add(int peer, TimePoint begin);
  void heard(int peer, TimePoint now);
  /// It has left, or is lost.
  void remove(int peer) { peers[peer].isWatched = false; }
  bool isWatched(int peer) const { return peers[peer].isWatched; }

  enum class Change { Suspected, IsBack, Lost };
  struct Finding {
    int peer = 0;
    Change change = Change::Suspected;
    Clock::duration silence{}; // the longest that was seen
  };
  /// To be called each kLookInterval, when all beats that have arrived were
  /// `heard`. `planned`: when this look was due. A peer that is lost is watched
  /// no more.
  std::vector<Finding> look(TimePoint now, TimePoint planned,
                            const std::function<ThreadState(int peer)> &ask);

private:
  struct Peer {
    bool isWatched = false, isSuspected = false;
    TimePoint since; // when its silence began, as far as it counts
    TimePoint heard; // as it is, whatever counts
    Clock::duration longest{};
  };
  Clock::duration patience;
  std::vector<Peer> peers;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_DETECTOR_H
