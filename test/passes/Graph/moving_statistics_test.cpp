//===- moving_statistics_test.cpp - Batch norm's moving averages ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step with uneven replicas does to the moving averages, in numbers: the
// mean over the replicas' rows moves towards the statistics weighted by their
// examples.
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Analysis/Evaluator.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
constexpr int64_t kReplicas = 3, kRows = 2;
constexpr double kMomentum = 0.8;

constexpr const char *kModel = R"mlir(
graph.variable @scale : tensor<1xf32> trainable = dense<1.0> : tensor<1xf32>
graph.variable @mean : tensor<1xf32> {group = "buffer"} = dense<10.0> : tensor<1xf32>
graph.variable @variance : tensor<1xf32> {group = "buffer"} = dense<4.0> : tensor<1xf32>
func.func @predict(%x: tensor<6x2x1xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<6x2x1xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %s = graph.read @scale : tensor<1xf32>
  %m = graph.read @mean : tensor<1xf32>
  %v = graph.read @variance : tensor<1xf32>
  %0 = graph.batch_norm_inference %x, %s, %s, %m, %v {axis = 2 : i64, epsilon = 1.0e-3 : f64, momentum = 0.8 : f64} : (tensor<6x2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<6x2x1xf32>
  return %0 : tensor<6x2x1xf32>
}
)mlir";

class MovingStatistics : public ::testing::Test {
protected:
  MovingStatistics() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(kModel, &context);
    PassManager pm(&context);
    TrainingModePassOptions options;
    options.groups = kReplicas;
    options.partial = true;
    pm.addPass(createTrainingModePass(options));
    pm.addPass(createFunctionalizeStatePass());
    pm.addPass(createDecomposeCompositesPass());
    EXPECT_TRUE(succeeded(pm.run(*module)));
  }

  static double getExample(int64_t row, int64_t pixel) {
    return 3.0 * row + pixel;
  }

  /// The rows of @mean after a step in which replica r has `shares[r]`
  /// examples, its first ones; the rows were `before`.
  std::vector<double> moveMean(ArrayRef<int64_t> shares,
                               ArrayRef<double> before) {
    auto entry = module->lookupSymbol<func::FuncOp>("train_step_partial");
    int64_t count = 0;
    for (int64_t share : shares)
      count += share;
    SmallVector<HostTensor> arguments;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto type = cast<RankedTensorType>(entry.getArgumentTypes()[i]);
      HostTensor value(type);
      StringRef role = getArgumentRole(entry, i);
      auto variable =
          entry.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
      for (int64_t k = 0; k < type.getNumElements(); ++k) {
        if (role == "mask")
          value.setInt(k, k % kRows < shares[k / kRows]);
        else if (role == "count")
          value.setDouble(k, count);
        else if (role == "input")
          value.setDouble(k, getExample(k / 2, k % 2));
        else if (variable.getValue() == "mean")
          value.setDouble(k, before[k]);
        else
          value.setDouble(k, 1);
      }
      arguments.push_back(value);
    }
    auto results = evaluateFunction(entry, arguments);
    EXPECT_TRUE(succeeded(results));
    std::vector<double> after;
    for (unsigned i = 0; i < entry.getNumResults(); ++i) {
      auto variable =
          entry.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
      if (variable && variable.getValue() == "mean")
        for (int64_t k = 0; k < kReplicas; ++k)
          after.push_back((*results)[i].getDouble(k));
    }
    return after;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// The mean of all examples that count, over both pixels.
static double getMeanOfAll(ArrayRef<double> sums, double count) {
  double sum = 0;
  for (double each : sums)
    sum += each;
  return sum / (2 * count);
}

TEST_F(MovingStatistics, AreWeightedByExamples) {
  // Examples 0, 1 | 2 | 4 with pixels 3r and 3r + 1.
  std::vector<double> rows = moveMean({2, 1, 1}, {10, 10, 10});
  ASSERT_EQ(rows.size(), 3u);
  double mean = (rows[0] + rows[1] + rows[2]) / 3;
  double batch = getMeanOfAll({0 + 1, 3 + 4, 6 + 7, 12 + 13}, 4);
  EXPECT_NEAR(mean, kMomentum * 10 + (1 - kMomentum) * batch, 1e-5);
  // Each row by its own statistic: 0.2 * 3 * 2/4 and 0.2 * 3 * 1/4 of the way.
  EXPECT_NEAR(rows[0], 10 + 0.3 * (2.0 - 10), 1e-5);
  EXPECT_NEAR(rows[1], 10 + 0.15 * (6.5 - 10), 1e-5);
  EXPECT_NEAR(rows[2], 10 + 0.15 * (12.5 - 10), 1e-5);
}

TEST_F(MovingStatistics, OfAReplicaWithoutExamplesStay) {
  std::vector<double> rows = moveMean({1, 1, 0}, {10, 11, 12});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2], 12);
  EXPECT_NEAR(rows[0], 10 + 0.3 * (0.5 - 10), 1e-5);
  EXPECT_NEAR(rows[1], 11 + 0.3 * (6.5 - 11), 1e-5);
}

TEST_F(MovingStatistics, OfEvenReplicasMoveAsInAFullStep) {
  std::vector<double> rows = moveMean({2, 2, 2}, {10, 10, 10});
  ASSERT_EQ(rows.size(), 3u);
  for (int64_t r = 0; r < 3; ++r)
    EXPECT_NEAR(rows[r], kMomentum * 10 + (1 - kMomentum) * (6.0 * r + 2),
                1e-5);
}
