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
  Value loss = n.reduce(ReduceKind::Sum, picked, {1}, false);
  if (reduction == "none" || !loss)
    return loss;
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(loss)));
  Value total = n.reduce(ReduceKind::Sum, loss, all, false);
  if (reduction == "sum")
    return total;
  if (!weights && !ignores)
    return n.mean(loss, all, false);
  SmallVector<int64_t> every =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  return n.div(total, n.reduce(ReduceKind::Sum, n.select(hit, weight, zero),
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
  static const char flow[] = "control flow is not supported; write the loop "
                             "out in the model, or resolve the branch, before "
                             "the export";
  static const char recurrent[] = "recurrent cells are not supported; export "
                                  "them unrolled (in Keras: unroll=True)";
  static const char dynamic[] = "its result's shape depends on data";
  static const char random[] =
      "random numbers as NumPy's generator gives them are not supported";
  static const char quantized[] = "quantized arithmetic is not supported";
  static const char values[] = "only tensors are supported, no sequences, "
                               "optionals or strings";
  static const OnnxOp rows[] = {
      {"If", 1, 0, 0, nullptr, flow},
      {"Loop", 1, 0, 0, nullptr, flow},
      {"Scan", 1, 0, 0, nullptr, flow},
      {"RNN", 1, 0, 0, nullptr, recurrent},
      {"GRU", 1, 0, 0, nullptr, recurrent},
      {"LSTM", 1, 0, 0, nullptr, recurrent},
      {"NonZero", 1, 0, 0, nullptr, dynamic},
      {"Unique", 1, 0, 0, nullptr, dynamic},
      {"Compress", 1, 0, 0, nullptr, dynamic},
      {"NonMaxSuppression", 1, 0, 0, nullptr, dynamic},
      {"Bernoulli", 1, 0, 0, nullptr, random},
      {"Multinomial", 1, 0, 0, nullptr, random},
      {"RandomNormal", 1, 0, 0, nullptr, random},
      {"RandomNormalLike", 1, 0, 0, nullptr, random},
      {"RandomUniform", 1, 0, 0, nullptr, random},
      {"RandomUniformLike", 1, 0, 0, nullptr, random},
      {"QuantizeLinear", 1, 0, 0, nullptr, quantized},
      {"DequantizeLinear", 1, 0, 0, nullptr, quantized},
      {"DynamicQuantizeLinear", 1, 0, 0, nullptr, quantized},
      {"QLinearConv", 1, 0, 0, nullptr, quantized},
      {"QLinearMatMul", 1, 0, 0, nullptr, quantized},
      {"ConvInteger", 1, 0, 0, nullptr, quantized},
      {"SequenceConstruct", 1, 0, 0, nullptr, values},
      {"SequenceEmpty", 1, 0, 0, nullptr, values},
      {"SequenceInsert", 1, 0, 0, nullptr, values},
      {"SequenceErase", 1, 0, 0, nullptr, values},
      {"SequenceAt", 1, 0, 0, nullptr, values},
      {"SequenceLength", 1, 0, 0, nullptr, values},
      {"SequenceMap", 1, 0, 0, nullptr, values},
      {"SplitToSequence", 1, 0, 0, nullptr, values},
      {"ConcatFromSequence", 1, 0, 0, nullptr, values},
      {"Optional", 1, 0, 0, nullptr, values},
      {"OptionalGetElement", 1, 0, 0, nullptr, values},
      {"OptionalHasElement", 1, 0, 0, nullptr, values},
      {"StringNormalizer", 1, 0, 0, nullptr, values},
      {"StringConcat", 1, 0, 0, nullptr, values},
      {"StringSplit", 1, 0, 0, nullptr, values},
      {"RegexFullMatch", 1, 0, 0, nullptr, values},
      {"TfIdfVectorizer", 1, 0, 0, nullptr, values},
  };
  return rows;
}
