//===- AddLoss.cpp - Labels, loss and metrics of entries -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/BatchRows.h"
#include "passes/Graph/Entry.h"
#include "llvm/ADT/StringExtras.h"
#include "passes/Graph/LossRequest.h"
#include "passes/Graph/Metrics.h"
#include "passes/Graph/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_ADDLOSSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// The examples of a batch: how many count, and which.
struct Examples {
  int64_t rows;
  /// Null in a full entry.
  Value mask;
  /// f32 scalar.
  Value count;
  /// f32 factors of the examples' losses; null: none.
  Value weights;
};

struct LossValue {
  LossInputs inputs;
  /// Over the examples, or over those of their elements that count.
  Value sum;
  /// How many the sum is over: an f32 scalar.
  Value count;
  Value mean;
};

struct AddLossPass : dist::impl::AddLossPassBase<AddLossPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult parseOptions();
  LogicalResult addLosses(func::FuncOp entry, bool isPartial, bool isTraining);
  FailureOr<LossValue> buildLoss(GraphBuilder &g, func::FuncOp entry,
                                 const OutputLoss &loss, Examples &examples,
                                 bool isPartial, bool isTraining);
  LogicalResult addMetrics(GraphBuilder &g, func::FuncOp entry,
                           ArrayRef<LossValue> values,
                           const Examples &examples);
  FailureOr<std::string> findFullBatches(func::FuncOp entry);
  FailureOr<unsigned> findOutput(func::FuncOp entry, const OutputLoss &loss);
  FailureOr<LossInputs> getInputs(GraphBuilder &g, func::FuncOp entry,
                                  const OutputLoss &loss, Value output);
  FailureOr<Value> getWeights(GraphBuilder &g, func::FuncOp entry,
                              const LossInputs &inputs, int64_t rows,
                              bool isTraining);
  void addToVariable(GraphBuilder &g, StringRef name, StringRef part,
                     Value increment, NewVariable properties);
  void addMean(GraphBuilder &g, StringRef name, Value sum, Value count);

  LossRequest request;
};
} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult AddLossPass::parseOptions() {
  LossTexts texts;
  texts.losses = ArrayRef<std::string>(losses);
  texts.lossWeights = ArrayRef<std::string>(lossWeights);
  texts.metrics = ArrayRef<std::string>(metrics);
  texts.classWeights = ArrayRef<std::string>(classWeights);
  texts.lossOutput = lossOutput;
  texts.sampleWeights = sampleWeights;
  auto emitError = [&]() { return getOperation().emitError(); };
  auto parsed = parseLossRequest(texts, emitError);
  if (failed(parsed))
    return failure();
  request = std::move(*parsed);
  if (fromLogits != "auto" && fromLogits != "true" && fromLogits != "false")
    return emitError() << "--from-logits: expected auto, true or false, but "
                          "got '"
                       << fromLogits << "'";
  return success();
}

FailureOr<unsigned> AddLossPass::findOutput(func::FuncOp entry,
                                            const OutputLoss &loss) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    if (getResultRole(entry, i) != "output")
      continue;
    auto name = entry.getResultAttrOfType<StringAttr>(i, kNameAttr);
    if (loss.output.empty() || (name && name.getValue() == loss.output))
      return i;
    if (name)
      names.push_back(name.getValue());
  }
  if (names.empty())
    return entry.emitError() << "'" << entry.getSymName()
                             << "' has no output that a loss could read";
  return entry.emitError() << (lossOutput.empty() ? "--loss" : "--loss-output")
                           << ": the model has no output '" << loss.output
                           << "'; it has '" << llvm::join(names, "', '") << "'";
}

