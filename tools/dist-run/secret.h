//===- secret.h - What a job's processes know each other by -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_SECRET_H
#define TOOLS_DIST_RUN_SECRET_H

#include "runtime/cluster/cluster_spec.h"
#include "runtime/cluster/security/job_secret.h"
#include "tools/options/options.h"
#include <optional>

namespace dist::tools {

inline constexpr char kSecretVariable[] = "DIST_JOB_SECRET";

/// The job's secret from --job-secret-file, else from DIST_JOB_SECRET, else
/// none. Errors: none, where the processes are to reach each other at
/// `addresses` that others can reach, too, and --insecure-network does not
/// allow it.
Status readJobSecret(const Options &options,
                     const std::vector<cluster::Address> &addresses,
                     std::optional<cluster::JobSecret> *out);

/// The store that --coordination names, with what is shown to it. Errors: what
/// is told there could be read on its way; a file that cannot be read.
Status openStore(const Options &options, cluster::SharedStore *out);

/// What `--workers` gives the processes that it starts; empty: they find one.
Status makeLaunchSecret(const Options &options, std::string *out);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_SECRET_H
