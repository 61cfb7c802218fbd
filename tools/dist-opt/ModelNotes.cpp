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

void Compilation::noteBatchNorms() {
  graph::BatchNormOp first;
  unsigned count = 0;
  for (StringRef name : {"train_step", "train_step_partial", "gradients"})
    if (auto step = module->lookupSymbol<func::FuncOp>(name); step && !count)
      step.walk([&](graph::BatchNormOp norm) {
        if (norm.getGroups() > 1 && !count++)
          first = norm;
      });
  if (!count)
    return;
  std::string text =
      describeNode(first) +
      (count > 1 ? " and " + std::to_string(count - 1) + " more" : "") +
      (strategy.stages > 0
           ? ": batch statistics are per microbatch and replica"
           : ": batch statistics are per replica, as in tf.distribute") +
      ", of " + std::to_string(paddedBatch / int64_t(first.getGroups())) +
      " examples each; --sync-batch-norm takes them over the whole batch";
  SmallVector<Attribute> notes;
  if (auto known = (*module)->getAttrOfType<ArrayAttr>(graph::kNotes))
    notes.append(known.begin(), known.end());
  notes.push_back(StringAttr::get(&context, text));
  (*module)->setAttr(graph::kNotes, ArrayAttr::get(&context, notes));
}
