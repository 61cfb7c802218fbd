//===- late_comer.cpp - One whose run has ended meanwhile -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/late_comer.h"
#include "runtime/checkpoint/followed_states.h"
#include "runtime/checkpoint/run_file.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/follow.h"

namespace dist::tools {

LateComer::LateComer(const Options &options, const ClusterRun &cluster,
                     bool isServed)
    : options(options), cluster(cluster),
      mayBeLate((options.elastic || isServed) && cluster.isCluster() &&
                !options.checkpoint.empty() &&
                (!cluster.isChief() || (options.elastic && options.store))),
      hadEnded(mayBeLate && readRunFile(options.checkpoint).ended) {}

void LateComer::tellEnd() const {
  printNote("dist-run: note: the run in " + options.checkpoint +
            " has ended, and there is nothing left to do");
}

bool LateComer::isTooLate() const {
  const bool isOver =
      hadEnded && !cluster.isChief() && !options.resume && !options.overwrite;
  if (isOver)
    tellEnd();
  return isOver;
}

int LateComer::report(const Status &failed) const {
  FollowedStates states(options.checkpoint);
  std::vector<std::string> ignored;
  if (mayBeLate && failed.code() == StatusCode::Unavailable &&
      states.look(&ignored).ok() && states.runHasEnded() &&
      (!hadEnded ||
       (cluster.isLeftAlone() &&
        (options.resume ? isComplete(options, states) : !options.overwrite)))) {
    tellEnd();
    return 0;
  }
  return tools::report(cluster.explain(failed));
}

} // namespace dist::tools
