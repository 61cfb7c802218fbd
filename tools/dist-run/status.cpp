//===- status.cpp - dist-run status ---------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/status/format.h"
#include "runtime/cluster/heartbeat/heartbeat.h"
#include "runtime/cluster/membership/membership.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/launched_jobs.h"
#include "tools/dist-run/secret.h"

namespace dist::tools {

int runStatus(const Options &options) {
  LaunchedJob job;
  std::string endpoint;
  cluster::proto::ClusterStatus status;
  cluster::SharedStore store;
  Status asked = findAskedJob(options, &job);
  if (asked.ok())
    asked = openStore(options, &store);
  if (asked.ok())
    asked = cluster::readFromChief(&job.chief, job.secret,
                                   cluster::kControlEndpoint, &endpoint, store);
  if (asked.ok())
    asked = cluster::askForStatus(job.chief.host, endpoint, &status);
  if (!asked.ok())
    return report(asked);
  return printReport(options.json ? cluster::formatStatusJson(status)
                                  : cluster::formatStatus(status));
}

} // namespace dist::tools
