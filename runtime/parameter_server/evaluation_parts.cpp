//===- evaluation_parts.cpp - Who evaluates, and in how many parts --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/evaluation_parts.h"
#include <algorithm>
#include <cstdio>

namespace dist::ps {

static std::string countText(int64_t count, const char *what) {
  const bool isBatch = std::string(what) == "batch";
  return std::to_string(count) + " " + what +
         (count == 1 ? ""
          : isBatch  ? "es"
                     : "s");
}

static std::string secondsText(double seconds) {
  char text[32];
  if (seconds < 1)
    std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

EvaluationDecision decideParts(const EvaluationFacts &facts) {
  const int64_t workers = std::max<int64_t>(facts.workers, 1);
  const double batch = facts.batchSeconds;
  // All workers pull at once, from the servers and each for itself.
  const double pull =
      double(facts.parameterBytes) / facts.bytesPerSecond *
      std::max(1.0,
               double(workers) / double(std::max<int64_t>(facts.servers, 1)));
  const double alone = double(facts.parameterBytes) / facts.bytesPerSecond +
                       double(facts.batches) * batch;
  // Of a worker's own share of the batches.
  const double share = double(facts.batches) / double(workers) * batch;
  int64_t each = pull > 0 ? int64_t(std::min(0.1 * share / pull, 1e6))
                          : kMostPartsOfWorker;
  each = std::clamp<int64_t>(each, 1, kMostPartsOfWorker);
  const int64_t parts =
      std::min(each * workers, std::max<int64_t>(facts.batches, 1));
  const int64_t perPart = (facts.batches + parts - 1) / parts;
  const int64_t turns = (parts + workers - 1) / workers;
  const double together = double(turns) * (pull + double(perPart) * batch);
  const std::string batches = countText(facts.batches, "batch");
  EvaluationDecision decision;
  decision.text = "--evaluation-shards auto takes ";
  if (batch <= 0) {
    decision.text += "0: the chief evaluates, as the package does not say how "
                     "long a batch takes";
  } else if (together < alone) {
    decision.parts = parts;
    decision.text += std::to_string(parts) + ": " +
                     countText(workers, "worker") + " evaluate " + batches +
                     " in " + countText(parts, "part") + ", and pull " +
                     std::to_string(facts.parameterBytes) +
                     " bytes for each, in about " + secondsText(together) +
                     "; the chief would take " + secondsText(alone);
  } else {
    decision.text += "0: the chief evaluates " + batches + " in about " +
                     secondsText(alone) + "; " + countText(workers, "worker") +
                     (workers == 1 ? ", which pulls " : ", which pull ") +
                     std::to_string(facts.parameterBytes) +
                     " bytes for each part, would take " +
                     secondsText(together);
  }
  return decision;
}

int64_t parameterBytes(const Layout &layout) {
  size_t bytes = 0;
  for (const ServerLayout &server : layout.servers)
    bytes += server.partBytes;
  return int64_t(bytes);
}

} // namespace dist::ps
