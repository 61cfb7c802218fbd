//===- rows.cpp - What a training run reports -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/rows.h"
#include "runtime/formats/json.h"
#include <cmath>
#include <fmt/format.h>

namespace dist {

std::string jsonNumber(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}
std::string jsonNumber(float value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}
std::string jsonString(const std::string &text) { return jsonText(text); }

std::string toJson(const StepRow &row) {
  // Seconds are a measurement: six digits, for lines that stay readable.
  return fmt::format(
      "{{\"kind\":\"step\",\"epoch\":{},\"step\":{},"
      "\"examples\":{},\"loss\":{},\"lr\":{},\"seconds\":{:.6f}}}",
      row.epoch, row.step, row.examples, jsonNumber(row.loss),
      jsonNumber(row.learningRate), row.seconds);
}

std::string toJson(const EpochRow &row) {
  std::string text =
      fmt::format("{{\"kind\":\"epoch\",\"epoch\":{}", row.epoch);
  for (auto &[name, value] : row.values)
    text += "," + jsonString(name) + ":" + jsonNumber(value);
  text += fmt::format(",\"seconds\":{:.6f}", row.seconds);
  if (row.exposedSeconds)
    text += fmt::format(",\"exposed_seconds\":{:.6f}", *row.exposedSeconds);
  return text + "}";
}

std::string toJson(const EvaluationRow &row) {
  std::string text = fmt::format(
      "{{\"kind\":\"evaluation\",\"epoch\":{},\"step\":{},"
      "\"run\":{},\"run_epoch\":{},\"examples\":{}",
      row.epoch, row.step, jsonString(row.run), row.runEpoch, row.examples);
  for (auto &[name, value] : row.values)
    text += "," + jsonString(name) + ":" + jsonNumber(value);
  return text + fmt::format(",\"seconds\":{:.6f}}}", row.seconds);
}

/// Null: it was not finite.
static double numberIn(const nlohmann::ordered_json &value) {
  return value.is_number() ? value.get<double>() : NAN;
}

void ToldRows::add(std::string_view line) {
  // Values keep their order, which is that of curves.
  const auto row = nlohmann::ordered_json::parse(line, nullptr,
                                                 /*allow_exceptions=*/false);
  if (!row.is_object() || !row.contains("kind") || !row.contains("epoch") ||
      !row["epoch"].is_number_integer())
    return;
  const auto epoch = row["epoch"].get<int64_t>();
  if (row["kind"] == "step" && row.contains("step") && row.contains("loss") &&
      row["step"].is_number_integer()) {
    StepRow one;
    one.epoch = epoch;
    one.step = row["step"].get<int64_t>();
    one.loss = float(numberIn(row["loss"]));
    steps.push_back(one);
  } else if (row["kind"] == "epoch") {
    EpochRow one;
    one.epoch = epoch;
    for (auto &[name, value] : row.items())
      if (name != "kind" && name != "epoch" && name != "seconds" &&
          name != "exposed_seconds" && (value.is_number() || value.is_null()))
        one.values.emplace_back(name, numberIn(value));
    epochs.push_back(std::move(one));
  }
}

} // namespace dist
