//===- Tactics.cpp - Which passes annotate a strategy -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Pipelines/Tactics.h"
#include "passes/Partition/Passes.h"
#include "passes/Strategy/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Building a pipeline cannot fail, so that a pass does.
class UnknownStrategyPass
    : public PassWrapper<UnknownStrategyPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnknownStrategyPass)
  explicit UnknownStrategyPass(StringRef text) : text(text) {}
  void runOnOperation() override {
    getOperation()->emitError()
        << "dist-annotate-pipeline: there is no strategy '" << text
        << "'; see --print-strategies";
    signalPassFailure();
  }

private:
  std::string text;
};
} // namespace

void mlir::dist::addUnknownStrategy(OpPassManager &pm, StringRef text) {
  pm.addPass(std::make_unique<UnknownStrategyPass>(text));
}

StrategyText::StrategyText(StringRef text) {
  std::tie(name, keys) = text.split(':');
}

StringRef StrategyText::getKey(StringRef name, StringRef missing) const {
  for (StringRef rest = keys; !rest.empty();) {
    StringRef pair;
    std::tie(pair, rest) = rest.split(',');
    auto [key, value] = pair.split('=');
    if (key == name)
      return value;
  }
  return missing;
}

void mlir::dist::addOpenPropagation(OpPassManager &pm,
                                    const AnnotatePipelineOptions &options) {
  PropagateShardingPassOptions propagate;
  propagate.close = false;
  propagate.sources = options.sources;
  propagate.strictDivisibility = options.strictDivisibility;
  pm.addPass(createPropagateShardingPass(propagate));
}

static void addCentralStorage(OpPassManager &pm,
                              const AnnotatePipelineOptions &,
                              const StrategyText &) {
  pm.addPass(createPlaceHostVariablesPass());
}

static void addZero(OpPassManager &pm, const AnnotatePipelineOptions &options,
                    const StrategyText &strategy) {
  ShardOptimizerPassOptions zero;
  // What the pass does not know it refuses.
  int64_t stage = 0;
  strategy.getKey("stage", "1").getAsInteger(10, stage);
  zero.stage = stage;
  // Microbatches are ranks of an axis that become copies in time: only devices
  // can keep shards.
  zero.axis = "data";
  for (const std::string &axis : options.dataAxes)
    if (axis != kMicrobatchAxis)
      zero.axis = axis;
  zero.strictDivisibility = options.strictDivisibility;
  pm.addPass(createShardOptimizerPass(zero));
}

static void addTensorSplit(OpPassManager &pm,
                           const AnnotatePipelineOptions &options,
                           const StrategyText &strategy) {
  TensorSplitPassOptions split;
  split.axis = options.modelAxis;
  split.rules.assign(options.split.begin(), options.split.end());
  split.preset = options.splitPreset;
  split.strictDivisibility = options.strictDivisibility;
  split.wholeAxes = options.wholeAxes;
  pm.addPass(createTensorSplitPass(split));
  if (strategy.getKey("sequence-parallel", "false") != "true")
    return;
  // What the weights' split decides stays so: only what is open yet can be
  // split along the tokens.
  addOpenPropagation(pm, options);
  SequenceParallelPassOptions parallel;
  parallel.axis = options.modelAxis;
  parallel.strictDivisibility = options.strictDivisibility;
  pm.addPass(createSequenceParallelPass(parallel));
}

const Tactic *mlir::dist::findTactic(StringRef name) {
  // The stages of a pipeline are cut before there is a mesh.
  static const Tactic tactics[] = {
      {"one-device", false, false, nullptr},
      {"mirrored", true, false, nullptr},
      {"multi-worker-mirrored", true, false, nullptr},
      {"central-storage", true, false, addCentralStorage},
      // A worker's devices; servers are placed before there is a mesh.
      {"parameter-server", true, false, nullptr},
      {"tensor-split", false, true, addTensorSplit},
      {"zero", true, true, addZero},
      {"pipeline", false, false, nullptr},
  };
  for (const Tactic &tactic : tactics)
    if (tactic.name == name)
      return &tactic;
  return nullptr;
}
