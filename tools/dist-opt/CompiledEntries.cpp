//===- CompiledEntries.cpp - Which entries are compiled -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Compilation.h"
#include "dialects/Dist/IR/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/BatchRows.h"

using namespace mlir;
using namespace mlir::dist;

/// Options that say how `gradients` is made want it made.
::dist::Status Compilation::checkEntries() const {
  using ::dist::Status;
  using ::dist::StatusCode;
  auto wants = [&](StringRef name) {
    return llvm::is_contained(options.entries, name);
  };
  if (!options.inputGradients.empty() && !wants("gradients"))
    return Status::error(StatusCode::InvalidArgument,
                         "there is nothing to return gradients by inputs",
                         "--input-gradients", "'gradients' is not compiled",
                         "give --entries train,predict,gradients,apply");
  if (!options.compress.empty() && options.compress != "none" &&
      wants("gradients"))
    return Status::error(StatusCode::InvalidArgument,
                         "gradients that are returned are not compressed",
                         "--compress", "--entries has 'gradients'",
                         "leave one of them out");
  return Status();
}

/// A batch that the replicas do not divide is padded at every step: full
/// entries would divide by the padded size.
LogicalResult Compilation::dropFullEntries() {
  if (batch == paddedBatch)
    return success();
  StringRef key = options.losses.empty() ? kPredictFullBatches : kFullBatches;
  if (auto why = (*module)->getAttrOfType<StringAttr>(key))
    return emitError(UnknownLoc::get(&context))
           << "a batch of " << batch << " cannot be cut into " << replicas
           << " equal parts (--batch-size): " << why.getValue()
           << ", so that none may stand in for those that lack; give "
              "--batch-size "
           << (batch > replicas
                   ? std::to_string(paddedBatch - replicas) + " or "
                   : std::string())
           << paddedBatch;
  for (StringRef name : {"train_step", "eval_step", "gradients"})
    if (auto entry = module->lookupSymbol<func::FuncOp>(name))
      entry.erase();
  return success();
}

double Compilation::getShareOfStep(StringRef entry) const {
  StringRef partial = batch != paddedBatch ? "_partial" : "";
  if (options.losses.empty())
    return entry == "predict";
  // An app's own loop may run the two halves of a step instead.
  bool whole =
      strategy.servers == 0 &&
      (options.entries.empty() || llvm::is_contained(options.entries, "train"));
  if (options.accumulate == 1 && whole)
    return entry == ("train_step" + partial).str();
  if (entry == "apply")
    return 1.0 / double(options.accumulate);
  return entry == ("gradients" + partial).str();
}

void Compilation::keepStepEntries() {
  for (auto function :
       llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    auto whole = function->getAttrOfType<StringAttr>(kEntryAttr);
    if (getShareOfStep(whole ? whole : function.getSymNameAttr()) == 0)
      function.erase();
  }
}
