//===- CopyPlace.cpp - Which of the schedule's items a copy is of ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/CopyPlace.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dist;

/// What marks a place: its three numbers.
static DenseI64ArrayAttr getMark(FusedLoc loc) {
  auto mark = dyn_cast_or_null<DenseI64ArrayAttr>(loc.getMetadata());
  return mark && mark.size() == 3 ? mark : DenseI64ArrayAttr();
}

Location mlir::dist::markCopyPlace(Location loc, CopyPlace place) {
  auto mark = DenseI64ArrayAttr::get(
      loc.getContext(), {place.microbatch, place.chunk, place.backward});
  return FusedLoc::get(loc.getContext(), {loc}, mark);
}

void mlir::dist::collectCopyPlaces(Location loc,
                                   SmallVectorImpl<CopyPlace> &places) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return;
  if (DenseI64ArrayAttr mark = getMark(fused))
    places.push_back({mark[0], mark[1], mark[2] != 0});
  for (Location part : fused.getLocations())
    collectCopyPlaces(part, places);
}

int64_t mlir::dist::findMicrobatch(Operation *op) {
  SmallVector<CopyPlace> places;
  collectCopyPlaces(op->getLoc(), places);
  int64_t last = -1;
  for (CopyPlace place : places)
    last = std::max(last, place.microbatch);
  return last;
}

Location mlir::dist::dropCopyPlaces(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return loc;
  SmallVector<Location> parts = llvm::map_to_vector(
      fused.getLocations(), [](Location part) { return dropCopyPlaces(part); });
  Attribute metadata = getMark(fused) ? Attribute() : fused.getMetadata();
  return FusedLoc::get(loc.getContext(), parts, metadata);
}
