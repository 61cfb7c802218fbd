//===- evaluation_parts.h - Who evaluates, and in how many parts *- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --evaluation-shards auto. Workers evaluate several parts at once, and for
// each part pull all parameters, which the chief does once. More parts than
// workers let one that is faster do more, and lose less with one that is lost.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_EVALUATION_PARTS_H
#define RUNTIME_PARAMETER_SERVER_EVALUATION_PARTS_H

#include "runtime/parameter_server/layout.h"

namespace dist::ps {

struct EvaluationFacts {
  int64_t workers = 1, servers = 1;
  int64_t batches = 0;
  /// Of one batch, predicted; 0: unknown.
  double batchSeconds = 0;
  /// What is pulled for a part, and what a process sends a second.
  int64_t parameterBytes = 0;
  double bytesPerSecond = 1;
};

struct EvaluationDecision {
  int64_t parts = 0; // 0: the chief evaluates
  /// Says it, and why.
  std::string text;
};

/// Parts for each worker at most.
constexpr int64_t kMostPartsOfWorker = 5;

/// As many parts a worker as pulling for them takes a tenth of evaluating them;
/// the chief where it is no slower.
EvaluationDecision decideParts(const EvaluationFacts &facts);

/// What a worker pulls for a part; no bytes of tables, of which there is none.
int64_t parameterBytes(const Layout &layout);

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_EVALUATION_PARTS_H
