//===- shards.cpp - Which worker reads which examples ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/shards.h"
#include "runtime/data/batches.h"
#include <algorithm>

namespace dist {

const char *nameOf(ShardPolicy policy) {
  switch (policy) {
  case ShardPolicy::Data:
    return "data";
  case ShardPolicy::File:
    return "file";
  case ShardPolicy::Off:
    return "off";
  }
  return "data";
}

static std::string countText(int64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

static std::string describeFiles(int64_t workers, int64_t files) {
  std::string text = countText(files / workers, "file") + " a worker";
  if (int64_t more = files % workers)
    text += ", one more for worker " +
            (more == 1 ? "0" : "0 to " + std::to_string(more - 1));
  return text;
}

Status decideShards(const std::string &asked, int64_t workers, int64_t files,
                    bool shuffles, ShardDecision *out) {
  *out = ShardDecision();
  std::string all =
      "each of " + countText(workers, "worker") + " reads " +
      (files == 1 ? "the file" : "all " + countText(files, "file"));
  if (asked == "file") {
    if (files < workers)
      return Status::error(StatusCode::InvalidInput, "fewer files than workers",
                           "--shard-policy file",
                           "--data has " + countText(files, "file") + " for " +
                               countText(workers, "worker"),
                           "give more files (a pattern or @LIST), or "
                           "--shard-policy data");
    out->policy = ShardPolicy::File;
    out->text = "--shard-policy file: worker i reads the files i, i + " +
                std::to_string(workers) + ", ... of " + std::to_string(files) +
                ": " + describeFiles(workers, files);
  } else if (asked == "off") {
    out->policy = ShardPolicy::Off;
    out->text = "--shard-policy off: " + all + " in " +
                (shuffles ? "an order of its own"
                          : "file order, so that their rows of a batch are "
                            "the same examples (--shuffle off)") +
                " and fills its rows of each batch; an epoch is one pass of "
                "each";
  } else {
    bool isAuto = asked != "data";
    out->text = std::string("--shard-policy ") +
                (isAuto ? "auto takes data: " : "data: ") + all +
                " and takes its rows of each batch" +
                (isAuto ? ", for the curve of one device" : "");
    if (isAuto && files >= workers && files > 1)
      out->text += "; of files TensorFlow's AUTO gives each worker its own, "
                   "which is --shard-policy file: " +
                   describeFiles(workers, files);
  }
  return Status();
}

std::vector<std::string> filesOfWorker(const std::vector<std::string> &files,
                                       int worker, int workers) {
  std::vector<std::string> own;
  for (size_t i = worker; i < files.size(); i += workers)
    own.push_back(files[i]);
  return own;
}

int64_t DataShard::portionOf(int64_t inPass) const {
  return std::clamp<int64_t>(examples - inPass * batch, 0, batch);
}

/// The replicas whose rows are those from `first` to below `end`.
static bool findReplicas(const BatchPlan &plan, int64_t first, int64_t end,
                         DataShard *out) {
  int64_t row = 0, replica = 0;
  for (; replica < plan.replicas && row < first; ++replica)
    row += BatchStream::rowsOf(plan, replica);
  out->firstReplica = replica;
  if (row != first)
    return false;
  for (; replica < plan.replicas && row < end; ++replica)
    row += BatchStream::rowsOf(plan, replica);
  out->endReplica = replica;
  return row == end && first < end;
}

Status setShards(const std::vector<WorkerFacts> &workers, int self,
                 ShardPolicy policy, BatchPlan *plan) {
  std::string where = std::string("--shard-policy ") + nameOf(policy);
  auto wrong = [&](const std::string &what, const std::string &why,
                   const std::string &todo) {
    return Status::error(StatusCode::InvalidInput, what, where, why, todo);
  };
  std::vector<DataShard> shards;
  std::vector<int> owners(plan->replicas, 0);
  for (size_t w = 0; w < workers.size(); ++w) {
    DataShard &shard = shards.emplace_back();
    shard.examples = workers[w].examples;
    std::string name = "worker " + std::to_string(w);
    bool isWhole =
        findReplicas(*plan, workers[w].firstRow, workers[w].endRow, &shard);
    for (int64_t r = shard.firstReplica; isWhole && r < shard.endReplica; ++r) {
      shard.batch += BatchStream::portionOf(plan->batch, *plan, r);
      isWhole = owners[r]++ == 0;
    }
    if (!isWhole)
      return wrong("workers have no replicas of their own",
                   name + " takes rows of a batch that another one takes, too",
                   "split variables or stages inside of workers, or give "
                   "--shard-policy data");
    if (shard.examples == 0)
      return wrong("a worker has no examples", name + "'s files are empty",
                   "give --shard-policy data");
    if (shard.batch == 0)
      return wrong("a worker has no part of a batch",
                   name + " gives none of " + std::to_string(plan->batch) +
                       " examples to " + std::to_string(plan->replicas) +
                       " replicas",
                   "raise --batch-size, or give --shard-policy data");
    if (plan->dropRemainder && shard.examples < shard.batch)
      return wrong("no full batch",
                   name + " has " + countText(shard.examples, "example") +
                       ", its part of a batch are " +
                       std::to_string(shard.batch),
                   "lower --batch-size or leave --drop-remainder out");
  }
  if (std::count(owners.begin(), owners.end(), 1) != plan->replicas)
    return wrong("workers have no replicas of their own",
                 "rows of a batch are no worker's", "give --shard-policy data");
  plan->shards = std::move(shards);
  plan->worker = self;
  return Status();
}

} // namespace dist
