//===- evaluation.cpp - The host's loop over data that are not trained ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/evaluation.h"

namespace dist {

Status prepareEvaluation(Session &session, const Dataset &data,
                         EntryPair *entries, BatchPlan *plan,
                         ResultTeller *teller) {
  Status created = EntryPair::create(session, "eval_step", entries);
  DIST_RETURN_IF_ERROR(
      ResultTeller::create(session, created, entries->calls(), teller));
  DIST_RETURN_IF_ERROR(teller->prepare(/*mostCalls=*/1));
  *plan = entries->plan(session.manifest());
  plan->endBatch = BatchStream::batchesPerPass(data.examples(), *plan);
  return entries->checkShort(session.manifest(), data.examples(), *plan,
                             plan->endBatch,
                             "a part of the data (FILE[a:b]) or ");
}

Status evaluate(Session &session, const Dataset &data,
                const FitOptions &options, Evaluation *out,
                const std::function<bool()> &stops) {
  return options.evaluator
             ? options.evaluator->evaluate(out, stops)
             : evaluate(session, data, options.prefetch, out, stops);
}

Status evaluate(Session &session, const Dataset &data, int64_t prefetch,
                Evaluation *out, const std::function<bool()> &stops) {
  EntryPair entries;
  BatchPlan plan;
  ResultTeller teller;
  DIST_RETURN_IF_ERROR(
      prepareEvaluation(session, data, &entries, &plan, &teller));
  plan.prefetch = prefetch;
  Metrics metrics(session);
  DIST_RETURN_IF_ERROR(metrics.reset());
  BatchStream stream(data, plan);
  *out = Evaluation();
  double loss = 0;
  while (const Batch *batch = stream.next()) {
    bool goesOn = true;
    if (stops)
      DIST_RETURN_IF_ERROR(session.agree(!stops(), &goesOn));
    if (!goesOn) {
      out->stopped = true;
      return metrics.reset();
    }
    StepResult result;
    DIST_RETURN_IF_ERROR(entries.run(*batch, &result));
    DIST_RETURN_IF_ERROR(teller.tell(&result, 1));
    loss += double(result.loss) * double(batch->examples);
    out->examples += batch->examples;
  }
  if (!metrics.has("loss"))
    out->values.emplace_back("loss", loss / double(out->examples));
  DIST_RETURN_IF_ERROR(metrics.read(&out->values));
  return metrics.reset();
}

} // namespace dist
