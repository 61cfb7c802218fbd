//===- values.cpp - Grammars of option values -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/values.h"
#include "runtime/core/text.h"
#include "runtime/formats/text_file.h"
#include "tools/options/strategies.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>

namespace dist::tools {

/// More devices than this are a typing error.
static constexpr int64_t kDeviceLimit = 4096;
/// The batch is a multiple of the weights' sum.
static constexpr int64_t kWeightLimit = 1 << 20;

std::string formatGiB(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GiB", bytes / (1 << 30));
  return text;
}

std::string formatNeededGiB(double bytes) {
  double size = bytes / (1 << 30);
  double unit = size > 0 ? std::pow(10, std::floor(std::log10(size)) - 3) : 1;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g GiB", std::ceil(size / unit) * unit);
  return text;
}

Status wrongValue(const std::string &option, const std::string &why,
                  const std::string &todo) {
  return Status::error(StatusCode::InvalidArgument, "wrong option value",
                       option, why, todo);
}

Status parseInteger(const std::string &option, const std::string &text,
                    int64_t least, int64_t *out) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least)
    return wrongValue(option,
                      "expected an integer of at least " +
                          std::to_string(least) + ", but got '" + text + "'",
                      "see --help");
  *out = value;
  return Status();
}

Status parseNumber(const std::string &option, const std::string &text,
                   double least, bool leastExcluded, double *out) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(value) || value < least ||
      (leastExcluded && value == least)) {
    std::string bound = std::to_string(least);
    bound.erase(bound.find_last_not_of('0') + 1);
    if (bound.back() == '.')
      bound.pop_back();
    return wrongValue(
        option,
        "expected a number " +
            std::string(leastExcluded ? "above " : "of at least ") + bound +
            ", but got '" + text + "'",
        "see --help");
  }
  *out = value;
  return Status();
}

Status parseChoice(const std::string &option, const std::string &text,
                   const std::vector<std::string> &known) {
  if (std::find(known.begin(), known.end(), text) != known.end())
    return Status();
  std::string all;
  for (const std::string &name : known)
    all += (all.empty() ? "" : ", ") + name;
  std::string near = nearestName(text, known);
  return wrongValue(option, "unknown name '" + text + "'",
                    (near.empty() ? "" : "did you mean '" + near + "'? ") +
                        std::string("known: ") + all);
}

Status parseBatchSize(const std::string &text, BatchSize *out) {
  std::string number = text;
  size_t slash = text.find('/');
  if (slash != std::string::npos) {
    if (text.substr(slash) != "/replica")
      return wrongValue("--batch-size",
                        "expected N or N/replica, but got '" + text + "'",
                        "write for example 32 or 16/replica");
    number = text.substr(0, slash);
    out->perReplica = true;
  }
  DIST_RETURN_IF_ERROR(parseInteger("--batch-size", number, 1, &out->value));
  if (out->value > (int64_t(1) << 31))
    return wrongValue("--batch-size", text + " is too large",
                      "give at most 2147483648");
  return Status();
}

Status parseDevices(const std::string &text, std::vector<Device> *out) {
  const std::string form = "write for example cpu, cpu:2, cuda:4 or cuda[0,2]";
  out->clear();
  for (const std::string &piece : splitList(text)) {
    size_t mark = piece.find_first_of(":[");
    std::string kind = piece.substr(0, mark);
    std::string rest = mark == std::string::npos ? "" : piece.substr(mark);
    if (kind != "cpu" && kind != "cuda") {
      std::string near = nearestName(kind, {"cpu", "cuda"});
      return wrongValue("--devices", "unknown device '" + piece + "'",
                        near.empty() ? form
                                     : "did you mean '" + near + "'? " + form);
    }
    if (kind == "cuda")
      return wrongValue("--devices", "this build has no CUDA devices",
                        "use cpu or cpu:N");
    int64_t first = 0, count = 1;
    for (const Device &device : *out)
      first += device.kind == kind;
    if (!rest.empty()) {
      if (rest[0] != ':')
        return wrongValue("--devices", "malformed device '" + piece + "'",
                          form);
      DIST_RETURN_IF_ERROR(
          parseInteger("--devices", rest.substr(1), 1, &count));
    }
    if (count > kDeviceLimit || first + count > kDeviceLimit)
      return wrongValue("--devices", "too many devices in '" + text + "'",
                        "give at most " + std::to_string(kDeviceLimit));
    for (int64_t i = 0; i < count; ++i)
      out->push_back({kind, int(first + i)});
  }
  return Status();
}

