//===- follow.h - Evaluating a run's states as they come --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_FOLLOW_H
#define TOOLS_DIST_RUN_FOLLOW_H

#include "runtime/checkpoint/followed_states.h"
#include "runtime/checkpoint/run_file.h"
#include "runtime/core/session.h"
#include "runtime/data/dataset.h"
#include "tools/options/options.h"

namespace dist::tools {

/// Gives the session's model the newest state in --checkpoint, as it is now.
Status loadNewestState(const Options &options, Session &session);

/// Whether the run of the states is as far as a fit with these options goes.
bool isComplete(const Options &options, const FollowedStates &states);

/// `evaluate --follow`: evaluates each new state in --checkpoint, the newest
/// where several have come, until the run that saves there has ended; prints a
/// line each, and adds one to --history, which says what is done already when
/// this process is started again. `found`: the folder's run when the process
/// began. Errors: --follow-timeout seconds without a new state; what keeps it
/// from reading states or writing results.
Status followStates(const Options &options, const RunFile &found,
                    Session &session, const Dataset &data);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_FOLLOW_H
