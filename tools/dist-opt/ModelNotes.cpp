//===- ModelNotes.cpp - What a user should know before training -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The import leaves its notes on the module; a package carries them as lines,
// which `dist-run fit` and `info` print.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/Import/Importer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/BatchRows.h"
#include "tools/dist-opt/Compilation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;

std::string Compilation::joinNotes() {
  auto notes = (*module)->getAttrOfType<ArrayAttr>(graph::kNotes);
  if (!notes)
    return "";
  return llvm::join(llvm::map_range(notes.getAsRange<StringAttr>(),
                                    [](StringAttr note) { return note.str(); }),
                    "\n");
}

/// `op` and as many more.
static std::string listNodes(Operation *op, unsigned count) {
  return describeNode(op) +
         (count > 1 ? " and " + std::to_string(count - 1) + " more" : "");
}

void Compilation::noteBatchNorms() {
  graph::BatchNormOp first;
  graph::BatchNormInferenceOp firstFixed;
  unsigned count = 0, countFixed = 0;
  for (StringRef name : {"train_step", "train_step_partial", "gradients"}) {
    auto step = module->lookupSymbol<func::FuncOp>(name);
    if (!step || count || countFixed)
      continue;
    step.walk([&](graph::BatchNormOp norm) {
      if (norm.getGroups() > 1 && !count++)
        first = norm;
    });
    step.walk([&](graph::BatchNormInferenceOp norm) {
      if (!countFixed++)
        firstFixed = norm;
    });
  }
  SmallVector<Attribute> notes;
  if (auto known = (*module)->getAttrOfType<ArrayAttr>(graph::kNotes))
    notes.append(known.begin(), known.end());
  if (count)
    notes.push_back(StringAttr::get(
        &context,
        listNodes(first, count) +
            (strategy.stages > 0
                 ? ": batch statistics are per microbatch and replica"
                 : ": batch statistics are per replica, as in tf.distribute") +
            ", of " + std::to_string(paddedBatch / int64_t(first.getGroups())) +
            " examples each; --sync-batch-norm takes them over the whole "
            "batch"));
  if (countFixed)
    notes.push_back(StringAttr::get(
        &context,
        listNodes(firstFixed, countFixed) +
            ": the moving statistics are computed in the model, or parts of "
            "what it stores: they stay as they are, and training normalizes by "
            "them, not by the batch; store mean and variance as initializers "
            "of their own to train as the source does"));
  if (!notes.empty())
    (*module)->setAttr(graph::kNotes, ArrayAttr::get(&context, notes));
}
