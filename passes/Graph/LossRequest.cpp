//===- LossRequest.cpp - Which losses and metrics a user asks for ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/LossRequest.h"
#include "passes/Graph/Metrics.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static LogicalResult
parseLosses(const LossTexts &texts, LossRequest &request,
            llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto &terms = request.losses;
  for (StringRef text : texts.losses) {
    auto [output, choice] = splitOutput(text);
    auto parsed =
        TrainingSpec::parse(choice, listLosses(), "--loss", emitError);
    if (failed(parsed))
      return failure();
    if (!output.empty() && !texts.lossOutput.empty())
      return emitError() << "--loss-output: --loss names the output '" << output
                         << "' already; leave it out";
    if (output.empty() && texts.losses.size() > 1)
      return emitError() << "--loss: '" << text
                         << "' is one of several; write OUTPUT=" << text;
    if (llvm::any_of(terms, [&, output = output](const OutputLoss &l) {
          return l.output == output;
        }))
      return emitError() << "--loss: output '" << output
                         << "' has two losses; give one";
    OutputLoss &added = terms.emplace_back();
    added.output = output.empty() ? texts.lossOutput.str() : output.str();
    added.spec = *parsed;
    added.row = findLoss(parsed->getName());
  }
  if (terms.empty())
    return emitError() << "--loss: expected a loss";
  for (StringRef text : texts.lossWeights) {
    auto [output, number] = text.rsplit('=');
    auto found =
        llvm::find_if(terms, [&, output = output](const OutputLoss &l) {
          return l.output == output;
        });
    if (found == terms.end() || output.empty())
      return emitError() << "--loss-weights: '" << text
                         << "' names no output that --loss names";
    if (number.getAsDouble(found->weight) || !std::isfinite(found->weight))
      return emitError() << "--loss-weights: expected a number for '" << output
                         << "', but got '" << number << "'";
  }
  return success();
}

static LogicalResult
parseMetrics(const LossTexts &texts, LossRequest &request,
             llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto &terms = request.losses;
  auto &given = request.metrics;
  auto isTaken = [&](StringRef name) {
    return name == "loss" ||
           llvm::any_of(given, [&](const auto &m) { return m.name == name; });
  };
  for (StringRef text : texts.metrics) {
    auto [output, choice] = splitOutput(text);
    auto spec =
        TrainingSpec::parse(choice, listMetrics(), "--metrics", emitError);
    if (failed(spec))
      return failure();
    auto found =
        llvm::find_if(terms, [&, output = output](const OutputLoss &l) {
          return l.output == output;
        });
    if (output.empty() && terms.size() == 1)
      found = terms.begin();
    if (found == terms.end())
      return emitError() << "--metrics: '" << text
                         << "' names no output that --loss names"
                         << (output.empty() ? "; write OUTPUT=METRIC" : "");
    // Those of several outputs have their names in front, as in Keras. Two of
    // one name differ by their keys.
    std::string front = terms.size() > 1 ? found->output + "_" : "";
    std::string name = front + spec->getName().str();
    if (isTaken(name))
      name = front + choice.str();
    if (isTaken(name))
      return emitError() << "--metrics: '" << text << "' is given twice";
    if (!found->row)
      return emitError() << "--metrics: '" << name
                         << "' needs labels, which --loss none has not";
    given.push_back({unsigned(found - terms.begin()), name, *spec});
  }
  return success();
}

FailureOr<LossRequest> dist::graph::parseLossRequest(
    const LossTexts &texts,
    llvm::function_ref<InFlightDiagnostic()> emitError) {
  LossRequest request;
  if (failed(parseLosses(texts, request, emitError)) ||
      failed(parseMetrics(texts, request, emitError)))
    return failure();
  auto classes = parseClassWeights(texts.classWeights, emitError);
  if (failed(classes))
    return failure();
  request.classes = std::move(*classes);
  // The two below as in Keras.
  if (!request.classes.empty() && !texts.sampleWeights.empty())
    return emitError() << "--class-weights and --sample-weights: give one of "
                          "them; multiply the classes' into the examples'";
  if (!request.classes.empty() &&
      (request.losses.size() > 1 || !request.losses[0].row))
    return emitError() << "--class-weights: expected one loss with labels";
  return request;
}
