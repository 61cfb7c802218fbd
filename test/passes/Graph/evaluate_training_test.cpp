//===- evaluate_training_test.cpp - Training numbers against Keras --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains the model of Inputs/make_keras_curves.py by evaluating the entries
// that the training passes make, op by op, and compares the losses of every
// step with those that real Keras gave.
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "passes/Analysis/Evaluator.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include "passes/Graph/TrainingTables.h"
#include "runtime/train/watch.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
constexpr int64_t kBatch = 8, kInputs = 4, kOutputs = 3;

/// `numbers` of make_keras_curves.py.
std::vector<double> getNumbers(int64_t count, uint64_t salt) {
  uint32_t state = uint32_t(salt * 2654435761ull + 12345);
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    state = uint32_t(state * 1664525ull + 1013904223ull);
    out.push_back(float(state / 2147483648.0 - 1));
  }
  return out;
}

HostTensor getTensor(RankedTensorType type, ArrayRef<double> values) {
  HostTensor tensor(type);
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    tensor.setDouble(i, values[i]);
  return tensor;
}

/// The labels of `make_keras_curves.py`, as numbers.
std::vector<double> getLabels(StringRef loss, int64_t count) {
  std::vector<double> raw = getNumbers(count * kOutputs, 9), out;
  for (int64_t row = 0; row < count; ++row) {
    const double *x = &raw[row * kOutputs];
    int64_t best = std::max_element(x, x + kOutputs) - x;
    if (loss == "sparse-categorical-crossentropy") {
      out.push_back(best);
      continue;
    }
    for (int64_t i = 0; i < kOutputs; ++i)
      out.push_back(loss == "categorical-crossentropy" ? i == best
                    : loss == "binary-crossentropy"    ? x[i] > 0
                                                       : 2 * x[i]);
  }
  return out;
}

/// Of the examples, in (0, 2).
std::vector<double> getWeights() {
  std::vector<double> weights = getNumbers(6 * kBatch, 7);
  for (double &weight : weights)
    weight = float(weight) + 1.0f;
  return weights;
}

constexpr const char *kModel = R"mlir(
graph.variable @w1 : tensor<4x5xf32> trainable = dense<0.0> : tensor<4x5xf32>
graph.variable @b1 : tensor<5xf32> trainable = dense<0.0> : tensor<5xf32>
graph.variable @w2 : tensor<5x3xf32> trainable = dense<0.0> : tensor<5x3xf32>
graph.variable @b2 : tensor<3xf32> trainable = dense<0.0> : tensor<3xf32>
func.func @predict(%x: tensor<8x4xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<8x3xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %w1 = graph.read @w1 : tensor<4x5xf32>
  %b1 = graph.read @b1 : tensor<5xf32>
  %w2 = graph.read @w2 : tensor<5x3xf32>
  %b2 = graph.read @b2 : tensor<3xf32>
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  %1 = graph.broadcast %b1 {dims = array<i64: 1>} : (tensor<5xf32>) -> tensor<8x5xf32>
  %2 = graph.add %0, %1 : tensor<8x5xf32>
  %3 = graph.relu %2 : tensor<8x5xf32>
  %4 = graph.dot_general %3, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x5xf32>, tensor<5x3xf32>) -> tensor<8x3xf32>
  %5 = graph.broadcast %b2 {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<8x3xf32>
  %6 = graph.add %4, %5 : tensor<8x3xf32>
  %7 = {0}
  return %7 : tensor<8x3xf32>
}
)mlir";

struct Trainer {
  OwningOpRef<ModuleOp> module;
  llvm::StringMap<HostTensor> state;
  double loss = 0;

  static LogicalResult addPasses(PassManager &pm, StringRef pipeline) {
    return parsePassPipeline(pipeline, pm);
  }

