//===- Metrics.cpp - Metrics as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas of Keras 3. To add a metric: a function and a row of the table.
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Metrics.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist::graph;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}
static bool hasClassLabels(const LossInputs &in) {
  return isa<IntegerType>(typeOf(in.label).getElementType());
}
/// Scores of the classes; softmax keeps their order, so logits do.
static Value getScores(const LossInputs &in) {
  return in.logits ? in.logits : in.prediction;
}
static Value toNumber(GraphBuilder &g, Value predicate, const LossInputs &in) {
  return g.convert(predicate, typeOf(in.prediction).getElementType());
}

/// Class numbers of the labels, as i64.
static Value getClasses(GraphBuilder &g, const LossInputs &in) {
  if (hasClassLabels(in))
    return g.convert(in.label, g.getBuilder().getI64Type());
  return g.make<ArgMaxOp>(in.label, uint64_t(typeOf(in.label).getRank() - 1),
                          /*select_last=*/false);
}

static bool checkClasses(const LossInputs &in, StringRef metric,
                         EmitError emitError) {
  if (typeOf(in.prediction).getRank() >= 2)
    return true;
  emitError() << "--metrics: '" << metric
              << "' needs an output of one score a class, but got "
              << in.prediction.getType();
  return false;
}

static Value buildBinaryAccuracy(GraphBuilder &g, const LossInputs &in,
                                 const TrainingSpec &spec,
                                 EmitError emitError) {
  if (hasClassLabels(in) &&
      typeOf(in.label).getShape() != typeOf(in.prediction).getShape())
    return emitError() << "--metrics: 'binary-accuracy' needs labels of the "
                          "output's shape, which --loss "
                          "sparse-categorical-crossentropy has not",
           nullptr;
  // sigmoid(x) > 1/2 where x > 0.
  double threshold = in.logits ? 0.0 : 0.5;
  Value scores = getScores(in);
  Value positive = toNumber(
      g, g.compare(ComparePredicate::GT, scores, g.like(scores, threshold)),
      in);
  Value label = g.convert(in.label, typeOf(positive).getElementType());
  return toNumber(g, g.compare(ComparePredicate::EQ, positive, label), in);
}

static Value buildCategoricalAccuracy(GraphBuilder &g, const LossInputs &in,
                                      const TrainingSpec &spec,
                                      EmitError emitError) {
  if (!checkClasses(in, spec.getName(), emitError))
    return nullptr;
  Value scores = getScores(in);
  Value guess = g.make<ArgMaxOp>(scores, uint64_t(typeOf(scores).getRank() - 1),
                                 /*select_last=*/false);
  Value right = g.compare(ComparePredicate::EQ, guess, getClasses(g, in));
  return toNumber(g, right, in);
}

/// keras/src/trainers/compile_utils.py, `get_metric`: by the shapes.
static Value buildAccuracy(GraphBuilder &g, const LossInputs &in,
                           const TrainingSpec &spec, EmitError emitError) {
  RankedTensorType type = typeOf(in.prediction);
  bool binary = !hasClassLabels(in) &&
                (type.getRank() < 2 || type.getShape().back() == 1);
  return binary ? buildBinaryAccuracy(g, in, spec, emitError)
                : buildCategoricalAccuracy(g, in, spec, emitError);
}

/// The op that the output comes out of, seen through conversions.
static Operation *findLastOp(const LossInputs &in) {
  Operation *last = in.prediction.getDefiningOp();
  while (isa_and_nonnull<ConvertOp>(last))
    last = last->getOperand(0).getDefiningOp();
  return last;
}

static Value buildTopK(GraphBuilder &g, const LossInputs &in,
                       const TrainingSpec &spec, EmitError emitError) {
  if (!checkClasses(in, spec.getName(), emitError))
    return nullptr;
  // As tf.math.in_top_k: right if fewer than k classes score higher than the
  // label's, so that equals count as found. Wrong if an output is no finite
  // number, which counts as k that are higher: no score is above NaN, and a
  // model that diverged would be right everywhere.
  const double infinity = std::numeric_limits<double>::infinity();
  Value scores = getScores(in);
  RankedTensorType type = typeOf(scores);
  int64_t last = type.getRank() - 1;
  auto indexType = type.clone(g.getBuilder().getI64Type());
  Value classes = g.broadcastOver(getClasses(g, in), type.getShape(), {last});
  Value isLabel =
      g.compare(ComparePredicate::EQ, g.iota(indexType, last), classes);
  Value score = g.sum(g.select(isLabel, scores, g.like(scores, 0)), {last});
  Value higher = g.compare(ComparePredicate::GT, scores,
                           g.broadcastOver(score, type.getShape(), {last}));
  // Of a logit of -inf (classes that are masked) these make a finite 0.
  bool mayMask = isa_and_nonnull<SoftmaxOp, LogisticOp>(findLastOp(in));
  Value size = mayMask ? scores : g.make<AbsOp>(scores);
  Value isFinite =
      g.compare(ComparePredicate::LT, size, g.like(size, infinity));
  higher = toNumber(g, higher, in);
  Value rank =
      g.sum(g.select(isFinite, higher, g.like(higher, spec.get("k"))), {last});
  Value found = toNumber(
      g, g.compare(ComparePredicate::LT, rank, g.like(rank, spec.get("k"))),
      in);
  if (!mayMask)
    return found;
  Value hasLabel =
      g.compare(ComparePredicate::GT, score, g.like(score, -infinity));
  return g.mul(found, toNumber(g, hasLabel, in));
}

