//===- values.h - Grammars of option values -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_VALUES_H
#define TOOLS_OPTIONS_VALUES_H

#include "tools/options/options.h"

namespace dist::tools {

/// Each parses the value given for `option` and names both in errors.
Status parseInteger(const std::string &option, const std::string &text,
                    int64_t least, int64_t *out);
Status parseNumber(const std::string &option, const std::string &text,
                   double least, bool leastExcluded, double *out);
Status parseChoice(const std::string &option, const std::string &text,
                   const std::vector<std::string> &known);
Status parseBatchSize(const std::string &text, BatchSize *out);
Status parseDevices(const std::string &text, std::vector<Device> *out);
Status parseStrategies(const std::string &text, std::vector<Strategy> *out);
/// Strategies, or `@FILE` that holds them: as one list, or (what --save-plan
/// writes) as lines --strategy=..., --mesh=..., --devices=..., --split=...,
/// --split-preset=...
Status parsePlan(const std::string &text, Options *out);
/// Such lines.
std::string formatPlan(const Options &options);
/// `transformer,vocab`: presets in their order.
Status parseSplitPreset(const std::string &option, const std::string &text,
                        std::string *out);
Status parseMesh(const std::string &text,
                 std::vector<std::pair<std::string, int64_t>> *out);
/// `1,8,32`: each once.
Status parseBatchSizes(const std::string &text, std::vector<int64_t> *out);
/// `3,1`: positive integers.
Status parseWeights(const std::string &text, std::vector<int64_t> *out);
/// `NAME=VALUE`, both not empty.
Status parseNamed(const std::string &option, const std::string &text,
                  NamedValues *out);
/// Whether a loss or a metric is OUTPUT=NAME: keys have numbers behind their =.
bool namesOutput(const std::string &text);
/// Comma-separated names, or OUTPUT=NAME; a piece KEY=NUMBER belongs to the
/// name before it.
Status parseMetrics(const std::string &text, std::vector<std::string> *out);

/// METRIC, or METRIC:key=value,...
Status parseEarlyStopping(const std::string &option, const std::string &text,
                          EarlyStopping *out);
Status parseReduceOnPlateau(const std::string &option, const std::string &text,
                            ReduceOnPlateau *out);

/// As --memory-limit counts: `0.0131 GiB`.
std::string formatGiB(double bytes);
/// The same rounded up: a limit that is enough.
std::string formatNeededGiB(double bytes);

Status wrongValue(const std::string &option, const std::string &why,
                  const std::string &todo);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_VALUES_H
