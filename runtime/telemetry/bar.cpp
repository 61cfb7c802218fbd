//===- bar.cpp - Progress as a line of text -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/bar.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace dist {

static std::string duration(double seconds) {
  int64_t whole = std::llround(seconds);
  if (whole < 60)
    return fmt::format("{} s", whole);
  if (whole < 3600)
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60,
                     whole % 60);
}

std::string Bar::step(const StepRow &row, double now) {
  if (row.epoch != epoch) {
    epoch = row.epoch;
    began = now - row.seconds;
    examples = 0;
    lossSum = 0;
    drawn = -1;
  }
  examples += row.examples;
  lossSum += double(row.loss) * double(row.examples);
  bool last = row.stepOfEpoch == row.stepsOfEpoch;
  if (!last && drawn >= 0 && now - drawn < 0.1)
    return "";
  drawn = now;
  double elapsed = std::max(now - began, 1e-9);
  double rest = elapsed / double(std::max<int64_t>(row.stepOfEpoch, 1)) *
                double(row.stepsOfEpoch - row.stepOfEpoch);
  std::string head =
      fmt::format("epoch {}/{} {:>{}}/{} ", row.epoch, epochs, row.stepOfEpoch,
                  std::to_string(row.stepsOfEpoch).size(), row.stepsOfEpoch);
  std::string tail =
      fmt::format(" loss {:.4f} {:.0f} examples/s {} {}",
                  lossSum / double(std::max<int64_t>(examples, 1)),
                  double(examples) / elapsed, last ? "in" : "ETA",
                  duration(last ? elapsed : rest));
  int width = std::min(30, columns - int(head.size() + tail.size()) - 3);
  std::string bar;
  if (width >= 5) {
    int64_t steps = std::max<int64_t>(row.stepsOfEpoch, 1);
    int full = int(row.stepOfEpoch * width / steps);
    bar = "[" + std::string(full, '=') + std::string(width - full, '.') + "]";
  }
  return (head + bar + tail).substr(0, std::max(columns - 1, 20));
}

std::string epochLine(const EpochRow &row, int64_t epochs, int64_t examples) {
  std::string text = fmt::format("epoch {}/{}:", row.epoch, epochs);
  for (auto &[name, value] : row.values)
    text += fmt::format(" {} {:.4f},", name, value);
  text += fmt::format(" {:.2f} s", row.seconds);
  if (row.seconds > 0)
    text += fmt::format(", {:.0f} examples/s", double(examples) / row.seconds);
  if (row.exposedSeconds && row.seconds > 0)
    text += fmt::format(", {:.0f} % of the time in collectives",
                        100 * *row.exposedSeconds / row.seconds);
  return text;
}

} // namespace dist
