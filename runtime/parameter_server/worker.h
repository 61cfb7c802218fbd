//===- worker.h - A worker of parameter servers --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the closures that the coordinator hands out, one after another: fetches
// the variables from all servers, computes, brings each server its gradients
// and tells the coordinator what the step gave.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_WORKER_H
#define RUNTIME_PARAMETER_SERVER_WORKER_H

#include "runtime/parameter_server/protocol.h"

namespace dist::ps {

/// What a worker computes with.
class Replica {
public:
  virtual ~Replica() = default;
  /// What follows is about this closure.
  virtual Status begin(int64_t closure) = 0;
  /// The same of one that says what it does.
  virtual Status beginWork(int64_t closure, const Buffer &work);
  /// What it asks a server for, and what the server's Parameters have then.
  virtual Buffer pullOf(int server) = 0;
  virtual size_t parameterBytes(int server) const = 0;
  /// Takes a server's part of the variables.
  virtual Status takeParameters(int server, const Buffer &bytes) = 0;
  /// Runs the closure with the variables taken last. `isPushed` says whether
  /// its gradients are for the servers; `metrics`, what its metrics have
  /// gained.
  virtual Status compute(ReportBody *report, Buffer *metrics,
                         bool *isPushed) = 0;
  /// What is for a server.
  virtual Status giveGradients(int server, Buffer *out) = 0;
};

/// Works until the coordinator ends the run. Errors: what ended it; the
/// coordinator, or a server that a closure needs, is lost. An error of a
/// closure is the coordinator's to end the run with.
Status work(Mail &mail, Replica &replica, const TaskOptions &options,
            Ending *ending);

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_WORKER_H