FailureOr<LossInputs> AddLossPass::getInputs(GraphBuilder &g,
                                             func::FuncOp entry,
                                             const OutputLoss &loss,
                                             Value output) {
  const Loss *lossRow = loss.row;
  RankedTensorType type = typeOf(output);
  auto floatType = dyn_cast<FloatType>(type.getElementType());
  // The last dim is that of classes.
  bool hasClasses = lossRow->activation == FusedActivation::Softmax;
  int64_t leastDims = hasClasses ? 2 : 1;
  if (!floatType || type.getRank() < leastDims)
    return entry.emitError()
           << "--loss " << lossRow->choice.name
           << ": expected the output to be "
           << (leastDims == 2 ? "floats of shape [batch, ..., classes]"
                              : "floats with the batch as dim 0")
           << ", but got " << type;

  LossInputs inputs;
  Operation *producer = output.getDefiningOp();
  if (fromLogits == "true") {
    inputs.logits = output;
  } else if (fromLogits == "auto") {
    int64_t last = type.getRank() - 1;
    auto softmax = dyn_cast_or_null<SoftmaxOp>(producer);
    auto logSoftmax = dyn_cast_or_null<LogSoftmaxOp>(producer);
    auto sigmoid = dyn_cast_or_null<LogisticOp>(producer);
    if (softmax && lossRow->activation == FusedActivation::Softmax &&
        int64_t(softmax.getAxis()) == last)
      inputs.logits = softmax.getOperand();
    else if (logSoftmax && lossRow->activation == FusedActivation::Softmax &&
             int64_t(logSoftmax.getAxis()) == last)
      inputs.logits = logSoftmax.getOperand();
    else if (sigmoid && lossRow->activation == FusedActivation::Sigmoid)
      inputs.logits = sigmoid.getOperand();
    else if (!softmax && !sigmoid &&
             lossRow->activation != FusedActivation::None)
      inputs.logits = output;
  }
  // Losses of 16-bit outputs are summed in f32.
  Type number = floatType.getWidth() < 32 ? Type(g.getBuilder().getF32Type())
                                          : Type(floatType);
  inputs.prediction = g.convert(output, number);
  if (inputs.logits)
    inputs.logits = g.convert(inputs.logits, number);

  std::string name =
      request.losses.size() > 1 ? "label/" + loss.output : "label";
  Port port;
  port.role = "label";
  port.name = name;
  port.batchDim = 0;
  RankedTensorType labelType = type.clone(number);
  if (lossRow->sparseLabels) {
    labelType = RankedTensorType::get(type.getShape().drop_back(),
                                      g.getBuilder().getI32Type());
    port.classCount = type.getShape().back();
    if (loss.spec.isGiven(kIgnoreIndexKey))
      port.ignoredLabel = int64_t(loss.spec.get(kIgnoreIndexKey));
  }
  inputs.label = addArgument(entry, labelType, port, output.getLoc());
  if (port.ignoredLabel)
    inputs.counted =
        g.compare(ComparePredicate::NE, inputs.label,
                  g.like(inputs.label, double(*port.ignoredLabel)));
  return inputs;
}

/// The sum over the examples that count.
static Value sumRows(GraphBuilder &g, Value values, const Examples &examples) {
  // Padded rows are copies of real examples: finite, but not to be counted.
  if (examples.mask)
    values =
        g.select(g.broadcast(examples.mask, typeOf(values).getShape(), {0}),
                 values, g.like(values, 0));
  return g.sum(values, {0});
}

static Value sumOfEach(GraphBuilder &g, Value values) {
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(1, typeOf(values).getRank()));
  return dims.empty() ? values : g.sum(values, dims);
}

/// The mean over each example's values; the sum over those that count, where
/// not all do.
static Value reduceEach(GraphBuilder &g, Value values, Value counted) {
  if (counted)
    return sumOfEach(g, g.select(counted, values, g.like(values, 0)));
  RankedTensorType type = typeOf(values);
  if (type.getRank() < 2)
    return values;
  double each = double(type.getNumElements()) / type.getDimSize(0);
  return g.mul(sumOfEach(g, values), 1 / each);
}

/// How many a loss is the mean of; of a batch where nothing counts 1, so that
/// its loss is 0.
static Value getDivisor(GraphBuilder &g, const LossValue &value) {
  return value.inputs.counted ? g.max(value.count, g.like(value.count, 1))
                              : value.count;
}

/// In f64: a sum of f32 stands still where each batch adds less than half of
/// its last digit, a count of single examples from 2^24 on.
void AddLossPass::addToVariable(GraphBuilder &g, StringRef name, StringRef part,
                                Value increment, NewVariable properties) {
  properties.group = "metric";
  std::string symbol = ("metric/" + name + "/" + part).str();
  auto type = typeOf(increment).clone(g.getBuilder().getF64Type());
  auto variable = addVariable(getOperation(), symbol, type, properties);
  auto reference = FlatSymbolRefAttr::get(variable.getSymNameAttr());
  Value old = g.make<ReadOp>(type, reference);
  g.create<AssignOp>(reference,
                     g.add(old, g.convert(increment, type.getElementType())));
}

static NewVariable getTotal() {
  NewVariable total;
  total.synchronization = Synchronization::OnRead;
  total.aggregation = Aggregation::Sum;
  return total;
}

/// Adds to the two variables of a mean. The count is the same on every replica,
/// so only the total needs a sum over them when it is read.
void AddLossPass::addMean(GraphBuilder &g, StringRef name, Value sum,
                          Value count) {
  NewVariable number;
  number.aggregation = Aggregation::OnlyFirst;
  addToVariable(g, name, "total", sum, getTotal());
  addToVariable(g, name, "count", count, number);
}

