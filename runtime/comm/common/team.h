//===- team.h - A rank's work, with its device's team -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_COMMON_TEAM_H
#define RUNTIME_COMM_COMMON_TEAM_H

#include "runtime/comm/common/options.h"
#include "runtime/comm/common/reduce.h"

namespace dist {

/// Reduces and copies with all threads of the rank's device where that pays,
/// and alone in the background: then the team is at other work.
class Team {
public:
  explicit Team(const WorldOptions &options) : options(options) {}
  bool inBackground = false;

  /// Elements lo..hi-1 of `numFrom` buffers, into each of `to`.
  void reduce(ReduceFn fn, const void *const *from, int numFrom,
              void *const *to, int numTo, int64_t lo, int64_t hi,
              int64_t elementBytes) const;
  /// Bytes lo..hi-1.
  void copy(const void *from, void *to, int64_t lo, int64_t hi) const;
  /// What the rank at place `me` gets from the rank at place `peer`.
  void pull(const Piece &piece, const void *from, int64_t me, void *to,
            int64_t peer) const;

private:
  int64_t countChunks(int64_t bytes) const;

  const WorldOptions &options;
};

} // namespace dist

#endif // RUNTIME_COMM_COMMON_TEAM_H