  void writeInitialState() {
    for (auto variable : module->getOps<VariableOp>())
      state[variable.getSymName()] =
          *HostTensor::fromAttribute(variable.getInitial());
    auto set = [&](StringRef name, uint64_t salt, double scale) {
      HostTensor &tensor = state[name];
      std::vector<double> values = getNumbers(tensor.getNumElements(), salt);
      for (double &value : values)
        value *= scale;
      tensor = getTensor(tensor.getType(), values);
    };
    set("w1", 1, 1);
    set("b1", 2, 0.1);
    set("w2", 3, 1);
    set("b2", 4, 0.1);
  }

  /// Runs an entry on the rows from `first`, of which `count` are examples.
  void run(StringRef name, StringRef lossName, int64_t first, int64_t count) {
    auto entry = module->lookupSymbol<func::FuncOp>(name);
    ASSERT_TRUE(entry) << name.str();
    SmallVector<HostTensor> arguments;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      StringRef role = getArgumentRole(entry, i);
      auto type = cast<RankedTensorType>(entry.getArgumentTypes()[i]);
      // Padded rows are copies of a real example.
      auto rows = [&](std::vector<double> all) {
        int64_t width = type.getNumElements() / kBatch;
        std::vector<double> out;
        for (int64_t r = 0; r < kBatch; ++r)
          for (int64_t c = 0; c < width; ++c)
            out.push_back(all[(first + (r < count ? r : 0)) * width + c]);
        return getTensor(type, out);
      };
      if (role == "input")
        arguments.push_back(rows(getNumbers(6 * kBatch * kInputs, 5)));
      else if (entry.getArgAttr(i, kNameAttr) ==
               StringAttr::get(module->getContext(), "weights"))
        arguments.push_back(rows(getWeights()));
      else if (role == "label")
        arguments.push_back(rows(getLabels(lossName, 6 * kBatch)));
      else if (role == "mask") {
        HostTensor mask(type);
        for (int64_t r = 0; r < kBatch; ++r)
          mask.setInt(r, r < count);
        arguments.push_back(mask);
      } else if (role == "count") {
        arguments.push_back(getTensor(type, {double(count)}));
      } else {
        auto symbol =
            entry.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
        arguments.push_back(state[symbol.getValue()]);
      }
    }
    auto results = evaluateFunction(entry, arguments);
    ASSERT_TRUE(succeeded(results));
    for (unsigned i = 0; i < entry.getNumResults(); ++i) {
      StringRef role = getResultRole(entry, i);
      auto symbol =
          entry.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
      if (role == "loss")
        loss = (*results)[i].getDouble(0);
      else if (role == "finite")
        EXPECT_EQ((*results)[i].getInt(0), 1);
      else if (role == "variable")
        state[symbol.getValue()] = (*results)[i];
    }
  }

  double takeMetric(StringRef name) {
    HostTensor &total = state[("metric/" + name + "/total").str()];
    HostTensor &count = state[("metric/" + name + "/count").str()];
    double value = total.getDouble(0) / count.getDouble(0);
    total.setDouble(0, 0);
    count.setDouble(0, 0);
    return value;
  }
};

class KerasCurves : public ::testing::Test {
protected:
  KerasCurves() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  void runCase(const llvm::json::Object &object);
  MLIRContext context;
};
} // namespace

