//===- writers.h - History, event files, plots, traces -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TELEMETRY_WRITERS_H
#define RUNTIME_TELEMETRY_WRITERS_H

#include "runtime/core/session.h"
#include "runtime/telemetry/rows.h"
#include <optional>

namespace dist {

/// Appends whole lines or records, each with one write, so that a kill leaves
/// no half of one.
class LineFile {
public:
  LineFile() = default;
  ~LineFile();
  LineFile(const LineFile &) = delete;
  LineFile &operator=(const LineFile &) = delete;
  Status open(const std::string &path, bool truncate);
  Status append(const std::string &bytes);
  /// Takes that much off the end of a regular file.
  Status cut(size_t bytes);
  bool isOpen() const { return descriptor >= 0; }

private:
  int descriptor = -1;
  std::string path;
};

/// The JSON-lines file of `--history`.
class HistoryFile {
public:
  /// `resumedStep` > 0: keeps the lines of an existing file up to that step,
  /// and tells of their rows.
  Status open(const std::string &path, int64_t resumedStep,
              ToldRows *before = nullptr);
  Status add(const StepRow &row);
  Status add(const EpochRow &row) { return add(toJson(row)); }

private:
  Status add(const std::string &line) {
    return file.isOpen() ? file.append(line + "\n") : Status();
  }
  LineFile file;
  /// The epoch's row that the kept lines end with, and how long it is; 0: they
  /// end with another.
  int64_t lastEpoch = 0;
  size_t lastBytes = 0;
};

/// TensorBoard's event file: records of Event messages.
class EventFile {
public:
  /// A file of its own. `resumedStep`: of a run that goes on from there, whose
  /// events behind that step, in other files of the folder, will come again.
  Status open(const std::string &folder,
              std::optional<int64_t> resumedStep = std::nullopt);
  /// A scalar for each value, at `step`.
  Status add(int64_t step,
             const std::vector<std::pair<std::string, double>> &values);

private:
  Status record(const std::string &message);
  LineFile file;
};

/// Curves of the loss of each step, and of all epoch values, as an SVG.
std::string plotSvg(const std::vector<StepRow> &steps,
                    const std::vector<EpochRow> &epochs,
                    const std::string &title);

/// Chrome's trace format, one thread a rank.
std::string traceJson(const std::vector<TraceEvent> &events);

} // namespace dist

#endif // RUNTIME_TELEMETRY_WRITERS_H
