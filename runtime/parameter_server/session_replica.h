//===- session_replica.h - A worker's steps in a session --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_SESSION_REPLICA_H
#define RUNTIME_PARAMETER_SERVER_SESSION_REPLICA_H

#include "runtime/parameter_server/layout.h"
#include "runtime/parameter_server/worker.h"
#include "runtime/train/trainer.h"
#include <map>

namespace dist::ps {

/// Which examples a step has: as FitOptions say it.
struct ReplicaOptions {
  std::optional<uint64_t> shuffle;
  bool dropRemainder = false;
  OnNonfinite onNonfinite = OnNonfinite::Stop;
};

/// Runs `gradients` of a worker's package on the batch of a closure's number.
/// Gradients that are not finite are no update, unless they are to be.
class SessionReplica : public Replica {
public:
  static Status create(Session &session, const Layout &layout,
                       const Dataset &data, const ReplicaOptions &options,
                       std::unique_ptr<SessionReplica> *out);
  size_t parameterBytes(int server) const override {
    return layout.servers[server].partBytes;
  }
  Status takeParameters(int server, const Buffer &bytes) override;
  Status compute(int64_t closure, ReportBody *report, Buffer *metrics,
                 bool *isPushed) override;
  Status giveGradients(int server, Buffer *out) override;

private:
  /// An entry's outputs that are gradients, by variable; -1: it has none.
  using Outputs = std::vector<int>;
  SessionReplica(Session &session, const Layout &layout, const Dataset &data,
                 const BatchPlan &plan, const ReplicaOptions &options)
      : session(session), layout(layout), options(options), metrics(session),
        batches(data, plan) {}
  void findOutputs();

  Session &session;
  const Layout &layout;
  const ReplicaOptions options;
  Metrics metrics;
  BatchMaker batches;
  EntryPair entries;
  Batch batch;
  std::vector<TensorView> inputs;
  std::vector<Tensor> outputs;
  std::map<const manifest::Entry *, Outputs> gradientsOf; // both entries
  const Outputs *gradients = nullptr; // of the entry that ran last
  /// Variables that several servers have parts of, as they come together.
  std::vector<Tensor> wholes; // by variable
  Tensor value;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_SESSION_REPLICA_H
