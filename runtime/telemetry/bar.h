//===- bar.h - Progress as a line of text -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TELEMETRY_BAR_H
#define RUNTIME_TELEMETRY_BAR_H

#include "runtime/telemetry/rows.h"

namespace dist {

/// Renders progress; the caller, who owns the terminal, prints it.
class Bar {
public:
  /// `columns`: of the terminal.
  explicit Bar(int columns, int64_t epochs)
      : columns(columns), epochs(epochs) {}
  /// The line after a step, or empty when the last one is recent (a terminal is
  /// slower than a step). `now`: seconds on any clock.
  std::string step(const StepRow &row, double now);

private:
  int columns;
  int64_t epochs;
  int64_t epoch = 0, examples = 0;
  double began = 0, drawn = -1, lossSum = 0;
};

/// The plain line after an epoch: "epoch 1/5: loss 0.1234, accuracy 0.98, ...".
std::string epochLine(const EpochRow &row, int64_t epochs, int64_t examples);

} // namespace dist

#endif // RUNTIME_TELEMETRY_BAR_H
