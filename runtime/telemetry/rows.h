//===- rows.h - What a training run reports -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row a step, one an epoch; history, plot, event files and the bar are
// written from them. And one a saved state that was evaluated.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TELEMETRY_ROWS_H
#define RUNTIME_TELEMETRY_ROWS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dist {

struct StepRow {
  int64_t epoch = 1;    // from 1
  int64_t step = 1;     // from 1, counted from the start of training
  int64_t examples = 0; // of this batch
  float loss = 0;
  float learningRate = 0; // NaN: not known yet
  double seconds = 0;
  int64_t stepOfEpoch = 0, stepsOfEpoch = 0; // for the bar
  double inputSeconds = 0; // of `seconds`, until the batch was there
};

struct EpochRow {
  int64_t epoch = 1;
  /// loss, metrics, val_loss, val_..., in this order.
  std::vector<std::pair<std::string, double>> values;
  double seconds = 0;
  /// Of these, what the process's ranks spent in collectives, on average: what
  /// computing did not hide. None: there is one rank, or the epoch was begun by
  /// an earlier run.
  std::optional<double> exposedSeconds;
};

/// A saved state, evaluated.
struct EvaluationRow {
  int64_t step = 0, epoch = 1; // as in the rows of its run
  /// The run that saved it, and how often that was taken up by then: with the
  /// step, which state it is.
  std::string run;
  int64_t runEpoch = 0;
  int64_t examples = 0; // that it was evaluated on
  std::vector<std::pair<std::string, double>> values; // loss, metrics
  double seconds = 0;
};

/// JSON lines as cli.md has them; numbers with all their digits, null for NaN
/// and infinities.
std::string toJson(const StepRow &row);
std::string toJson(const EpochRow &row);
std::string toJson(const EvaluationRow &row);

/// Rows of a file, for what is drawn of them.
struct ToldRows {
  std::vector<StepRow> steps;
  std::vector<EpochRow> epochs;
  /// Reads a line that `toJson` has made of a row: `seconds` and what the loop
  /// alone needs are not in it. Others are left out.
  void add(std::string_view line);
};
/// A number as JSON, with as many digits as its type has.
std::string jsonNumber(double value);
std::string jsonNumber(float value);
std::string jsonString(const std::string &text);

} // namespace dist

#endif // RUNTIME_TELEMETRY_ROWS_H
