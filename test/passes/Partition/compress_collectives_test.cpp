//===- compress_collectives_test.cpp - What compression loses, it keeps ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable to which the sum of the ranks' gradients is added each step, on
// simulated ranks: what has arrived and what is still kept are together what
// there was, for every method.
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Analysis/Evaluator.h"
#include "passes/Partition/Passes.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::dist;

namespace {
constexpr int64_t kRanks = 3;
constexpr int64_t kElements = 40 * 30;

struct Case {
  const char *method;
  double rounding;  // of a step's sum, that nobody keeps
  int steps;        // until all has been sent at least once
  double remainder; // of the mean of what arrived
};

class Compressed {
public:
  explicit Compressed(StringRef method) {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(R"(
      dist.mesh @mesh ["data"=3]
      graph.variable @w : tensor<40x30xf32> trainable = dense<0.0> : tensor<40x30xf32>
      func.func @train_step(%w: tensor<40x30xf32> {graph.variable = @w}, %g: tensor<40x30xf32>)
          -> (tensor<40x30xf32> {graph.variable = @w}) {
        %0 = dist.all_reduce %g over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<40x30xf32>) -> tensor<40x30xf32>
        %1 = graph.add %w, %0 : tensor<40x30xf32>
        return %1 : tensor<40x30xf32>
      })",
                                         &context);
    PassManager pm(&context);
    CompressCollectivesPassOptions options;
    options.method = method.str();
    pm.addPass(createCompressCollectivesPass(options));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    EXPECT_TRUE(succeeded(verify(*module)));
    entry = module->lookupSymbol<func::FuncOp>("train_step");
    // Variables start as they say.
    state.resize(kRanks);
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      if (i == 1)
        continue;
      auto name = entry.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
      auto variable = module->lookupSymbol<graph::VariableOp>(name.getValue());
      for (auto &rank : state)
        rank.push_back(*HostTensor::fromAttribute(variable.getInitial()));
    }
  }

  void step(ArrayRef<HostTensor> gradients) {
    SmallVector<RankTensors> arguments(kRanks);
    for (int64_t rank = 0; rank < kRanks; ++rank) {
      arguments[rank] = state[rank];
      arguments[rank].insert(arguments[rank].begin() + 1, gradients[rank]);
    }
    auto results =
        evaluateRanks(entry, *module->getOps<MeshOp>().begin(), arguments);
    ASSERT_TRUE(succeeded(results));
    // Each argument's new value, wherever it stands among the results.
    for (unsigned result = 0; result < entry.getNumResults(); ++result) {
      unsigned at = 0;
      for (unsigned i = 0; i < entry.getNumArguments(); ++i)
        if (entry.getArgAttr(i, kVariableAttr) ==
            entry.getResultAttr(result, kVariableAttr))
          at = i == 0 ? 0 : i - 1;
      for (int64_t rank = 0; rank < kRanks; ++rank)
        state[rank][at] = (*results)[rank][result];
    }
    // All ranks have the same bits of what is mirrored.
    for (int64_t rank = 1; rank < kRanks; ++rank)
      for (int64_t i = 0; i < kElements; ++i)
        ASSERT_TRUE(get(rank, "w", i) == get(0, "w", i) ||
                    std::isnan(get(0, "w", i)));
  }

  double get(int64_t rank, StringRef variable, int64_t i) {
    for (unsigned at = 0; at < state[rank].size(); ++at)
      if (entry
              .getArgAttrOfType<FlatSymbolRefAttr>(at == 0 ? 0 : at + 1,
                                                   kVariableAttr)
              .getValue() == variable)
        return state[rank][at].getDouble(i);
    ADD_FAILURE() << "no variable " << variable.str();
    return 0;
  }

  HostTensor makeGradient() {
    auto type = RankedTensorType::get({40, 30}, Float32Type::get(&context));
    return HostTensor(type);
  }

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp entry;
  SmallVector<RankTensors> state;
};

class CompressCollectives : public testing::TestWithParam<Case> {};
} // namespace

TEST_P(CompressCollectives, NothingIsLost) {
  Compressed program(GetParam().method);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> whole(kElements, 0);
  SmallVector<HostTensor> gradients;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    gradients.push_back(program.makeGradient());
    for (int64_t i = 0; i < kElements; ++i) {
      gradients[rank].setDouble(i, normal(random) * (i % 7 ? 1e-2 : 1));
      whole[i] += gradients[rank].getDouble(i);
    }
  }
  int steps = GetParam().steps;
  for (int step = 1; step <= steps; ++step)
    program.step(gradients);
  double worst = 0, remainder = 0;
  for (int64_t i = 0; i < kElements; ++i) {
    double kept = program.get(0, "w", i);
    remainder = std::max(remainder, std::abs(kept / steps - whole[i]));
    for (int64_t rank = 0; rank < kRanks; ++rank)
      kept += program.get(rank, "compression/error/w", i);
    worst = std::max(worst, std::abs(kept / steps - whole[i]));
  }
  // The largest element of the sum is about 5.
  EXPECT_LE(worst, GetParam().rounding);
  EXPECT_LE(remainder, GetParam().remainder);
  EXPECT_GT(remainder, 0); // it is compressed, after all
}

TEST_P(CompressCollectives, InfinityAndNaNArrive) {
  for (double value : {std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity()}) {
    Compressed program(GetParam().method);
    SmallVector<HostTensor> gradients(kRanks, program.makeGradient());
    for (int64_t i = 0; i < kElements; ++i)
      for (HostTensor &gradient : gradients)
        gradient.setDouble(i, 0.5 + i % 3);
    gradients[1].setDouble(77, value);
    program.step(gradients);
    bool arrived = false;
    for (int64_t i = 0; i < kElements; ++i)
      arrived |= !std::isfinite(program.get(0, "w", i));
    EXPECT_TRUE(arrived);
  }
}

// A gradient of zeros leaves no trace, and what follows is found all the same.
TEST_P(CompressCollectives, ZerosAreSent) {
  Compressed program(GetParam().method);
  SmallVector<HostTensor> zeros(kRanks, program.makeGradient());
  program.step(zeros);
  for (int64_t i = 0; i < kElements; ++i)
    ASSERT_EQ(program.get(0, "w", i), 0);
  SmallVector<HostTensor> ones = zeros;
  for (HostTensor &gradient : ones)
    for (int64_t i = 0; i < kElements; ++i)
      gradient.setDouble(i, 1);
  for (int step = 0; step < GetParam().steps; ++step)
    program.step(ones);
  for (int64_t i = 0; i < kElements; ++i)
    ASSERT_NEAR(program.get(0, "w", i), kRanks * GetParam().steps,
                0.5 * kRanks * GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, CompressCollectives,
    testing::Values(Case{"bf16", 0.02, 4, 0.04}, Case{"f16", 0.003, 4, 0.005},
                    Case{"int8", 1e-5, 8, 0.02},
                    Case{"topk:ratio=0.1", 1e-5, 60, 0.3},
                    Case{"powersgd:rank=4", 1e-4, 60, 0.6}),
    [](const auto &info) {
      return StringRef(info.param.method).split(':').first.str();
    });
