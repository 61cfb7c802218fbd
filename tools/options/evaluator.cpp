//===- evaluator.cpp - The evaluator beside a cluster ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TF_CONFIG's task `evaluator` is given the command of the other tasks, `fit`
// with a strategy of several processes. What it does is `evaluate --follow`, in
// one process: of the options it takes those that say what is evaluated.
//
//===----------------------------------------------------------------------===//
#include "tools/options/evaluator.h"
#include "tools/options/values.h"
#include <algorithm>

namespace dist::tools {

bool isOfEvaluator(const std::string &group, const std::string &name) {
  static const char *const ofMachine[] = {"--devices",      "--threads",
                                          "--target-cpu",   "--convolution",
                                          "--memory-limit", "--machine"};
  if (group == "Strategy")
    return std::find(std::begin(ofMachine), std::end(ofMachine), name) !=
           std::end(ofMachine);
  // What a run writes is the chief's.
  static const char *const ofRun[] = {"--output", "--plot", "--trace",
                                      "--save-best"};
  return std::find(std::begin(ofRun), std::end(ofRun), name) == std::end(ofRun);
}

/// `runs/history.evaluator.jsonl`: the other is the chief's.
static std::string besideHistory(const std::string &path) {
  const size_t slash = path.rfind('/');
  const size_t start = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = path.rfind('.');
  const bool hasEnding = dot != std::string::npos && dot > start;
  const size_t at = hasEnding ? dot : path.size();
  return path.substr(0, at) + ".evaluator" + path.substr(at);
}

Status becomeEvaluator(Options *options) {
  Options &o = *options;
  if (o.checkpoint.empty())
    return Status::error(StatusCode::InvalidArgument,
                         "the evaluator has no states to read", "--checkpoint",
                         "the chief saves none",
                         "add --checkpoint DIR to all tasks, a folder that "
                         "they share");
  if (o.validationData.empty() && o.validationSplit == 0)
    return Status::error(StatusCode::InvalidArgument,
                         "the evaluator has nothing to evaluate on",
                         "--validation-data", "there are no validation data",
                         "add --validation-data, or --validation-split");
  o.command = "evaluate";
  o.follow = o.isEvaluator = true;
  if (!o.validationData.empty())
    o.data = o.validationData;
  if (!o.history.empty())
    o.history = besideHistory(o.history);
  if (!isPackage(o.model) && o.devices.size() > 1) {
    o.strategies.push_back({"mirrored", {}});
    o.compileArguments.push_back("--strategy=mirrored");
  }
  return Status();
}

} // namespace dist::tools
