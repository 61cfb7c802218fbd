//===- JoinPieces.cpp - Sums of pieces become concatenations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that is read in N slices has as its gradient the sum of N tensors of
// its size, each zero but for one piece: N times the work and the memory of
// what it is, the pieces side by side.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "passes/Graph/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_JOINPIECESPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// What a padded term has that is not zero.
struct Piece {
  PadOp pad;
  int64_t dim, low, size;
};
} // namespace

/// Whether the op only adds to a sum that another op goes on with.
static bool isInner(AddOp op) {
  return op->hasOneUse() && isa<AddOp>(*op->user_begin()) &&
         op->getOperand(0) != op->getOperand(1);
}

/// What the sum adds, in its order. No recursion: it may be as deep as a
/// sequence is long.
static SmallVector<Value> collectTerms(AddOp sum) {
  SmallVector<Value> terms, work = {sum.getResult()};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    auto add = value.getDefiningOp<AddOp>();
    if (add && (add == sum || isInner(add)))
      work.append({add->getOperand(1), add->getOperand(0)});
    else
      terms.push_back(value);
  }
  return terms;
}

/// The term as a piece along one dim, between zeros.
static std::optional<Piece> findPiece(Value term) {
  auto pad = term.getDefiningOp<PadOp>();
  if (!pad || !isZero(pad.getValue()))
    return std::nullopt;
  std::optional<Piece> piece;
  for (auto [dim, low, high, interior] :
       llvm::enumerate(pad.getLow(), pad.getHigh(), pad.getInterior())) {
    if (low < 0 || high < 0 || interior != 0)
      return std::nullopt;
    if (low == 0 && high == 0)
      continue;
    if (piece)
      return std::nullopt;
    piece = {pad, int64_t(dim), low,
             pad.getOperand().getType().getDimSize(dim)};
  }
  return piece;
}

/// The pieces, in order and apart from each other, with zeros between them.
static Value join(GraphBuilder &g, RankedTensorType type,
                  ArrayRef<Piece> pieces) {
  int64_t dim = pieces.front().dim, end = 0;
  SmallVector<Value> parts;
  auto fill = [&](int64_t until) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = until - end;
    if (shape[dim] > 0)
      parts.push_back(g.zeros(type.clone(shape)));
  };
  for (const Piece &piece : pieces) {
    fill(piece.low);
    PadOp pad = piece.pad;
    parts.push_back(pad.getOperand());
    end = piece.low + piece.size;
  }
  fill(type.getDimSize(dim));
  return g.make<ConcatOp>(type, parts, dim);
}

static void joinPieces(AddOp sum, int64_t leastPieces) {
  SmallVector<Value> rest;
  SmallVector<Piece> pieces;
  for (Value term : collectTerms(sum)) {
    std::optional<Piece> piece = findPiece(term);
    if (piece && (pieces.empty() || piece->dim == pieces.front().dim))
      pieces.push_back(*piece);
    else
      rest.push_back(term);
  }
  if (int64_t(pieces.size()) < leastPieces)
    return;
  llvm::stable_sort(
      pieces, [](const Piece &a, const Piece &b) { return a.low < b.low; });
  SmallVector<Piece> apart;
  for (const Piece &piece : pieces)
    if (apart.empty() || apart.back().low + apart.back().size <= piece.low)
      apart.push_back(piece);
    else
      rest.push_back(PadOp(piece.pad).getResult());
  if (int64_t(apart.size()) < leastPieces)
    return;
  OpBuilder builder(sum);
  GraphBuilder g(builder, sum.getLoc());
  Value joined = join(g, sum.getType(), apart);
  for (Value term : rest)
    joined = g.add(joined, term);
  sum.getResult().replaceAllUsesWith(joined);
}

namespace {
struct JoinPiecesPass : dist::impl::JoinPiecesPassBase<JoinPiecesPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<AddOp> sums;
      func.walk([&](AddOp op) {
        if (!isInner(op))
          sums.push_back(op);
      });
      for (AddOp sum : sums)
        joinPieces(sum, leastPieces);
    }
    // What was added is dead now; uses come after definitions.
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
        if (isa<AddOp, PadOp>(op) && op->use_empty())
          op->erase();
      });
  }
};
} // namespace
