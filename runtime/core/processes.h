//===- processes.h - What processes of a session do as one ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All processes of a session call these together, and go on alike: what failed
// in one of them is every one's error, which names the process. In one process
// they add nothing.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PROCESSES_H
#define RUNTIME_CORE_PROCESSES_H

#include "runtime/core/session.h"

namespace dist {

/// What each process has come to, its text by process in `texts`. `outcome` is
/// the first error of one of them; the return value says whether they reached
/// each other.
Status share(Session &session, const Status &mine, const std::string &text,
             std::vector<std::string> *texts, Status *outcome);

/// The first error of one of them.
Status share(Session &session, const Status &mine);

/// Gives a variable's global value.
using GlobalReader = std::function<Status(int index, Tensor *out)>;

/// Runs `job` in process 0 alone. The others take part in what it reads, one
/// variable at a time.
Status onChief(Session &session,
               const std::function<Status(const GlobalReader &read)> &job);

} // namespace dist

#endif // RUNTIME_CORE_PROCESSES_H
