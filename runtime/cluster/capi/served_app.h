//===- served_app.h - Behind dist/cluster.h's handles -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_CAPI_SERVED_APP_H
#define RUNTIME_CLUSTER_CAPI_SERVED_APP_H

#include "dist/cluster.h"
#include "runtime/capi/capi.h"
#include "runtime/cluster/capi/joined.h"
#include "runtime/parameter_server/app_replica.h"
#include "runtime/parameter_server/closure_queue.h"
#include "runtime/parameter_server/served_session.h"

struct dist_remote_value_t {
  std::shared_ptr<dist::ps::RemoteValue> value;
};

struct dist_result_t {
  dist::Buffer *bytes = nullptr;
};

struct dist_cluster_t {
  ~dist_cluster_t();

  struct Dataset {
    dist_dataset_fn make = nullptr;
    void *data = nullptr;
  };
  struct Function {
    dist_function_fn call = nullptr;
    void *data = nullptr;
  };
  bool isChief() const {
    return joined->task().job == dist::cluster::Job::Chief;
  }
  /// The session, and the chief's queue.
  dist::Status openSession(const std::string &package,
                           const dist_cluster_options_t &options);
  dist::Status serveVariables();
  dist::Status work();
  dist::Status schedule(dist::Buffer work, bool isStep,
                        dist_remote_value_t **out);
  /// Adds what steps have gained by now to the session's metrics. Any thread,
  /// as all of the chief's calls.
  dist::Status takeMetrics();

  // Told to one at a time.
  std::mutex logging;
  dist_log_fn log = nullptr;
  void *logData = nullptr;

  std::unique_ptr<dist::cluster::Joined> joined;
  dist_session_t session;
  std::map<std::string, Dataset> datasets;
  std::map<std::string, Function> functions;
  bool isServed = false; // `serve` was called
  // The chief's:
  std::unique_ptr<dist::ps::Coordinator> coordinator;
  std::unique_ptr<dist::ps::ClosureQueue> queue;
  dist::ps::ServedSession *served = nullptr; // in `session`

private:
  /// Held by who adds to what `served` has of the closures, or settles it.
  std::mutex serving;
  dist::Status coordinate(const dist_cluster_options_t &options);
  dist::Status makeData(const Dataset &of, std::unique_ptr<dist::Dataset> *out,
                        dist::ps::ReplicaOptions *options);
  dist::Status call(const Function &function,
                    const dist::ps::AppReplica::Call &call,
                    dist::Buffer *result);
};

#endif // RUNTIME_CLUSTER_CAPI_SERVED_APP_H