/// Checks the value of a strategy's key against the table.
static Status addStrategyKey(Strategy *strategy, const std::string &key,
                             const std::string &value) {
  const StrategyRow *row = findStrategy(strategy->name);
  std::vector<std::string> names;
  for (const StrategyRow::Key &known : row->keys) {
    names.push_back(known.name);
    if (key != known.name)
      continue;
    if (known.values.empty()) {
      int64_t number = 0;
      DIST_RETURN_IF_ERROR(parseInteger(
          "--strategy " + strategy->name + ":" + key, value, 1, &number));
      if (number > INT32_MAX)
        return wrongValue("--strategy " + strategy->name + ":" + key,
                          value + " is too large",
                          "give at most " + std::to_string(INT32_MAX));
    } else {
      DIST_RETURN_IF_ERROR(parseChoice(
          "--strategy " + strategy->name + ":" + key, value, known.values));
    }
    // One of the two would be ignored.
    if (!strategy->keys.emplace(key, value).second)
      return wrongValue("--strategy " + strategy->name + ":" + key,
                        "it is given twice", "leave one of them out");
    return Status();
  }
  std::string near = nearestName(key, names);
  return wrongValue(
      "--strategy",
      "strategy '" + strategy->name + "' has no key '" + key + "'",
      near.empty() ? "leave it out" : "did you mean " + near + "?");
}

Status parseSplitPreset(const std::string &option, const std::string &text,
                        std::string *out) {
  for (const std::string &piece : splitList(text))
    DIST_RETURN_IF_ERROR(parseChoice(
        option, piece, {"auto", "mlp", "transformer", "conv", "vocab"}));
  *out = text;
  return Status();
}

std::string formatPlan(const Options &options) {
  std::string text =
      "--strategy=" + formatStrategies(options.strategies) + "\n";
  if (!options.mesh.empty())
    text += "--mesh=" + formatMesh(options.mesh) + "\n";
  text += "--devices=" + options.devices.front().kind + ":" +
          std::to_string(options.devices.size()) + "\n";
  if (options.workers > 0)
    text += "--workers=" + std::to_string(options.workers) + "\n";
  if (options.hosts > 0)
    text += "--hosts=" + std::to_string(options.hosts) + "\n";
  for (const std::string &rule : options.split)
    text += "--split=" + rule + "\n";
  if (!options.splitPreset.empty())
    text += "--split-preset=" + options.splitPreset + "\n";
  return text;
}

/// A line of a plan: an option and its value.
static Status parsePlanLine(const std::string &path, const std::string &line,
                            const std::string &name, const std::string &value,
                            Options *out) {
  if (name == "--mesh") {
    out->mesh.clear();
    out->planFile = path;
    return parseMesh(value, &out->mesh);
  }
  if (name == "--devices")
    return parseDevices(value, &out->devices);
  if (name == "--split-preset")
    return parseSplitPreset(path + ": " + name, value, &out->splitPreset);
  if (name == "--split") {
    out->split.push_back(value);
    return Status();
  }
  if (name != "--workers" && name != "--hosts")
    return Status::error(StatusCode::InvalidInput, "no line of a plan", path,
                         "'" + line + "'",
                         "give --strategy=, --mesh=, --devices=, --workers=, "
                         "--hosts=, --split= or --split-preset=");
  int64_t number = 0;
  DIST_RETURN_IF_ERROR(parseInteger(path + ": " + name, value, 1, &number));
  (name == "--hosts" ? out->hosts : out->workers) = int(number);
  return Status();
}

Status parsePlan(const std::string &given, Options *out) {
  if (given.empty() || given[0] != '@')
    return parseStrategies(given, &out->strategies);
  std::string path = given.substr(1);
  std::string text, line, list;
  DIST_RETURN_IF_ERROR(readText(path, &text));
  auto isSpace = [](unsigned char c) { return std::isspace(c); };
  auto removeSpaces = [&](std::string &from) {
    from.erase(std::remove_if(from.begin(), from.end(), isSpace), from.end());
  };
  bool isNamed = false;
  std::istringstream stream(text);
  while (std::getline(stream, line)) {
    size_t equals = line.find('=');
    std::string name = line.substr(0, equals);
    removeSpaces(name);
    if (name.compare(0, 2, "--") != 0) {
      removeSpaces(line);
      list += line;
      continue;
    }
    std::string value =
        equals == std::string::npos ? "" : line.substr(equals + 1);
    // Names of variables may have spaces in them.
    while (!value.empty() && isSpace(value.back()))
      value.pop_back();
    if (name != "--split")
      removeSpaces(value);
    if (name != "--strategy") {
      DIST_RETURN_IF_ERROR(parsePlanLine(path, line, name, value, out));
      continue;
    }
    if (std::exchange(isNamed, true))
      return Status::error(StatusCode::InvalidInput, "no plan", path,
                           "it has two lines --strategy=",
                           "give all of its strategies in one, with commas");
    list += value;
  }
  if (list.empty())
    return Status::error(StatusCode::InvalidInput, "no plan", path,
                         "it names no strategy",
                         "add --strategy=NAME, or make it with --strategy auto "
                         "--save-plan");
  return parseStrategies(list, &out->strategies);
}

