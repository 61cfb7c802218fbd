//===- AddLoss.cpp - Labels, loss and metrics of entries -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/BatchRows.h"
#include "passes/Graph/Entry.h"
#include "llvm/ADT/StringExtras.h"
#include "passes/Graph/Losses.h"
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
struct AddLossPass : dist::impl::AddLossPassBase<AddLossPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult parseOptions();
  LogicalResult addLoss(func::FuncOp entry, bool isPartial);
  FailureOr<std::string> findFullBatches(func::FuncOp entry);
  FailureOr<unsigned> findOutput(func::FuncOp entry);
  FailureOr<LossInputs> getInputs(GraphBuilder &g, func::FuncOp entry,
                                  Value output);
  void addToVariable(GraphBuilder &g, StringRef name, StringRef part,
                     Value increment, NewVariable properties);
  void addMean(GraphBuilder &g, StringRef name, Value sum, Value count);

  /// Null: `none`.
  const Loss *lossRow = nullptr;
  TrainingSpec lossSpec;
  SmallVector<std::pair<std::string, TrainingSpec>> metricSpecs;
};

/// The examples of a batch: how many count, and which.
struct Examples {
  int64_t rows;
  /// Null in a full entry.
  Value mask;
  /// f32 scalar.
  Value count;
};
} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult AddLossPass::parseOptions() {
  auto emitError = [&]() { return getOperation().emitError(); };
  auto parsed = TrainingSpec::parse(loss, listLosses(), "--loss", emitError);
  if (failed(parsed))
    return failure();
  lossSpec = *parsed;
  lossRow = findLoss(lossSpec.getName());
  if (fromLogits != "auto" && fromLogits != "true" && fromLogits != "false")
    return emitError() << "--from-logits: expected auto, true or false, but "
                          "got '"
                       << fromLogits << "'";
  metricSpecs.clear();
  for (const std::string &text : metrics) {
    auto spec =
        TrainingSpec::parse(text, listMetrics(), "--metrics", emitError);
    if (failed(spec))
      return failure();
    // Two of one name differ by their keys.
    std::string name = spec->getName().str();
    if (name == "loss" || llvm::any_of(metricSpecs, [&](const auto &m) {
          return m.first == name;
        }))
      name = text;
    if (llvm::any_of(metricSpecs,
                     [&](const auto &m) { return m.first == name; }))
      return emitError() << "--metrics: '" << text << "' is given twice";
    metricSpecs.emplace_back(name, *spec);
  }
  if (!lossRow && !metricSpecs.empty())
    return emitError() << "--metrics: '" << metricSpecs.front().first
                       << "' needs labels, which --loss none has not";
  return success();
}

FailureOr<unsigned> AddLossPass::findOutput(func::FuncOp entry) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    if (getResultRole(entry, i) != "output")
      continue;
    auto name = entry.getResultAttrOfType<StringAttr>(i, kName);
    if (lossOutput.empty() ||
        (name && name.getValue() == lossOutput.getValue()))
      return i;
    if (name)
      names.push_back(name.getValue());
  }
  if (names.empty())
    return entry.emitError() << "'" << entry.getSymName()
                             << "' has no output that a loss could read";
  return entry.emitError() << "--loss-output: the model has no output '"
                           << lossOutput << "'; it has '"
                           << llvm::join(names, "', '") << "'";
}

FailureOr<LossInputs> AddLossPass::getInputs(GraphBuilder &g,
                                             func::FuncOp entry, Value output) {
  RankedTensorType type = typeOf(output);
  auto floatType = dyn_cast<FloatType>(type.getElementType());
  int64_t leastDims = lossRow->sparseLabels ? 2 : 1;
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

  Port port;
  port.role = port.name = "label";
  port.batchDim = 0;
  RankedTensorType labelType = type.clone(number);
  if (lossRow->sparseLabels) {
    labelType = RankedTensorType::get(type.getShape().drop_back(),
                                      g.getBuilder().getI32Type());
    port.classCount = type.getShape().back();
  }
  inputs.label = addArgument(entry, labelType, port, output.getLoc());
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

/// The same of the mean over an example's values.
static Value sumExamples(GraphBuilder &g, Value values,
                         const Examples &examples) {
  RankedTensorType type = typeOf(values);
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()));
  if (!dims.empty()) {
    double each = double(type.getNumElements()) / type.getDimSize(0);
    values = g.mul(g.sum(values, dims), 1 / each);
  }
  return sumRows(g, values, examples);
}