/// The factors of the examples' losses; null: none.
FailureOr<Value> AddLossPass::getWeights(GraphBuilder &g, func::FuncOp entry,
                                         const LossInputs &inputs, int64_t rows,
                                         bool isTraining) {
  // As in Keras, what is evaluated counts as it stands in the data.
  if (!request.classes.empty() && isTraining) {
    LossInputs known = inputs;
    // Whatever weight the others get: their losses are 0.
    if (inputs.counted)
      known.label =
          g.select(inputs.counted, inputs.label, g.like(inputs.label, 0));
    Value weights = buildClassWeights(g, known, request.classes,
                                      [&]() { return entry.emitError(); });
    if (!weights)
      return failure();
    return weights;
  }
  if (sampleWeights.empty())
    return Value();
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, kNameAttr);
    if (name && name.getValue() == sampleWeights)
      return entry.emitError()
             << "--sample-weights: '" << sampleWeights
             << "' is the name of the model's " << getArgumentRole(entry, i)
             << "; give the weights another one";
  }
  Port port;
  port.role = "label";
  port.name = sampleWeights;
  port.batchDim = 0;
  return Value(addArgument(
      entry, RankedTensorType::get({rows}, g.getBuilder().getF32Type()), port,
      g.getLoc()));
}

FailureOr<LossValue> AddLossPass::buildLoss(GraphBuilder &g, func::FuncOp entry,
                                            const OutputLoss &loss,
                                            Examples &examples, bool isPartial,
                                            bool isTraining) {
  FailureOr<unsigned> index = findOutput(entry, loss);
  if (failed(index))
    return failure();
  Value output = getReturn(entry)->getOperand(*index);
  RankedTensorType type = typeOf(output);
  bool hasBatch = type.getRank() > 0 && type.getDimSize(0) == examples.rows;
  if (!hasBatch && (loss.row || type.getRank() > 0))
    return entry.emitError()
           << "--loss " << loss.spec.getName()
           << ": expected dim 0 of the output "
           << "to be the batch of " << examples.rows << ", but got " << type;

  LossValue value;
  Value values = output;
  if (loss.row) {
    FailureOr<LossInputs> found = getInputs(g, entry, loss, output);
    if (failed(found))
      return failure();
    value.inputs = *found;
    values = loss.row->build(g, value.inputs, loss.spec);
  } else if (!isa<FloatType>(type.getElementType())) {
    return entry.emitError()
           << "--loss none: expected an output of floats, but got " << type;
  } else if (type.getElementTypeBitWidth() < 32) {
    values = g.convert(output, g.getBuilder().getF32Type());
  }

  // The same for all losses.
  if (!examples.count) {
    FailureOr<Value> weights =
        getWeights(g, entry, value.inputs, examples.rows, isTraining);
    if (failed(weights))
      return failure();
    examples.weights = *weights;
    if (isPartial) {
      examples.mask = getMask(entry, examples.rows);
      examples.count = getCount(entry);
    } else {
      examples.count =
          g.scalar(g.getBuilder().getF32Type(), double(examples.rows));
    }
  }
  if (!hasBatch) {
    if (examples.weights)
      return entry.emitError() << "--sample-weights: the loss is one number "
                                  "for a whole batch, not one an example";
    // The model has averaged already.
    value.mean = values;
    value.sum = g.mul(value.mean, double(examples.rows));
    value.count = examples.count;
    return value;
  }
  Value counted = value.inputs.counted;
  value.count =
      counted ? sumRows(g,
                        sumOfEach(
                            g, g.convert(counted, g.getBuilder().getF32Type())),
                        examples)
              : examples.count;
  Value each = reduceEach(g, values, counted);
  Type number = typeOf(each).getElementType();
  if (examples.weights)
    each = g.mul(each, g.convert(examples.weights, number));
  value.sum = sumRows(g, each, examples);
  // By the number of examples, not by the sum of weights: Keras' reduction
  // sum_over_batch_size.
  value.mean = g.div(value.sum, g.convert(getDivisor(g, value), number));
  return value;
}

LogicalResult AddLossPass::addMetrics(GraphBuilder &g, func::FuncOp entry,
                                      ArrayRef<LossValue> values,
                                      const Examples &examples) {
  for (const OutputMetric &given : request.metrics) {
    const Metric *metric = findMetric(given.spec.getName());
    const LossValue &loss = values[given.loss];
    Value each = metric->build(g, loss.inputs, given.spec,
                               [&]() { return entry.emitError(); });
    if (!each)
      return failure();
    if (metric->state == MetricState::Curve)
      addToVariable(g, given.name, "counts", sumRows(g, each, examples),
                    getTotal());
    else
      addMean(g, given.name,
              sumRows(g, reduceEach(g, each, loss.inputs.counted), examples),
              loss.count);
  }
  return success();
}

