//===- result_teller.cpp - What steps gave, in every process ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/result_teller.h"
#include "runtime/train/averaging.h"
#include "runtime/core/processes.h"
#include <algorithm>
#include <numeric>

namespace dist {

Status ResultTeller::create(Session &session, const Status &mine,
                            const std::vector<const EntryCall *> &calls,
                            ResultTeller *out) {
  *out = ResultTeller();
  out->session = &session;
  if (session.processes() == 1)
    return mine;
  out->hasAll = std::all_of(calls.begin(), calls.end(), [](const EntryCall *c) {
    return !*c || c->hasResults();
  });
  out->adds = stepsPerSync(session.manifest()) > 0;
  std::vector<std::string> texts;
  Status outcome;
  DIST_RETURN_IF_ERROR(
      share(session, mine, out->hasAll ? "all" : "", &texts, &outcome));
  DIST_RETURN_IF_ERROR(outcome);
  auto first = std::find(texts.begin(), texts.end(), "all");
  if (first == texts.end())
    return Status::error(StatusCode::InvalidInput,
                         "no process has all results of a step",
                         session.manifest().model_name(),
                         "they are of stages in different processes",
                         "place all stages of the pipeline in each process");
  if (std::count(texts.begin(), texts.end(), "all") < int64_t(texts.size()))
    out->source = int(first - texts.begin());
  return Status();
}

Status ResultTeller::prepare(int64_t mostCalls) {
  if (!adds && source < 0)
    return Status();
  std::vector<int> from{source};
  if (adds) {
    from.resize(session->processes());
    std::iota(from.begin(), from.end(), 0);
  }
  most = size_t(mostCalls);
  told.assign(from.size() * most, StepResult());
  return session->prepareTelling(from, mostCalls * int64_t(sizeof(StepResult)),
                                 &telling);
}

Status ResultTeller::tell(StepResult *results, size_t count) {
  if (!telling)
    return Status();
  if (count > most)
    return Status::error(StatusCode::Internal, "processes cannot agree",
                         session->manifest().model_name(),
                         std::to_string(count) +
                             " calls' results are to be told, and " +
                             std::to_string(most) + " were prepared");
  // A part of each process that tells, one behind the other.
  if (adds || session->process() == source)
    std::copy(results, results + count,
              told.begin() + (adds ? session->process() * count : 0));
  DIST_RETURN_IF_ERROR(
      telling->tell(told.data(), int64_t(count * sizeof(StepResult))));
  if (!adds) {
    std::copy(told.begin(), told.begin() + count, results);
    return Status();
  }
  const size_t parts = told.size() / most;
  // In the processes' order: all have the same bits.
  for (size_t i = 0; i < count; ++i) {
    results[i].loss = 0;
    for (size_t at = i; at < parts * count; at += count) {
      results[i].loss += told[at].loss;
      results[i].finite &= told[at].finite;
    }
  }
  return Status();
}

bool ResultTeller::isTold() const { return adds || (source >= 0 && !hasAll); }

} // namespace dist
