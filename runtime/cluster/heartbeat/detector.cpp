//===- detector.cpp - Who shows no sign of life ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/detector.h"
#include <algorithm>

namespace dist::cluster {

void Detector::add(int peer, TimePoint begin) {
  peers[peer] = {true, false, begin, begin, {}};
}

void Detector::heard(int peer, TimePoint now) {
  peers[peer].since = peers[peer].heard = now;
}

std::vector<Detector::Finding>
Detector::look(TimePoint now, TimePoint planned,
               const std::function<ThreadState(int peer)> &ask) {
  std::vector<Finding> findings;
  if (patience <= Clock::duration::zero())
    return findings;
  bool isLate = now - planned > kBeatInterval;
  for (int i = 0; i < int(peers.size()); ++i) {
    Peer &peer = peers[i];
    if (!peer.isWatched)
      continue;
    if (isLate)
      peer.since = std::max(peer.since, now);
    Clock::duration silence = now - peer.since;
    if (silence > 2 * kBeatInterval) {
      const ThreadState state = ask(i);
      if (state == ThreadState::Runnable ||
          (state == ThreadState::Blocked && now - peer.heard < kLongestBlock)) {
        peer.since = now;
        silence = {};
      }
    }
    if (peer.isSuspected && silence > peer.longest)
      peer.longest = silence;
    if (silence >= patience) {
      peer.isWatched = false;
      findings.push_back({i, Change::Lost, silence});
    } else if (silence >= patience / 2 && !peer.isSuspected) {
      peer.isSuspected = true;
      peer.longest = silence;
      findings.push_back({i, Change::Suspected, silence});
    } else if (silence < patience / 2 && peer.isSuspected) {
      peer.isSuspected = false;
      findings.push_back({i, Change::IsBack, peer.longest});
    }
  }
  return findings;
}

} // namespace dist::cluster
