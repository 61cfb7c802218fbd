//===- result_teller.cpp - What steps gave, in every process ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/result_teller.h"
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

Status ResultTeller::tell(StepResult *results, size_t count) const {
  if (source < 0)
    return Status();
  std::string mine;
  if (session->process() == source)
    mine.assign(reinterpret_cast<const char *>(results),
                count * sizeof(StepResult));
  std::vector<std::string> texts;
  DIST_RETURN_IF_ERROR(session->exchange(mine, &texts));
  const std::string &told = texts[source];
  if (told.size() != count * sizeof(StepResult))
    return Status::error(StatusCode::Internal, "processes cannot agree",
                         "process " + std::to_string(source),
                         "it made another number of steps");
  if (count > 0)
    std::memcpy(results, told.data(), told.size());
  return Status();
}

bool ResultTeller::isTold() const { return source >= 0 && !hasAll; }

} // namespace dist
