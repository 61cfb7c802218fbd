//===- OnnxLoss.cpp - Losses of ONNX, and ops that are refused -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// The loss of log-probabilities [N, C, ...] at labels [N, ...].
static Value negativeLogLikelihood(OnnxNode &n, Value logs) {
  Value labels = n.in(1), weights = n.in(2);
  std::string reduction = n.textAttr("reduction", "mean");
  bool ignores = n.hasAttr("ignore_index");
  int64_t ignored = n.intAttr("ignore_index", 0);
  auto refuse = [&](const llvm::Twine &why) {
    (void)n.fail(why);
    return Value();
  };
  if (!logs)
    return {};
  SmallVector<int64_t> shape(n.shapeOf(logs)), expected(shape);
  if (shape.size() < 2)
    return refuse("the input must have a class dim");
  expected.erase(expected.begin() + 1);
  if (n.shapeOf(labels) != ArrayRef<int64_t>(expected) || n.isFloat(labels))
    return refuse("the labels must be integers of the input's shape without "
                  "classes");
  if (weights && (n.shapeOf(weights) != ArrayRef<int64_t>{shape[1]} ||
                  n.elementOf(weights) != n.elementOf(logs)))
    return refuse("there must be a weight a class");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return refuse("reduction '" + reduction + "' is not known");

  Type type = n.elementOf(logs), label = n.elementOf(labels);
  Value zero = n.scalar(0, type);
  Value hit = n.compare(ComparePredicate::EQ, n.iota(shape, 1, label),
                        n.broadcastMissing(labels, shape, {1}));
  if (ignores) {
    Value counts =
        n.compare(ComparePredicate::NE, labels, n.intScalar(ignored, label));
    if (!counts)
      return {};
    hit = n.binary<AndOp>(hit, n.broadcastMissing(counts, shape, {1}));
  }
  Value weight = weights ? n.broadcastAlong(weights, shape, 1)
                         : n.broadcastTo(n.scalar(1, type), shape);
  Value picked = n.select(hit, n.mul(n.neg(logs), weight), zero);
  Value loss = n.reduce(Reduction::Sum, picked, {1}, false);
  if (reduction == "none" || !loss)
    return loss;
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(loss)));
  Value total = n.reduce(Reduction::Sum, loss, all, false);
  if (reduction == "sum")
    return total;
  if (!weights && !ignores)
    return n.mean(loss, all, false);
  SmallVector<int64_t> every =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  return n.div(total, n.reduce(Reduction::Sum, n.select(hit, weight, zero),
                               every, false));
}

static LogicalResult importNegativeLogLikelihoodLoss(OnnxNode &n) {
  return n.out(negativeLogLikelihood(n, n.in(0)));
}

static LogicalResult importSoftmaxCrossEntropyLoss(OnnxNode &n) {
  if (n.rankOf(n.in(0)) < 2)
    return n.fail("the input must have a class dim");
  Value logs = n.make<LogSoftmaxOp>({n.in(0)}, {n.i64("axis", 1)});
  if (n.wants(1) && failed(n.out(1, logs)))
    return failure();
  return n.out(negativeLogLikelihood(n, logs));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxLossOps() {
  static const OnnxOp rows[] = {
      {"NegativeLogLikelihoodLoss", 12, 2, 3, importNegativeLogLikelihoodLoss},
      {"SoftmaxCrossEntropyLoss", 12, 2, 3, importSoftmaxCrossEntropyLoss},
  };
  return rows;
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxRefusedOps() {
  static const char flow[] = "control flow is not supported";
  static const char flowTodo[] =
      "write the loop out before the export (in PyTorch trace the module "
      "instead of scripting it, in Keras give unroll=True)";
  static const char dynamic[] = "its result's shape depends on data";
  static const char dynamicTodo[] =
      "write it with a mask before the export (in PyTorch: torch.where), or "
      "leave it out with --outputs NAME,...";
  static const char quantized[] = "quantized arithmetic is not supported";
  static const char quantizedTodo[] = "export the model before it is quantized";
  static const char values[] = "only tensors are supported, no sequences, "
                               "optionals or strings";
  static const char valuesTodo[] =
      "leave what it computes out with --outputs NAME,...";
  static const OnnxOp rows[] = {
      {"If", 1, 0, 0, nullptr, flow, "", flowTodo},
      {"Loop", 1, 0, 0, nullptr, flow, "", flowTodo},
      {"Scan", 1, 0, 0, nullptr, flow, "", flowTodo},
      {"NonZero", 1, 0, 0, nullptr, dynamic, "", dynamicTodo},
      {"Unique", 1, 0, 0, nullptr, dynamic, "", dynamicTodo},
      {"Compress", 1, 0, 0, nullptr, dynamic, "", dynamicTodo},
      {"NonMaxSuppression", 1, 0, 0, nullptr, dynamic, "", dynamicTodo},
      {"QuantizeLinear", 1, 0, 0, nullptr, quantized, "", quantizedTodo},
      {"DequantizeLinear", 1, 0, 0, nullptr, quantized, "", quantizedTodo},
      {"DynamicQuantizeLinear", 1, 0, 0, nullptr, quantized, "", quantizedTodo},
      {"QLinearConv", 1, 0, 0, nullptr, quantized, "", quantizedTodo},
      {"QLinearMatMul", 1, 0, 0, nullptr, quantized, "", quantizedTodo},
      {"ConvInteger", 1, 0, 0, nullptr, quantized, "", quantizedTodo},
      {"SequenceConstruct", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"SequenceEmpty", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"SequenceInsert", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"SequenceErase", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"SequenceAt", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"SequenceLength", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"SequenceMap", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"SplitToSequence", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"ConcatFromSequence", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"Optional", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"OptionalGetElement", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"OptionalHasElement", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"StringNormalizer", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"StringConcat", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"StringSplit", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"RegexFullMatch", 1, 0, 0, nullptr, values, "", valuesTodo},
      {"TfIdfVectorizer", 1, 0, 0, nullptr, values, "", valuesTodo},
  };
  return rows;
}
