//===- CollectiveCall.cpp - What the runtime does for a collective --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Interfaces/Cost.h"

using namespace mlir;
using namespace mlir::dist;

/// Elements before dim `dim`, and bytes of one index of it.
static int64_t getOuter(RankedTensorType type, int64_t dim) {
  return ShapedType::getNumElements(type.getShape().take_front(dim));
}
static int64_t getInnerBytes(RankedTensorType type, int64_t dim) {
  return ShapedType::getNumElements(type.getShape().drop_front(dim + 1)) *
         getByteSize(RankedTensorType::get({}, type.getElementType()));
}

static CollectivePiece getPiece(RankedTensorType type) {
  CollectivePiece piece;
  piece.elementType = type.getElementType();
  return piece;
}

/// Whole tensors.
static CollectiveCall getWholes(TypeRange types) {
  CollectiveCall call;
  for (Type type : types) {
    CollectivePiece piece = getPiece(cast<RankedTensorType>(type));
    piece.bytes = getByteSize(type);
    call.pieces.push_back(piece);
  }
  return call;
}

/// Parts of tensors along `dims`: whole tensors are cut into them (operands),
/// or they are put together (operands are the parts).
enum class PartsAre { Cut, Joined };
static CollectiveCall getParts(PartsAre how, TypeRange types,
                               ArrayRef<int64_t> dims, int64_t groupSize) {
  CollectiveCall call;
  for (auto [given, dim] : llvm::zip_equal(types, dims)) {
    auto type = cast<RankedTensorType>(given);
    CollectivePiece piece = getPiece(type);
    piece.outer = getOuter(type, dim);
    int64_t parts = how == PartsAre::Cut ? groupSize : 1;
    piece.bytes = type.getDimSize(dim) / parts * getInnerBytes(type, dim);
    auto &whole = how == PartsAre::Cut ? piece.from : piece.to;
    auto &part = how == PartsAre::Cut ? piece.to : piece.from;
    part.outer = whole.position = piece.bytes;
    whole.outer = groupSize * piece.bytes;
    call.pieces.push_back(piece);
  }
  return call;
}

/// `type` cut along `split`, the parts put together along `concat`. The outer
/// of the two dims decides the outer blocks, the inner one the rows.
static CollectivePiece getExchange(RankedTensorType type, int64_t split,
                                   int64_t concat, int64_t groupSize) {
  CollectivePiece piece = getPiece(type);
  int64_t outerDim = std::min(split, concat);
  int64_t innerDim = std::max(split, concat);
  piece.outer = getOuter(type, outerDim);
  int64_t between = ShapedType::getNumElements(
      type.getShape().slice(outerDim + 1, innerDim - outerDim - 1));
  int64_t splitSize = type.getDimSize(split) / groupSize;
  int64_t concatSize = type.getDimSize(concat);
  int64_t inner = getInnerBytes(type, innerDim);
  if (split < concat) {
    // Each rank's rows lie behind each other, and are spread over longer ones.
    piece.rows = splitSize * between;
    piece.bytes = concatSize * inner;
    piece.from = {groupSize * piece.rows * piece.bytes, piece.bytes,
                  piece.rows * piece.bytes};
    piece.to = {piece.rows * groupSize * piece.bytes, groupSize * piece.bytes,
                piece.bytes};
    return piece;
  }
  piece.rows = concatSize * between;
  piece.bytes = splitSize * inner;
  piece.from = {piece.rows * groupSize * piece.bytes, groupSize * piece.bytes,
                piece.bytes};
  piece.to = {groupSize * piece.rows * piece.bytes, piece.bytes,
              piece.rows * piece.bytes};
  return piece;
}

static CollectiveCall withReduction(CollectiveCall call, Reduction reduction) {
  call.reduction = reduction;
  return call;
}

template <typename Op> static CollectiveCall getAllReduce(Op op) {
  CollectiveCall call =
      withReduction(getWholes(op.getOperandTypes()), op.getReduction());
  call.algorithm = op.getAlgorithm();
  return call;
}
CollectiveCall AllReduceOp::getCall(int64_t) { return getAllReduce(*this); }
CollectiveCall AllReduceStartOp::getCall(int64_t) {
  return getAllReduce(*this);
}
CollectiveCall AllGatherOp::getCall(int64_t n) {
  return getParts(PartsAre::Joined, getOperandTypes(), getDims(), n);
}
CollectiveCall AllGatherStartOp::getCall(int64_t n) {
  return getParts(PartsAre::Joined, getOperandTypes(), getDims(), n);
}
CollectiveCall AllSliceOp::getCall(int64_t n) {
  return getParts(PartsAre::Cut, getOperandTypes(), getDims(), n);
}
CollectiveCall ReduceScatterOp::getCall(int64_t n) {
  return withReduction(getParts(PartsAre::Cut, getOperandTypes(), getDims(), n),
                       getReduction());
}
CollectiveCall ReduceScatterStartOp::getCall(int64_t n) {
  return withReduction(getParts(PartsAre::Cut, getOperandTypes(), getDims(), n),
                       getReduction());
}
CollectiveCall AllToAllOp::getCall(int64_t n) {
  CollectiveCall call;
  for (auto [type, split, concat] :
       llvm::zip_equal(getOperandTypes(), getSplitDims(), getConcatDims()))
    call.pieces.push_back(
        getExchange(cast<RankedTensorType>(type), split, concat, n));
  return call;
}
CollectiveCall PermuteOp::getCall(int64_t) {
  CollectiveCall call = getWholes(getOperandTypes());
  call.sources.assign(getSources().begin(), getSources().end());
  return call;
}
CollectiveCall BroadcastOp::getCall(int64_t) {
  CollectiveCall call = getWholes(getOperandTypes());
  call.peer = getRoot();
  return call;
}
/// The host is the position behind those of the axes.
static CollectiveCall getHostCall(Operation *op, int64_t groupSize) {
  CollectiveCall call =
      getWholes(op->getNumOperands() ? TypeRange(op->getOperandTypes())
                                     : TypeRange(op->getResultTypes()));
  call.peer = groupSize;
  return call;
}
CollectiveCall HostBroadcastOp::getCall(int64_t n) {
  return getHostCall(*this, n);
}
CollectiveCall HostReduceOp::getCall(int64_t n) {
  return withReduction(getHostCall(*this, n), getReduction());
}
CollectiveCall SendOp::getCall(int64_t) {
  CollectiveCall call = getWholes(getOperandTypes());
  call.peer = getPeer();
  call.tag = getTag();
  return call;
}
CollectiveCall RecvOp::getCall(int64_t) {
  CollectiveCall call = getWholes(getResultTypes());
  call.peer = getPeer();
  call.tag = getTag();
  return call;
}