void AddLossPass::addToVariable(GraphBuilder &g, StringRef name, StringRef part,
                                Value increment, NewVariable properties) {
  properties.group = "metric";
  std::string symbol = ("metric/" + name + "/" + part).str();
  auto type = typeOf(increment).clone(g.getBuilder().getF32Type());
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

LogicalResult AddLossPass::addLoss(func::FuncOp entry, bool isPartial) {
  FailureOr<unsigned> index = findOutput(entry);
  FailureOr<int64_t> rows = getBatchSize(entry);
  if (failed(index) || failed(rows))
    return failure();
  Value output = getReturn(entry)->getOperand(*index);
  OpBuilder builder(getReturn(entry));
  GraphBuilder g(builder, output.getLoc());

  RankedTensorType type = typeOf(output);
  bool hasBatch = type.getRank() > 0 && type.getDimSize(0) == *rows;
  if (!hasBatch && (lossRow || type.getRank() > 0))
    return entry.emitError()
           << "--loss " << lossSpec.getName()
           << ": expected dim 0 of the output "
           << "to be the batch of " << *rows << ", but got " << type;

  LossInputs inputs;
  Value values = output;
  if (lossRow) {
    FailureOr<LossInputs> found = getInputs(g, entry, output);
    if (failed(found))
      return failure();
    inputs = *found;
    values = lossRow->build(g, inputs, lossSpec);
  } else if (!isa<FloatType>(type.getElementType())) {
    return entry.emitError()
           << "--loss none: expected an output of floats, but got " << type;
  } else if (type.getElementTypeBitWidth() < 32) {
    values = g.convert(output, builder.getF32Type());
  }

  Examples examples;
  examples.rows = *rows;
  if (isPartial) {
    examples.mask = getMask(entry, *rows);
    examples.count = getCount(entry);
  } else {
    examples.count = g.scalar(builder.getF32Type(), double(*rows));
  }
  Value sum, mean;
  if (hasBatch) {
    sum = sumExamples(g, values, examples);
    Value count = g.convert(examples.count, typeOf(sum).getElementType());
    mean = g.div(sum, count);
  } else {
    // The model has averaged already.
    mean = values;
    sum = g.mul(mean, double(*rows));
  }
  addMean(g, "loss", sum, examples.count);
  for (const auto &[name, spec] : metricSpecs) {
    const Metric *metric = findMetric(spec.getName());
    Value each =
        metric->build(g, inputs, spec, [&]() { return entry.emitError(); });
    if (!each)
      return failure();
    if (metric->state == MetricState::Curve)
      addToVariable(g, name, "counts", sumRows(g, each, examples), getTotal());
    else
      addMean(g, name, sumExamples(g, each, examples), examples.count);
  }
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
  FailureOr<unsigned> index = findOutput(entry);
  if (failed(index))
    return failure();
  Value output = getReturn(entry)->getOperand(*index);
  if (!lossRow && typeOf(output).getRank() == 0)
    return std::string("the loss is one number for a whole batch");
  if (Operation *mixes = findMixedRows(entry, output))
    return describeNode(mixes) + kCombinesExamples;
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
  bool wantPartial = partial || trainPartial;
  SmallVector<std::pair<func::FuncOp, bool>> entries;
  if (!train)
    train = cloneEntry(predict, "train_step");
  if (!trainPartial && wantPartial)
    trainPartial = cloneEntry(train, "train_step_partial");
  entries.emplace_back(train, false);
  if (wantPartial)
    entries.emplace_back(trainPartial, true);
  entries.emplace_back(cloneEntry(predict, "eval_step"), false);
  if (wantPartial)
    entries.emplace_back(cloneEntry(predict, "eval_step_partial"), true);
  for (auto [entry, isPartial] : entries) {
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
    if (failed(addLoss(entry, isPartial)))
      return signalPassFailure();
  }
}
