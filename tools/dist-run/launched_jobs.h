//===- launched_jobs.h - What this user has launched here -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--workers` gives its processes ports that are free and a secret that no one
// is told. Who has started them asks for their status all the same: both stand
// in their environment, which the system shows to their user alone.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_LAUNCHED_JOBS_H
#define TOOLS_DIST_RUN_LAUNCHED_JOBS_H

#include "runtime/cluster/cluster_spec.h"
#include "runtime/cluster/security/job_secret.h"
#include "tools/options/options.h"
#include <optional>

namespace dist::tools {

struct LaunchedJob {
  cluster::Address chief;
  /// Of the job; none: it has the one that its launcher was given, and where it
  /// was given it in a file, that is not known here.
  std::optional<cluster::JobSecret> secret;
};

/// The jobs that `--workers` runs on this machine for this user, each once.
std::vector<LaunchedJob> findLaunchedJobs();

/// Whom `dist-run status` asks, and by which secret: what the options name,
/// else the one job that this user has launched here. Errors: there is none, or
/// there are several.
Status findAskedJob(const Options &options, LaunchedJob *out);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_LAUNCHED_JOBS_H
