//===- Movement.cpp - Ops that only move elements -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Movement.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/Interfaces/Movement.cpp.inc"

std::optional<Movement> mlir::dist::findMovement(Operation *op) {
  if (auto moving = dyn_cast<MovementOpInterface>(op))
    return moving.getMovement();
  return std::nullopt;
}

static bool movesAs(Operation *op, ArrayRef<Movement> kinds) {
  std::optional<Movement> movement = findMovement(op);
  return movement && llvm::is_contained(kinds, *movement);
}

bool mlir::dist::isAlias(Operation *op) {
  return movesAs(op, {Movement::View, Movement::Order});
}
bool mlir::dist::isFreeToRepeat(Operation *op) {
  return movesAs(op, {Movement::Generate, Movement::View, Movement::Repeat});
}
bool mlir::dist::keepsElements(Operation *op) {
  return movesAs(op, {Movement::View, Movement::Repeat, Movement::Permute,
                      Movement::Slice});
}
bool mlir::dist::readsPart(Operation *op) {
  return movesAs(op, {Movement::Slice, Movement::Select});
}
