//===- Replicate.cpp - Data parallelism as annotations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Strategy/Annotate.h"
#include "passes/Strategy/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_CREATEMESHPASS
#define GEN_PASS_DEF_REPLICATEPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct CreateMeshPass : mlir::dist::impl::CreateMeshPassBase<CreateMeshPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(createMesh(getOperation(), *axes, *processes, processLinkCost)))
      signalPassFailure();
  }
};

struct ReplicatePass : mlir::dist::impl::ReplicatePassBase<ReplicatePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ReplicatePass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<std::string> names;
  int64_t replicas = 1;
  bool sized = false;
  for (const std::string &axis : axes) {
    auto [name, size] = StringRef(axis).split(':');
    names.push_back(name.str());
    int64_t ranks = 0;
    if (!size.empty() && !size.getAsInteger(10, ranks))
      replicas *= ranks;
    sized |= StringRef(axis).contains(':');
  }
  MeshOp mesh = findMesh(module);
  if (sized || !mesh) {
    if (sized && replicas == 1)
      return;
    auto made = createMesh(module, *axes);
    if (failed(made))
      return signalPassFailure();
    mesh = *made;
  }
  auto replicaAxes = getAxes(mesh, names, "dist-replicate");
  if (failed(replicaAxes))
    return signalPassFailure();
  // Microbatches are the pipeline's, whatever splits the batch besides.
  for (StringAttr axis : *replicaAxes)
    addReason(mesh, axis,
              "--strategy=" +
                  (axis == "microbatch" ? "pipeline" : strategy.getValue()) +
                  " splits the batch over '" + axis.getValue() + "'");
  if (failed(annotate(module, mesh, *replicaAxes, parts)))
    signalPassFailure();
}