void KerasCurves::runCase(const llvm::json::Object &object) {
  std::string loss = object.getString("loss")->str();
  bool fromLogits = object.getBoolean("from_logits").value_or(false);
  int64_t rowsOfLast = object.getInteger("short").value_or(0);
  int64_t accumulate = object.getInteger("accumulate").value_or(1);
  std::string last = "graph.reshape %6 : (tensor<8x3xf32>) -> tensor<8x3xf32>";
  if (!fromLogits && loss.find("categorical") != std::string::npos)
    last = "graph.softmax %6 {axis = 1 : i64} : tensor<8x3xf32>";
  else if (!fromLogits && loss == "binary-crossentropy")
    last = "graph.logistic %6 : tensor<8x3xf32>";
  std::string text = kModel;
  text.replace(text.find("{0}"), 3, last);

  Trainer trainer;
  trainer.module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(trainer.module);
  AddLossPassOptions lossOptions;
  lossOptions.losses.push_back(loss);
  lossOptions.partial = rowsOfLast > 0;
  if (auto *weights = object.getArray("class_weights"))
    for (const llvm::json::Value &text : *weights)
      lossOptions.classWeights.push_back(text.getAsString()->str());
  if (object.getBoolean("sample_weights").value_or(false))
    lossOptions.sampleWeights = "weights";
  std::string metric;
  if (auto name = object.getString("metric")) {
    metric = name->split(':').first.str();
    lossOptions.metrics.push_back(name->str());
  }
  ApplyOptimizerPassOptions optimizerOptions;
  optimizerOptions.optimizer = object.getString("optimizer")->str();
  optimizerOptions.accumulate = accumulate;
  if (auto schedule = object.getString("schedule"))
    optimizerOptions.lrSchedule = schedule->str();
  optimizerOptions.clipNorm = object.getNumber("clip-norm").value_or(0);
  optimizerOptions.clipValue = object.getNumber("clip-value").value_or(0);
  optimizerOptions.weightDecay = object.getNumber("weight-decay").value_or(-1);

  PassManager pm(&context);
  pm.addPass(createTrainingModePass());
  pm.addPass(createAddLossPass(lossOptions));
  pm.addPass(createFunctionalizeStatePass());
  pm.addPass(createDifferentiatePass());
  pm.addPass(createApplyOptimizerPass(optimizerOptions));
  pm.addPass(createDecomposeCompositesPass());
  pm.addPass(createCSEPass());
  pm.addPass(createFoldPass());
  ASSERT_TRUE(succeeded(pm.run(*trainer.module)));
  trainer.writeInitialState();

  const llvm::json::Array &losses = *object.getArray("losses");
  const llvm::json::Array *metrics = object.getArray("metric_values");
  for (size_t step = 0; step < losses.size(); ++step) {
    bool isShort = rowsOfLast > 0 && step + 1 == losses.size();
    std::string name = accumulate > 1 ? "gradients" : "train_step";
    trainer.run(isShort ? name + "_partial" : name, loss, step * kBatch,
                isShort ? rowsOfLast : kBatch);
    if (accumulate > 1 && (step + 1) % accumulate == 0)
      trainer.run("apply", loss, 0, kBatch);
    double expected = *losses[step].getAsNumber();
    EXPECT_NEAR(trainer.loss, expected, 2e-5 * std::max(expected, 0.1))
        << "step " << step;
    EXPECT_NEAR(trainer.takeMetric("loss"), trainer.loss, 1e-6);
    if (metrics)
      EXPECT_NEAR(trainer.takeMetric(metric), *(*metrics)[step].getAsNumber(),
                  2e-5)
          << "step " << step;
  }
}

// --early-stopping and its like know them all.
TEST(Metrics, EachKnowsWhatIsBetter) {
  for (const TrainingChoice &metric : listMetrics())
    EXPECT_TRUE(::dist::isLargerBetter(metric.name.str()).has_value())
        << metric.name.str();
}

TEST_F(KerasCurves, AllCases) {
  auto file = llvm::MemoryBuffer::getFile(DIST_KERAS_CURVES);
  ASSERT_TRUE(bool(file));
  auto parsed = llvm::json::parse((*file)->getBuffer());
  ASSERT_TRUE(bool(parsed));
  const llvm::json::Array &cases = *parsed->getAsObject()->getArray("cases");
  EXPECT_GE(cases.size(), 90u);
  for (const llvm::json::Value &value : cases) {
    SCOPED_TRACE(llvm::formatv("{0}", value).str());
    runCase(*value.getAsObject());
  }
}
