//===- Microbatch.cpp - Programs with one op for all microbatches ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Dist/IR/CopyPlace.h"
#include "dialects/Dist/IR/Dist.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isOverMicrobatches(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective &&
         collective.getCollectiveMesh().getValue() == kMicrobatchMesh;
}

bool mlir::dist::givesEachItsOwn(Operation *op) {
  return isa<AllSliceOp, PermuteOp, AllToAllOp>(op);
}

int64_t mlir::dist::getNumMicrobatches(Operation *inside) {
  auto whole = SymbolTable::lookupNearestSymbolFrom<MeshOp>(
      inside, FlatSymbolRefAttr::get(inside->getContext(), kMicrobatchMesh));
  return whole ? whole.getAxisSizes().back() : 1;
}

LogicalResult mlir::dist::verifyUnrolled(Operation *inside) {
  return failure(
      inside
          ->walk([](Operation *op) {
            if (!isOverMicrobatches(op) &&
                !isa_and_nonnull<UnitAttr>(op->getAttr(kMicrobatchAttr)))
              return WalkResult::advance();
            op->emitOpError() << "stands for all microbatches; run "
                                 "dist-unroll-microbatches before";
            return WalkResult::interrupt();
          })
          .wasInterrupted());
}

LogicalResult mlir::dist::verifyShowsAll(Operation *function) {
  if (!function->hasAttr(kShownMicrobatchesAttr))
    return success();
  return function->emitOpError()
         << "has the copies of few microbatches, which do not show what the "
            "others are; run dist-unroll-microbatches without `microbatches`";
}

bool mlir::dist::showsFew(ModuleOp module) {
  return llvm::any_of(module.getOps(), [](Operation &function) {
    return function.hasAttr(kShownMicrobatchesAttr);
  });
}