LogicalResult AddLossPass::addLosses(func::FuncOp entry, bool isPartial,
                                     bool isTraining) {
  FailureOr<int64_t> rows = getBatchSize(entry);
  if (failed(rows))
    return failure();
  Examples examples;
  examples.rows = *rows;
  OpBuilder builder(getReturn(entry));
  SmallVector<LossValue> values;
  Value sum, mean;
  Location location = entry.getLoc();
  for (const OutputLoss &loss : request.losses) {
    FailureOr<unsigned> index = findOutput(entry, loss);
    if (failed(index))
      return failure();
    location = getReturn(entry)->getOperand(*index).getLoc();
    GraphBuilder g(builder, location);
    FailureOr<LossValue> value =
        buildLoss(g, entry, loss, examples, isPartial, isTraining);
    if (failed(value))
      return failure();
    values.push_back(*value);
    auto weighted = [&](Value x) {
      if (request.losses.size() > 1)
        x = g.convert(x, builder.getF32Type());
      return loss.weight == 1 ? x : g.mul(x, loss.weight);
    };
    // Several have one number of examples in common, whatever each is the mean
    // of.
    Value total = value->sum;
    if (request.losses.size() > 1 && value->inputs.counted)
      total =
          g.mul(total, g.convert(g.div(examples.count, getDivisor(g, *value)),
                                 typeOf(total).getElementType()));
    Value partOfSum = weighted(total), part = weighted(value->mean);
    sum = sum ? g.add(sum, partOfSum) : partOfSum;
    mean = mean ? g.add(mean, part) : part;
  }
  GraphBuilder g(builder, location);
  addMean(g, "loss", sum,
          values.size() > 1 ? examples.count : values.front().count);
  if (request.losses.size() > 1)
    for (auto [loss, value] : llvm::zip_equal(request.losses, values))
      addMean(g, loss.output + "_loss", value.sum, value.count);
  if (failed(addMetrics(g, entry, values, examples)))
    return failure();
  eraseResults(entry,
               [&](unsigned i) { return getResultRole(entry, i) == "output"; });
  Port port;
  port.role = port.name = "loss";
  addResult(entry, g.convert(mean, builder.getF32Type()), port);
  eraseDeadOps(entry);
  return success();
}

/// Why no row of a batch may be a copy of another; empty: they may.
FailureOr<std::string> AddLossPass::findFullBatches(func::FuncOp entry) {
  for (const OutputLoss &loss : request.losses) {
    FailureOr<unsigned> index = findOutput(entry, loss);
    if (failed(index))
      return failure();
    Value output = getReturn(entry)->getOperand(*index);
    if (!loss.row && typeOf(output).getRank() == 0)
      return std::string("the loss is one number for a whole batch");
    std::string why = describeMixedRows(
        entry, *index,
        weights.size() > 1 ? CopyPlaces::BetweenParts : CopyPlaces::AtTheEnd);
    if (!why.empty())
      return why;
  }
  return describeBatchNumber(getOperation());
}

void AddLossPass::runOnOperation() {
  if (failed(parseOptions()))
    return signalPassFailure();
  ModuleOp module = getOperation();
  func::FuncOp predict = findEntry(module, "predict");
  if (!predict) {
    module.emitError()
        << "graph-add-loss: the module has no function 'predict'";
    return signalPassFailure();
  }
  func::FuncOp train = findEntry(module, "train_step");
  func::FuncOp trainPartial = findEntry(module, "train_step_partial");
  for (func::FuncOp entry :
       {predict, train, trainPartial, findEntry(module, "eval_step"),
        findEntry(module, "eval_step_partial")})
    if (entry && failed(verifyOneBlock(entry, "graph-add-loss")))
      return signalPassFailure();
  bool wantPartial = partial || trainPartial;
  struct Added {
    func::FuncOp entry;
    bool isPartial, isTraining;
  };
  SmallVector<Added> entries;
  if (!train)
    train = cloneEntry(predict, "train_step");
  if (!trainPartial && wantPartial)
    trainPartial = cloneEntry(train, "train_step_partial");
  entries.push_back({train, false, true});
  if (wantPartial)
    entries.push_back({trainPartial, true, true});
  // Where the model draws at random, the training mode has made them.
  auto getEvaluation = [&](StringRef name) {
    func::FuncOp entry = findEntry(module, name);
    return entry ? entry : cloneEntry(predict, name);
  };
  entries.push_back({getEvaluation("eval_step"), false, false});
  if (wantPartial)
    entries.push_back({getEvaluation("eval_step_partial"), true, false});
  for (auto [entry, isPartial, isTraining] : entries) {
    if (isPartial) {
      FailureOr<std::string> why = findFullBatches(entry);
      if (failed(why))
        return signalPassFailure();
      if (!why->empty()) {
        module->setAttr(kFullBatches, StringAttr::get(&getContext(), *why));
        entry.erase();
        continue;
      }
    }
    if (failed(addLosses(entry, isPartial, isTraining)))
      return signalPassFailure();
  }
}
