//===- evaluation.h - Evaluating as closures --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workers evaluate parts of the data, each of some batches. A worker may be
// lost, or be late, and its part is another's, too: of each part the first
// report counts, and batches are added up in their order. So each batch counts
// once, and the sums have the bits of one device.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_EVALUATION_H
#define RUNTIME_PARAMETER_SERVER_EVALUATION_H

#include "runtime/parameter_server/evaluation_parts.h"
#include "runtime/parameter_server/served_session.h"
#include "runtime/parameter_server/session_replica.h"

namespace dist::ps {

/// Batches of a closure that evaluates.
struct EvaluationBody {
  int32_t code = 0; // as all bodies have
  uint32_t unused = 0;
  int64_t first = 0, count = 0;
};

/// In its report, for each batch: this, and what the metrics have gained.
struct EvaluatedBatch {
  float loss = 0;
  uint32_t unused = 0;
  int64_t examples = 0;
};

/// A worker that trains, and evaluates other data when it is asked to.
class EvaluatingReplica : public Replica {
public:
  /// Errors: a program that does not evaluate; `refuseTables`.
  static Status create(Session &session, const Layout &layout,
                       const Dataset &data, SessionReplica &steps,
                       std::unique_ptr<EvaluatingReplica> *out);
  /// Of tables a worker has none but its steps' rows.
  static Status refuseTables(const Layout &layout);

  Status begin(int64_t closure) override;
  Status beginWork(int64_t closure, const Buffer &work) override;
  Buffer pullOf(int server) override { return steps.pullOf(server); }
  size_t parameterBytes(int server) const override {
    return steps.parameterBytes(server);
  }
  Status takeParameters(int server, const Buffer &bytes) override {
    return steps.takeParameters(server, bytes);
  }
  Status compute(ReportBody *report, Buffer *gained, bool *isPushed) override;
  Status giveGradients(int server, Buffer *out) override {
    return steps.giveGradients(server, out);
  }

private:
  EvaluatingReplica(Session &session, SessionReplica &steps)
      : session(session), steps(steps), metrics(session) {}

  Session &session;
  SessionReplica &steps;
  Metrics metrics;
  EntryPair entries;
  std::optional<BatchMaker> batches;
  int64_t batchCount = 0;
  Batch batch;
  /// Of the closure, if it evaluates.
  std::optional<EvaluationBody> part;
};

/// The chief's, for `fit`.
class ClosureEvaluation : public EvaluationRunner {
public:
  /// So many parts, or more where a report would not fit into a letter of
  /// `largest` bytes.
  ClosureEvaluation(Coordinator &coordinator, ServedSession &session,
                    const Dataset &data, int64_t parts, size_t largest)
      : coordinator(coordinator), session(session), data(data), parts(parts),
        largest(largest) {}
  Status evaluate(Evaluation *out, const std::function<bool()> &stops) override;

  /// How many batches there are, and what one takes, as the package says it.
  static Status measure(Session &session, const Dataset &data,
                        EvaluationFacts *out);

private:
  struct Result {
    EvaluatedBatch batch;
    Buffer gained;
  };
  void schedule(int64_t batches);
  Status take(const Completion &part);
  Status addUp(Evaluation *out);

  Coordinator &coordinator;
  ServedSession &session;
  const Dataset &data;
  const int64_t parts;
  const size_t largest;
  /// Of the next part, of all evaluations: one that is late with a part of an
  /// earlier one is none of this one's.
  int64_t next = kFirstUnpushed;
  int64_t first = 0, perPart = 1;
  std::vector<std::optional<Result>> results; // by batch
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_EVALUATION_H
