//===- session_replica.h - A worker's steps in a session --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_SESSION_REPLICA_H
#define RUNTIME_PARAMETER_SERVER_SESSION_REPLICA_H

#include "runtime/parameter_server/layout.h"
#include "runtime/parameter_server/rows.h"
#include "runtime/parameter_server/worker.h"
#include "runtime/train/trainer.h"
#include <map>

namespace dist::ps {

/// Adds what the metrics hold to what they have gained since a reset.
Status takeMetrics(Session &session, Buffer *gained);

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
  /// Without data it takes variables alone, and no closure begins.
  static Status create(Session &session, const Layout &layout,
                       const Dataset *data, const ReplicaOptions &options,
                       std::unique_ptr<SessionReplica> *out);
  Status begin(int64_t closure) override { return begin(closure, closure); }
  /// A closure whose batch has another number.
  Status begin(int64_t batchNumber, int64_t closureNumber);
  Buffer pullOf(int server) override;
  size_t parameterBytes(int server) const override;
  Status takeParameters(int server, const Buffer &bytes) override;
  Status compute(ReportBody *report, Buffer *metrics, bool *isPushed) override;
  Status giveGradients(int server, Buffer *out) override;
  /// Brings the variables taken last into the session: those that servers give
  /// whole, and the rows of a closure's step.
  Status writeParameters();

private:
  /// Where an entry has what is asked of it.
  struct Ports {
    /// Outputs that are gradients, by variable; -1: it has none.
    std::vector<int> gradients;
    /// Inputs that number rows, by table.
    std::vector<std::vector<int>> indices;
  };
  /// The rows of a table that the step looks up.
  struct Rows {
    explicit Rows(const PulledTable &table);
    RowFinder finder;
    std::vector<int64_t> numbers;
    Tensor values, places;
  };
  SessionReplica(Session &session, const Layout &layout,
                 const ReplicaOptions &options)
      : session(session), layout(layout), options(options), metrics(session) {}
  void findPorts();
  /// The rows of a server's part: from which place on, and their numbers there.
  size_t findRows(const PlacedPart &part, std::vector<int64_t> *numbers) const;
  /// Runs the step with the random numbers of its closure.
  Status runStep();

  Session &session;
  const Layout &layout;
  const ReplicaOptions options;
  Metrics metrics;
  std::optional<BatchMaker> batches;
  EntryPair entries;
  Batch batch;
  std::vector<TensorView> inputs;
  std::vector<Tensor> outputs;
  std::map<const manifest::Entry *, Ports> portsOf; // both entries
  int stepCounter = -1; // the variable; none: nothing is drawn
  // Of the closure:
  int64_t closure = 0;
  EntryCall *call = nullptr;
  const Ports *ports = nullptr;
  std::vector<Rows> tables;
  /// Variables that several servers have parts of, as they come together.
  std::vector<Tensor> wholes; // by variable
  Tensor value;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_SESSION_REPLICA_H
