//===- Losses.cpp - Losses as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas of Keras 3 with its TensorFlow backend, which clips probabilities by
// epsilon = 1e-7. To add a loss: a function and a row of the table.
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Losses.h"

using namespace mlir;
using namespace mlir::dist::graph;

static constexpr double kEpsilon = 1e-7;
static constexpr StringRef kSmoothing = "label-smoothing";

static int64_t getLastDim(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() - 1;
}

static Value clipProbability(GraphBuilder &g, Value p) {
  return g.min(g.max(p, g.like(p, kEpsilon)), g.like(p, 1 - kEpsilon));
}

/// (1 - s) y + s `mean`: the label is so likely, and the rest is spread.
static Value smoothLabel(GraphBuilder &g, Value label, const TrainingSpec &spec,
                         double mean) {
  double smoothing = spec.get(kSmoothing);
  if (smoothing == 0)
    return label;
  return g.add(g.mul(label, 1 - smoothing), smoothing * mean);
}

static Value buildSparseCrossEntropy(GraphBuilder &g, const LossInputs &in,
                                     const TrainingSpec &spec) {
  // From probabilities Keras takes log(p) for the logits, and so normalizes.
  Value logits =
      in.logits ? in.logits : g.log(clipProbability(g, in.prediction));
  Value loss = g.make<CrossEntropyOp>(logits, in.label);
  double smoothing = spec.get(kSmoothing);
  if (smoothing == 0)
    return loss;
  int64_t last = getLastDim(logits);
  double classes = cast<RankedTensorType>(logits.getType()).getShape().back();
  Value all = g.sum(g.make<LogSoftmaxOp>(logits, uint64_t(last)), {last});
  return g.sub(g.mul(loss, 1 - smoothing), g.mul(all, smoothing / classes));
}

static Value buildCrossEntropy(GraphBuilder &g, const LossInputs &in,
                               const TrainingSpec &spec) {
  int64_t last = getLastDim(in.prediction);
  double classes =
      cast<RankedTensorType>(in.prediction.getType()).getShape().back();
  Value label = smoothLabel(g, in.label, spec, 1 / classes);
  Value logProbability;
  if (in.logits) {
    logProbability = g.make<LogSoftmaxOp>(in.logits, uint64_t(last));
  } else {
    Value p = in.prediction;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(p.getType()).getShape();
    p = g.div(p, g.broadcastOver(g.sum(p, {last}), shape, {last}));
    logProbability = g.log(clipProbability(g, p));
  }
  return g.neg(g.sum(g.mul(label, logProbability), {last}));
}

static Value buildBinaryCrossEntropy(GraphBuilder &g, const LossInputs &in,
                                     const TrainingSpec &spec) {
  Value label = smoothLabel(g, in.label, spec, 0.5);
  if (Value x = in.logits) {
    // max(x, 0) - x y + log(1 + exp(-|x|)), which overflows for no x; from one
    // side at 0, where relu and abs would have no derivative, and the whole has
    // 1/2 - y: the logits of a layer that begins with zeros.
    Value zero = g.like(x, 0);
    Value isRight = g.compare(ComparePredicate::GE, x, zero);
    Value tail = g.make<Log1pOp>(g.exp(g.select(isRight, g.neg(x), x)));
    return g.add(g.sub(g.select(isRight, x, zero), g.mul(x, label)), tail);
  }
  Value p = clipProbability(g, in.prediction);
  Value one = g.like(p, 1);
  Value positive = g.mul(label, g.log(p));
  Value negative = g.mul(g.sub(one, label), g.log(g.sub(one, p)));
  return g.neg(g.add(positive, negative));
}

static Value buildMse(GraphBuilder &g, const LossInputs &in,
                      const TrainingSpec &) {
  return g.square(g.sub(in.prediction, in.label));
}

static Value buildMae(GraphBuilder &g, const LossInputs &in,
                      const TrainingSpec &) {
  return g.make<AbsOp>(g.sub(in.prediction, in.label));
}

