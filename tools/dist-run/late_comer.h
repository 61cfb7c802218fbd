//===- late_comer.h - One whose run has ended meanwhile ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process that is started again, as pods are, while the others do the last
// steps finds no one when they have ended. --checkpoint says that they did, and
// that there is nothing left to do: that is no failure of the job.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_LATE_COMER_H
#define TOOLS_DIST_RUN_LATE_COMER_H

#include "runtime/core/status.h"
#include "tools/dist-run/cluster.h"
#include "tools/options/options.h"

namespace dist::tools {

class LateComer {
public:
  /// Before the process looks for the others. `isServed`: of parameter servers,
  /// whose workers are taken in again without --elastic.
  LateComer(const Options &options, const ClusterRun &cluster, bool isServed);

  /// The run had ended before this process began, and was not to go on: tells
  /// of it.
  bool isTooLate() const;
  /// The exit code of a process that `failed` before it was one of the cluster,
  /// which it tells of: none's, if the run has ended while it waited, or had
  /// reached its end, and no one came who would take it up again.
  int report(const Status &failed) const;

private:
  void tellEnd() const;

  const Options &options;
  const ClusterRun &cluster;
  /// The chief begins a run, and is told of what is there; but with a store of
  /// its own the first task's process may find another one in its place.
  const bool mayBeLate;
  const bool hadEnded;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_LATE_COMER_H
