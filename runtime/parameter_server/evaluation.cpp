//===- evaluation.cpp - Evaluating as closures ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/evaluation.h"
#include "runtime/train/evaluation.h"
#include <algorithm>
#include <cstring>

namespace dist::ps {

static Status prepare(Session &session, const Dataset &data, EntryPair *entries,
                      BatchPlan *plan) {
  ResultTeller ignored;
  return prepareEvaluation(session, data, entries, plan, &ignored);
}

//===----------------------------------------------------------------------===//
// A worker
//===----------------------------------------------------------------------===//

Status EvaluatingReplica::refuseTables(const Layout &layout) {
  return Status::error(
      StatusCode::InvalidArgument, "workers cannot evaluate",
      "--evaluation-shards",
      "of '" + layout.manifest.variables(layout.tables[0].variable).name() +
          "' they have the rows of their steps alone",
      "leave it out: the chief evaluates");
}

Status EvaluatingReplica::create(Session &session, const Layout &layout,
                                 const Dataset &data, SessionReplica &steps,
                                 std::unique_ptr<EvaluatingReplica> *out) {
  if (!layout.tables.empty())
    return refuseTables(layout);
  std::unique_ptr<EvaluatingReplica> made(
      new EvaluatingReplica(session, steps));
  BatchPlan plan;
  DIST_RETURN_IF_ERROR(prepare(session, data, &made->entries, &plan));
  made->batchCount = plan.endBatch;
  made->batches.emplace(data, plan);
  *out = std::move(made);
  return Status();
}

Status EvaluatingReplica::begin(int64_t closure) {
  part.reset();
  return steps.begin(closure);
}

Status EvaluatingReplica::beginWork(int64_t, const Buffer &work) {
  EvaluationBody body;
  if (!unpack(work, &body) || body.first < 0 || body.count < 1 ||
      body.first > batchCount - body.count)
    return Status::error(
        StatusCode::InvalidInput, "the chief evaluates other data", "",
        "this worker has " + std::to_string(batchCount) + " batches",
        "give all processes the same");
  part = body;
  return Status();
}

Status EvaluatingReplica::compute(ReportBody *report, Buffer *gained,
                                  bool *isPushed) {
  if (!part)
    return steps.compute(report, gained, isPushed);
  *isPushed = false;
  DIST_RETURN_IF_ERROR(steps.writeParameters());
  DIST_RETURN_IF_ERROR(metrics.reset());
  for (int64_t i = 0; i < part->count; ++i) {
    batches->make(part->first + i, &batch);
    StepResult result;
    DIST_RETURN_IF_ERROR(entries.run(batch, &result));
    EvaluatedBatch one;
    one.loss = result.loss;
    one.examples = batch.examples;
    const char *bytes = reinterpret_cast<const char *>(&one);
    gained->insert(gained->end(), bytes, bytes + sizeof one);
    DIST_RETURN_IF_ERROR(takeMetrics(session, gained));
    DIST_RETURN_IF_ERROR(metrics.reset());
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// The chief
//===----------------------------------------------------------------------===//

Status ClosureEvaluation::measure(Session &session, const Dataset &data,
                                  EvaluationFacts *out) {
  EntryPair entries;
  BatchPlan plan;
  DIST_RETURN_IF_ERROR(prepare(session, data, &entries, &plan));
  out->batches = plan.endBatch;
  for (const EntryCall *call : entries.calls())
    if (*call)
      out->batchSeconds = std::max(out->batchSeconds, call->entry().seconds());
  return Status();
}

void ClosureEvaluation::schedule(int64_t batches) {
  const size_t perBatch = sizeof(EvaluatedBatch) + session.gainBytes();
  const int64_t most = std::max<int64_t>(
      1, int64_t((largest - std::min(largest, sizeof(ReportBody))) / perBatch));
  // More parts than batches, and a sum with them, may be no number any more.
  const int64_t wanted =
      std::clamp<int64_t>(parts, 1, std::max<int64_t>(batches, 1));
  perPart = std::min(most, (batches + wanted - 1) / wanted);
  first = next;
  coordinator.begin(first);
  for (int64_t from = 0; from < batches; from += perPart) {
    EvaluationBody body;
    body.first = from;
    body.count = std::min(perPart, batches - from);
    coordinator.schedule(next++, pack(body));
  }
}

Status ClosureEvaluation::take(const Completion &part) {
  const size_t gains = session.gainBytes();
  const size_t perBatch = sizeof(EvaluatedBatch) + gains;
  const int64_t from = (part.closure - first) * perPart;
  const int64_t count = std::min(perPart, int64_t(results.size()) - from);
  if (part.metrics.size() != size_t(count) * perBatch)
    return Status::error(
        StatusCode::Unavailable, "a worker has another package",
        "worker " + std::to_string(part.worker), "", "start the cluster anew");
  const char *bytes = part.metrics.data();
  for (int64_t i = 0; i < count; ++i, bytes += perBatch) {
    Result &result = results[from + i].emplace();
    std::memcpy(&result.batch, bytes, sizeof result.batch);
    result.gained.assign(bytes + sizeof result.batch, bytes + perBatch);
  }
  return Status();
}

Status ClosureEvaluation::addUp(Evaluation *out) {
  double loss = 0;
  for (const std::optional<Result> &one : results) {
    if (!one)
      return Status::error(StatusCode::Internal, "a batch was not evaluated");
    DIST_RETURN_IF_ERROR(session.addGains(one->gained));
    loss += double(one->batch.loss) * double(one->batch.examples);
    out->examples += one->batch.examples;
  }
  Metrics metrics(session);
  if (!metrics.has("loss"))
    out->values.emplace_back("loss", loss / double(out->examples));
  DIST_RETURN_IF_ERROR(metrics.read(&out->values));
  return metrics.reset();
}

Status ClosureEvaluation::evaluate(Evaluation *out,
                                   const std::function<bool()> &stops) {
  EntryPair entries;
  BatchPlan plan;
  *out = Evaluation();
  DIST_RETURN_IF_ERROR(prepare(session, data, &entries, &plan));
  DIST_RETURN_IF_ERROR(Metrics(session).reset());
  DIST_RETURN_IF_ERROR(session.beginClosures());
  results.assign(plan.endBatch, std::nullopt);
  schedule(plan.endBatch);
  while (!coordinator.isDone() && !out->stopped) {
    out->stopped = stops && stops();
    std::optional<Completion> part;
    DIST_RETURN_IF_ERROR(coordinator.next(Mail::Clock::now() + kLook, &part));
    if (part)
      DIST_RETURN_IF_ERROR(take(*part));
  }
  if (!out->stopped)
    return addUp(out);
  // Whoever is late has nothing more to say, nor what has come and is not told.
  coordinator.cancel();
  coordinator.begin(next);
  std::optional<Completion> untold;
  do
    DIST_RETURN_IF_ERROR(coordinator.next(Mail::Clock::now(), &untold));
  while (untold);
  return Status();
}

} // namespace dist::ps
