//===- BatchEntries.cpp - Which batches there are entries for -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes are static, so that each batch is a program of its own. The model is
// imported once more for each; its prediction then runs on the variables that
// are there.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "passes/Analysis/BatchRows.h"
#include "runtime/core/predict.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/DebugOptions.h"
#include "tools/dist-opt/ModelFile.h"

using namespace mlir;
using namespace mlir::dist;

/// The model with a batch of `size`, as `train()` prepares it to predict.
OwningOpRef<ModuleOp> Compilation::loadPrediction(int64_t size) {
  bool isImported = false;
  OwningOpRef<ModuleOp> other =
      loadModel(&context, options, size, &isImported, /*dependencies=*/nullptr);
  if (!other)
    return nullptr;
  TrainPipelineOptions train;
  train.precision = options.precision;
  train.replicas = replicas;
  train.seed = options.seed;
  PassManager pm(&context, ModuleOp::getOperationName());
  applyDebugOptions(pm);
  buildImportPipeline(pm);
  buildTrainPipeline(pm, train);
  return succeeded(pm.run(*other)) ? std::move(other) : nullptr;
}

LogicalResult Compilation::addBatchEntries() {
  if (options.batchSizes.empty())
    return success();
  Location loc = UnknownLoc::get(&context);
  if (auto why = (*module)->getAttrOfType<StringAttr>(kPredictFullBatches))
    return emitError(loc)
           << "a batch cannot be cut into others (--batch-sizes): "
           << why.getValue() << "; give --batch-size alone";
  SymbolTable symbols(*module);
  for (int64_t size : options.batchSizes) {
    if (size == paddedBatch)
      continue;
    if (size % replicas)
      return emitError(loc)
             << "a batch of " << size << " cannot be cut into " << replicas
             << " equal parts (--batch-sizes); give multiples of " << replicas;
    OwningOpRef<ModuleOp> other = loadPrediction(size);
    if (!other)
      return failure();
    for (auto variable : other->getOps<graph::VariableOp>()) {
      auto known = symbols.lookup<graph::VariableOp>(variable.getSymName());
      if (known && known.getType() == variable.getType())
        continue;
      return emitError(loc)
             << "'" << variable.getSymName() << "' is " << variable.getType()
             << " for a batch of " << size << " and "
             << (known ? known.getType() : Type(NoneType::get(&context)))
             << " for one of " << paddedBatch
             << " (--batch-sizes): programs of several batches have the same "
                "variables; give --batch-size alone";
    }
    auto predict = other->lookupSymbol<func::FuncOp>("predict");
    auto whole = module->lookupSymbol<func::FuncOp>("predict");
    if (!predict || !whole)
      return emitError(loc)
             << "the model has no prediction (--batch-sizes); give "
                "--batch-size alone";
    predict->remove();
    predict.setSymName(::dist::kPredictBatch + std::to_string(size));
    symbols.insert(predict);
  }
  return success();
}
