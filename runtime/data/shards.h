//===- shards.h - Which worker reads which examples -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the data are shared out among the workers of one training, with the
// policies of TensorFlow's AutoShardPolicy (auto_shard.cc). Under `data` all
// read the same and each takes its rows of a batch. Under `file` and `off` each
// goes through examples of its own, which may be fewer than another's: what
// each gives to a step follows from the counts of all, which they tell each
// other once.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_SHARDS_H
#define RUNTIME_DATA_SHARDS_H

#include "runtime/core/status.h"
#include <cstdint>
#include <string>
#include <vector>

namespace dist {

struct BatchPlan;

enum class ShardPolicy {
  Data, // each worker reads all data and takes its rows of each batch
  File, // worker w reads the files w, w + workers, ...
  Off,  // each worker goes through all data in an order of its own
};

/// As --shard-policy spells it.
const char *nameOf(ShardPolicy policy);

/// The policy, and the line that tells of it.
struct ShardDecision {
  ShardPolicy policy = ShardPolicy::Data;
  std::string text;
};

/// What `asked` (auto, data, file, off) means for so many workers and files;
/// `auto` is `data`, whose curve is that of one device. An error: `file` with
/// fewer files than workers.
Status decideShards(const std::string &asked, int64_t workers, int64_t files,
                    bool shuffles, ShardDecision *out);

/// Of `files` files those that a worker reads.
std::vector<std::string> filesOfWorker(const std::vector<std::string> &files,
                                       int worker, int workers);

/// What a worker says of itself: its examples, and the rows of a batch that
/// its ranks have.
struct WorkerFacts {
  int64_t examples = 0, firstRow = 0, endRow = 0;
};

/// A worker's part of each batch, from examples of its own.
struct DataShard {
  int64_t examples = 0; // that a pass of its own has
  int64_t batch = 0;    // that it gives to a full batch
  int64_t firstReplica = 0, endReplica = 0;

  /// What it gives to a pass's batch of this number; 0 once it has ended.
  int64_t portionOf(int64_t inPass) const;
};

/// Fills in the shards of `plan`, of which worker `self` is this process.
/// Errors: workers that have not whole replicas each of their own, one without
/// examples or without a part of a batch, no full batch where only those are
/// taken.
Status setShards(const std::vector<WorkerFacts> &workers, int self,
                 ShardPolicy policy, BatchPlan *plan);

} // namespace dist

#endif // RUNTIME_DATA_SHARDS_H