static bool checkDense(const LossInputs &in, const TrainingSpec &spec,
                       EmitError emitError) {
  if (!hasClassLabels(in))
    return true;
  emitError() << "--metrics: '" << spec.getName()
              << "' needs labels like the output, but --loss "
                 "sparse-categorical-crossentropy has class numbers";
  return false;
}

static Value buildMseMetric(GraphBuilder &g, const LossInputs &in,
                            const TrainingSpec &spec, EmitError emitError) {
  if (!checkDense(in, spec, emitError))
    return nullptr;
  return g.square(g.sub(in.prediction, in.label));
}

static Value buildMaeMetric(GraphBuilder &g, const LossInputs &in,
                            const TrainingSpec &spec, EmitError emitError) {
  if (!checkDense(in, spec, emitError))
    return nullptr;
  return g.make<AbsOp>(g.sub(in.prediction, in.label));
}

/// The output as probabilities, one an element.
static Value getProbabilities(GraphBuilder &g, const LossInputs &in) {
  Operation *last = findLastOp(in);
  if (isa_and_nonnull<LogSoftmaxOp>(last))
    return g.exp(in.prediction);
  bool isLogit = in.logits && !isa_and_nonnull<LogisticOp, SoftmaxOp>(last);
  return isLogit ? g.make<LogisticOp>(in.logits) : in.prediction;
}

/// Thresholds are evenly spaced from just below 0 to just above 1: a
/// probability lies between the last one below it and the next.
static Value buildAuc(GraphBuilder &g, const LossInputs &in,
                      const TrainingSpec &spec, EmitError emitError) {
  if (!checkDense(in, spec, emitError))
    return nullptr;
  Value probability = getProbabilities(g, in);
  RankedTensorType type = typeOf(probability);
  int64_t bins = int64_t(spec.get("thresholds")) - 1;
  Value bin = g.add(g.make<CeilOp>(g.mul(probability, double(bins))), -1.0);
  bin = g.max(g.min(bin, g.like(bin, double(bins - 1))), g.like(bin, 0));
  // NaN becomes 0: it is scored as the least.
  bin = g.convert(bin, g.getBuilder().getI64Type());
  // Each example's row: the bins of positives, then those of negatives.
  Value label = g.convert(in.label, type.getElementType());
  Value isPositive = g.compare(ComparePredicate::NE, label, g.like(label, 0));
  Value place = g.select(isPositive, bin, g.add(bin, double(bins)));
  int64_t rows = type.getDimSize(0),
          width = type.getNumElements() / std::max<int64_t>(rows, 1);
  auto number = type.getElementType();
  Value counts = g.make<ScatterElementsOp>(
      ScatterKind::Add,
      g.zeros(RankedTensorType::get({rows, 2 * bins}, number)),
      g.reshape(place, {rows, width}),
      g.splat(RankedTensorType::get({rows, width}, number), 1), /*axis=*/1);
  return g.reshape(counts, {rows, 2, bins});
}

static constexpr StringRef kAccuracySource =
    "keras/src/metrics/accuracy_metrics.py";
static constexpr StringRef kRegressionSource =
    "keras/src/metrics/regression_metrics.py";

static ArrayRef<Metric> getMetrics() {
  static const Metric table[] = {
      {{"accuracy",
        {},
        "binary-accuracy for an output of one number an example, else "
        "categorical-accuracy",
        "keras/src/trainers/compile_utils.py"},
       buildAccuracy},
      {{"categorical-accuracy", {}, "mean(argmax(p) == y)", kAccuracySource},
       buildCategoricalAccuracy},
      {{"binary-accuracy",
        {},
        "mean((p > 1/2) == y); of logits: x > 0",
        kAccuracySource},
       buildBinaryAccuracy},
      {{"top-k",
        {{"k", 5, 1, 1e9, true}},
        "mean(#(p > p[y]) < k), where all p are finite",
        kAccuracySource},
       buildTopK},
      {{"mse", {}, "mean((p - y)^2)", kRegressionSource}, buildMseMetric},
      {{"mae", {}, "mean(|p - y|)", kRegressionSource}, buildMaeMetric},
      {{"auc",
        {{"thresholds", 200, 2, 1e5, true}},
        "area under the ROC curve, by trapezoids between thresholds",
        "keras/src/metrics/confusion_metrics.py"},
       buildAuc,
       MetricState::Curve},
  };
  return table;
}

const Metric *mlir::dist::graph::findMetric(StringRef name) {
  for (const Metric &metric : getMetrics())
    if (metric.choice.name == name)
      return &metric;
  return nullptr;
}

std::vector<TrainingChoice> mlir::dist::graph::listMetrics() {
  std::vector<TrainingChoice> choices;
  for (const Metric &metric : getMetrics())
    choices.push_back(metric.choice);
  return choices;
}
