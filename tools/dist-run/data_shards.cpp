//===- data_shards.cpp - --shard-policy -----------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/data_shards.h"
#include "runtime/data/source.h"
#include "runtime/formats/sha256.h"

namespace dist::tools {

/// Which file is whose follows from their order: the names without folders,
/// which may be others on another machine.
static std::string digestOf(const std::vector<std::string> &files) {
  Sha256 hash;
  for (const std::string &file : files)
    hash.addPiece(file.substr(file.rfind('/') + 1));
  return hash.hex().substr(0, 16);
}

Status DataShards::decide(const Options &options, const Session &session,
                          DataShards *out) {
  *out = DataShards();
  // Packages say only now in how many processes they run.
  if (session.processes() < 2) {
    bool isGiven = !options.shardPolicy.empty() && !options.elastic;
    return isGiven
               ? Status::error(StatusCode::InvalidArgument,
                               "there are no workers to share the data",
                               "--shard-policy", "no processes train in step",
                               "leave it out, or train with several "
                               "--workers")
               : Status();
  }
  std::vector<std::string> files;
  DIST_RETURN_IF_ERROR(listDataFiles(options.data, &files));
  ShardDecision decision;
  DIST_RETURN_IF_ERROR(
      decideShards(options.shardPolicy.empty() ? "auto" : options.shardPolicy,
                   session.processes(), int64_t(files.size()),
                   options.shuffle.has_value(), &decision));
  out->policy = decision.policy;
  out->note = decision.text;
  out->settings = {{"--shard-policy", nameOf(decision.policy)}};
  if (decision.policy != ShardPolicy::File)
    return Status();
  out->settings.emplace_back("files of --data", std::to_string(files.size()));
  out->settings.emplace_back("names of the files of --data, as a digest",
                             digestOf(files));
  return checkSharedFiles(options.data);
}

void DataShards::limit(const Session &session, DataOptions *data) const {
  if (policy != ShardPolicy::File)
    return;
  data->worker = session.process();
  data->workers = session.processes();
}

} // namespace dist::tools
