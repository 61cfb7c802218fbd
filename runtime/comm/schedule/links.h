//===- links.h - What is between ranks, by level ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a cluster that is only described: ranks of one host, of one rack, and so
// on have links of their own. Ranks are numbered here so that those of a level
// follow each other, whatever the mesh's axes are: rank r is in the part number
// r / ranks of each level. What two send each other passes the first level that
// has both.
//
//   {"version": 1, "cores": 32, "levels": [
//     {"level": "host", "ranks": 8, "bytes_per_second": 2e10,
//      "latency_seconds": 2e-6, "message_seconds": 5e-7},
//     {"level": "network", "ranks": 1024, ...}]}
//
// A level may have "one_way_bytes_per_second", too.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_LINKS_H
#define RUNTIME_COMM_SCHEDULE_LINKS_H

#include "runtime/comm/schedule/sent.h"
#include <string>
#include <vector>

namespace dist {

struct LinkLevel {
  std::string name;
  /// In one part of it.
  int64_t ranks = 1;
  /// What a rank sends a second while all others send, too; until a message is
  /// there; and what each message costs who sends it and who takes it.
  double bytesPerSecond = 1, latency = 0, messageSeconds = 0;
  /// What a rank that takes nothing sends a second to one that sends nothing.
  /// Where both directions share what moves bytes (a host's memory, the CPUs
  /// that copy for TCP) it is up to twice the other rate.
  double oneWayBytesPerSecond = 1;
};

class LinkTable {
public:
  static Status read(const std::string &path, LinkTable *out);

  /// The innermost first; the last one has all ranks.
  const std::vector<LinkLevel> &levels() const { return all; }
  int64_t ranks() const { return all.back().ranks; }
  /// Of a host, that its devices share; 0: the file does not say.
  int64_t cores() const { return numCores; }

  /// The number of the level that a message between two ranks passes.
  size_t levelBetween(int64_t a, int64_t b) const;

  /// Of a collective of messages, in the slowest of its groups, each of which
  /// has its ranks by position: until the last rank has all it takes. A rank
  /// sends one message after another, takes one after another meanwhile, and
  /// sends none before those have come that it waits for.
  double getSeconds(const Collective &call,
                    const std::vector<std::vector<int64_t>> &groups) const;

private:
  double getSecondsOfGroup(const Collective &call,
                           const std::vector<int64_t> &group) const;
  /// Whether a level's rates differ.
  bool knowsOneWay() const;

  std::vector<LinkLevel> all;
  int64_t numCores = 0;
};

} // namespace dist

#endif // RUNTIME_COMM_SCHEDULE_LINKS_H
