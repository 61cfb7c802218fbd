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
#include <cstring>

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

/// Each process's of a text that all have given, if it is as long as ours.
static Status readResults(const std::vector<std::string> &texts, size_t source,
                          std::vector<StepResult> *results) {
  if (texts[source].size() != results->size() * sizeof(StepResult))
    return Status::error(StatusCode::Internal, "processes cannot agree",
                         "process " + std::to_string(source),
                         "it made another number of steps");
  if (!results->empty())
    std::memcpy(results->data(), texts[source].data(), texts[source].size());
  return Status();
}

Status ResultTeller::add(StepResult *results, size_t count) const {
  std::string mine(reinterpret_cast<const char *>(results),
                   count * sizeof(StepResult));
  std::vector<std::string> texts;
  DIST_RETURN_IF_ERROR(session->exchange(mine, &texts));
  // In the processes' order: all have the same bits.
  for (size_t i = 0; i < count; ++i)
    results[i].loss = 0;
  std::vector<StepResult> part(count);
  for (size_t process = 0; process < texts.size(); ++process) {
    DIST_RETURN_IF_ERROR(readResults(texts, process, &part));
    for (size_t i = 0; i < count; ++i) {
      results[i].loss += part[i].loss;
      results[i].finite &= part[i].finite;
    }
  }
  return Status();
}

Status ResultTeller::tell(StepResult *results, size_t count) const {
  if (adds)
    return add(results, count);
  if (source < 0)
    return Status();
  std::string mine;
  if (session->process() == source)
    mine.assign(reinterpret_cast<const char *>(results),
                count * sizeof(StepResult));
  std::vector<std::string> texts;
  DIST_RETURN_IF_ERROR(session->exchange(mine, &texts));
  std::vector<StepResult> told(count);
  DIST_RETURN_IF_ERROR(readResults(texts, source, &told));
  std::copy(told.begin(), told.end(), results);
  return Status();
}

bool ResultTeller::isTold() const { return adds || (source >= 0 && !hasAll); }

} // namespace dist