static Value buildHuber(GraphBuilder &g, const LossInputs &in,
                        const TrainingSpec &spec) {
  double delta = spec.get("delta");
  Value error = g.sub(in.prediction, in.label);
  Value magnitude = g.make<AbsOp>(error);
  Value inside =
      g.compare(ComparePredicate::LE, magnitude, g.like(magnitude, delta));
  return g.select(inside, g.mul(g.square(error), 0.5),
                  g.add(g.mul(magnitude, delta), -0.5 * delta * delta));
}

/// The sum over an example's elements, as the mean over them that is taken
/// behind it wants it.
static Value buildInnerProduct(GraphBuilder &g, const LossInputs &in,
                               const TrainingSpec &) {
  Value products = g.mul(in.prediction, in.label);
  int64_t last = getLastDim(products);
  return last == 0 ? products
                   : g.sum(products,
                           llvm::to_vector(llvm::seq<int64_t>(1, last + 1)));
}

static constexpr StringRef kLossSource = "keras/src/losses/losses.py";
static constexpr StringRef kBackendSource =
    "keras/src/backend/tensorflow/nn.py";

ArrayRef<Loss> mlir::dist::graph::getLosses() {
  static const Loss table[] = {
      {{"sparse-categorical-crossentropy",
        {{kSmoothing, 0, 0, 1},
         {kIgnoreIndexKey, 0, -2147483648.0, 2147483647.0, true}},
        "-log(softmax(x))[y]; of probabilities: x = log(clip(p)); smoothed by "
        "s as PyTorch does: (1 - s) of it, and s of the mean over all classes; "
        "labels equal to ignore-index (none if it is not given) do not count: "
        "the mean is over the others of the batch",
        kBackendSource},
       FusedActivation::Softmax,
       true,
       buildSparseCrossEntropy},
      {{"categorical-crossentropy",
        {{kSmoothing, 0, 0, 1}},
        "-sum(y log(softmax(x))); of probabilities: -sum(y log(clip(p / "
        "sum(p)))); smoothed by s: y = (1 - s) y + s / classes",
        kBackendSource},
       FusedActivation::Softmax,
       false,
       buildCrossEntropy},
      {{"binary-crossentropy",
        {{kSmoothing, 0, 0, 1}},
        "max(x, 0) - x y + log(1 + exp(-|x|)); of probabilities: "
        "-(y log(clip(p)) + (1 - y) log(1 - clip(p))); smoothed by s: "
        "y = (1 - s) y + s / 2",
        kBackendSource},
       FusedActivation::Sigmoid,
       false,
       buildBinaryCrossEntropy},
      {{"mse", {}, "mean((p - y)^2)", kLossSource},
       FusedActivation::None,
       false,
       buildMse},
      {{"mae", {}, "mean(|p - y|)", kLossSource},
       FusedActivation::None,
       false,
       buildMae},
      {{"huber",
        {{"delta", 1.0, 1e-30}},
        "mean(|e| <= delta ? e^2 / 2 : delta |e| - delta^2 / 2), e = p - y",
        kLossSource},
       FusedActivation::None,
       false,
       buildHuber},
      {{"inner-product",
        {},
        "sum(p y): its gradient by the output is y, which another model's "
        "backward pass has given",
        ""},
       FusedActivation::None,
       false,
       buildInnerProduct},
  };
  return table;
}

const Loss *mlir::dist::graph::findLoss(StringRef name) {
  for (const Loss &loss : getLosses())
    if (loss.choice.name == name)
      return &loss;
  return nullptr;
}

std::vector<TrainingChoice> mlir::dist::graph::listLosses() {
  std::vector<TrainingChoice> choices;
  for (const Loss &loss : getLosses())
    choices.push_back(loss.choice);
  choices.push_back({"none", {}, "the model's own output is the loss", ""});
  return choices;
}
