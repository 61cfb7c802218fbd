//===- data_shards.h - --shard-policy ---------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_DATA_SHARDS_H
#define TOOLS_DIST_RUN_DATA_SHARDS_H

#include "runtime/core/session.h"
#include "runtime/data/dataset.h"
#include "runtime/data/shards.h"
#include "tools/options/options.h"

namespace dist::tools {

/// How this run's workers share --data.
struct DataShards {
  ShardPolicy policy = ShardPolicy::Data;
  std::string note; // the decision; empty in one process
  /// What all workers must see alike: how many files, and, where each reads
  /// some of them, which.
  std::vector<std::pair<std::string, std::string>> settings;

  /// Errors: a policy where there are no workers to share data, and what
  /// decideShards refuses.
  static Status decide(const Options &options, const Session &session,
                       DataShards *out);
  /// Leaves the other workers' files out.
  void limit(const Session &session, DataOptions *data) const;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_DATA_SHARDS_H