Status parseStrategies(const std::string &text, std::vector<Strategy> *out) {
  out->clear();
  for (const std::string &piece : splitList(text)) {
    size_t colon = piece.find(':'), equals = piece.find('=');
    // KEY=VALUE without a strategy of its own belongs to the one before it.
    std::string key = piece;
    if (equals == std::string::npos || colon < equals) {
      Strategy strategy;
      strategy.name = piece.substr(0, colon);
      DIST_RETURN_IF_ERROR(
          parseChoice("--strategy", strategy.name, strategyNames()));
      out->push_back(std::move(strategy));
      if (colon == std::string::npos)
        continue;
      key = piece.substr(colon + 1);
    }
    equals = key.find('=');
    if (out->empty() || equals == std::string::npos || equals == 0)
      return wrongValue("--strategy", "malformed piece '" + piece + "'",
                        "write NAME or NAME:key=value,...");
    DIST_RETURN_IF_ERROR(addStrategyKey(&out->back(), key.substr(0, equals),
                                        key.substr(equals + 1)));
  }
  return Status();
}

Status parseMesh(const std::string &text,
                 std::vector<std::pair<std::string, int64_t>> *out) {
  NamedValues pieces;
  for (const std::string &piece : splitList(text))
    DIST_RETURN_IF_ERROR(parseNamed("--mesh", piece, &pieces));
  for (auto &[axis, size] : pieces) {
    int64_t count = 0;
    DIST_RETURN_IF_ERROR(parseInteger("--mesh", size, 1, &count));
    for (auto &other : *out)
      if (other.first == axis)
        return wrongValue("--mesh", "axis '" + axis + "' is given twice",
                          "name each axis once");
    out->emplace_back(axis, count);
  }
  return Status();
}

Status parseWeights(const std::string &text, std::vector<int64_t> *out) {
  out->clear();
  for (const std::string &piece : splitList(text)) {
    int64_t weight = 0;
    DIST_RETURN_IF_ERROR(parseInteger("--device-weights", piece, 1, &weight));
    if (weight > kWeightLimit)
      return wrongValue("--device-weights", piece + " is too large",
                        "write the ratio in small numbers, as 3,1");
    out->push_back(weight);
  }
  return Status();
}

Status parseBatchSizes(const std::string &text, std::vector<int64_t> *out) {
  out->clear();
  for (const std::string &piece : splitList(text, ',')) {
    int64_t size = 0;
    DIST_RETURN_IF_ERROR(parseInteger("--batch-sizes", piece, 1, &size));
    if (size > (int64_t(1) << 31))
      return wrongValue("--batch-sizes", piece + " is too large",
                        "give at most 2147483648");
    if (std::find(out->begin(), out->end(), size) != out->end())
      return wrongValue("--batch-sizes", piece + " is given twice",
                        "give each once");
    out->push_back(size);
  }
  return Status();
}

Status parseNamed(const std::string &option, const std::string &text,
                  NamedValues *out) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return wrongValue(option, "expected NAME=VALUE, but got '" + text + "'",
                      "see --help");
  out->emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return Status();
}

bool namesOutput(const std::string &text) {
  for (size_t at = text.find('='); at != std::string::npos;
       at = text.find('=', at + 1))
    if (std::isalpha(static_cast<unsigned char>(text.c_str()[at + 1])))
      return true;
  return false;
}

Status parseMetrics(const std::string &text, std::vector<std::string> *out) {
  for (const std::string &piece : splitList(text)) {
    size_t colon = piece.find(':'), equals = piece.find('=');
    bool isKey = equals != std::string::npos && equals < colon;
    if (isKey && !namesOutput(piece)) {
      if (out->empty())
        return wrongValue("--metrics", "malformed piece '" + piece + "'",
                          "write NAME or NAME:key=value,...");
      out->back() += "," + piece;
      continue;
    }
    if (piece.empty())
      return wrongValue("--metrics", "an empty name in '" + text + "'",
                        "write names separated by commas");
    out->push_back(piece);
  }
  return Status();
}

} // namespace dist::tools
