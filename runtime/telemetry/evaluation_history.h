//===- evaluation_history.h - A line a state that was evaluated -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TELEMETRY_EVALUATION_HISTORY_H
#define RUNTIME_TELEMETRY_EVALUATION_HISTORY_H

#include "runtime/formats/named_lock.h"
#include "runtime/telemetry/writers.h"

namespace dist {

/// The JSON-lines file of who evaluates a run's states as they come. It
/// outlives its writer: the next one goes on behind what is there, and
/// evaluates none of it again.
class EvaluationHistory {
public:
  /// Makes the file, or goes on with it, but for the part of a line that a full
  /// disk has left. `known`: of its rows, which states they are of, without
  /// values. A file that is no pipe is locked; `note`: if it cannot be. Errors:
  /// another process has it, which the error names; it holds other lines, as a
  /// training's history; it is as it was then.
  Status open(const std::string &path, std::vector<EvaluationRow> *known,
              std::string *note);
  Status add(const EvaluationRow &row);

private:
  Status takeLock(const std::string &path, std::string *note);

  NamedLock lock;
  LineFile file;
};

} // namespace dist

#endif // RUNTIME_TELEMETRY_EVALUATION_HISTORY_H
