//===- SplitRule.cpp - A rule of --split -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Strategy/SplitRule.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<SplitRule>
SplitRule::parse(StringRef text,
                 llvm::function_ref<InFlightDiagnostic()> emitError) {
  SplitRule rule;
  rule.text = "--split " + text.str();
  auto [pattern, place] = text.rsplit('=');
  auto [dimText, axisText] = place.split(':');
  auto [axisName, priorityText] = axisText.rsplit('@');
  if (pattern.empty() || axisName.empty() || dimText.getAsInteger(10, rule.dim))
    return emitError() << rule.text
                       << ": expected REGEX=DIM:AXIS, such as 'fc1.*=1:model'";
  if (axisName.size() < axisText.size() &&
      (priorityText.getAsInteger(10, rule.priority) || rule.priority < 0))
    return emitError() << rule.text
                       << ": expected a number >= 0 behind '@', but got '"
                       << priorityText << "'";
  rule.name = pattern;
  rule.pattern = "^(" + pattern.str() + ")$";
  rule.axis = axisName;
  std::string error;
  if (!llvm::Regex(rule.pattern).isValid(error))
    return emitError() << rule.text << ": '" << pattern
                       << "' is no regular expression: " << error;
  return rule;
}
