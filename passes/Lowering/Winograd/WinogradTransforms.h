//===- WinogradTransforms.h - F(4, 3) of vectors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one-dimensional transforms of F(4, 3) with the points 0, 1, -1, 2, -2 and
// infinity (Lavin and Gray, 2015), and the adjoints of two of them; each
// element is a vector.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRAD_WINOGRADTRANSFORMS_H
#define PASSES_LOWERING_WINOGRAD_WINOGRADTRANSFORMS_H

#include "dialects/Interfaces/Elemental.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include <array>

namespace mlir::dist {

class WinogradTransforms {
protected:
  WinogradTransforms(OpBuilder &b, Location loc, int64_t lanes)
      : b(b), loc(loc), lanes(lanes),
        vector(VectorType::get({lanes}, b.getF32Type())) {}

  /// Edge of an output tile, and of what of the input it depends on.
  static constexpr int64_t tileEdge = 4, windowEdge = 6;
  using Edge = std::array<Value, windowEdge>;
  using TileEdge = std::array<Value, tileEdge>;
  using FilterEdge = std::array<Value, 3>;

  /// Of a filter, an input, products.
  Edge applyG(const FilterEdge &w);
  Edge applyBT(const Edge &d);
  TileEdge applyAT(const Edge &m);
  /// Of an output's cotangent, and of what it gives a filter's.
  Edge applyA(const TileEdge &y);
  FilterEdge applyGT(const Edge &u);

  Value add(Value l, Value r) { return arith::AddFOp::create(b, loc, l, r); }
  Value sub(Value l, Value r) { return arith::SubFOp::create(b, loc, l, r); }
  Value splat(float value) {
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(vector, b.getF32FloatAttr(value).getValue()));
  }
  Value mul(Value l, float r) {
    return arith::MulFOp::create(b, loc, l, splat(r));
  }

  /// Vectors are f32, whatever the memory's elements; those of bf16 are bits
  /// (getStorageType).
  VectorType typeIn(Value memory) {
    return vector.clone(cast<MemRefType>(memory.getType()).getElementType());
  }
  Type elementsOf(Type stored) {
    bool isBits = getElementTypeOrSelf(stored).isInteger(16);
    return isBits ? vector.clone(b.getBF16Type()) : stored;
  }
  Value widen(Value value) {
    return emitToCompute(b, loc, value, elementsOf(value.getType()));
  }
  Value narrow(Value value, VectorType type) {
    return emitToStorage(b, loc, value, elementsOf(type));
  }
  Value load(Value memory, ValueRange indices) {
    return widen(
        vector::LoadOp::create(b, loc, typeIn(memory), memory, indices));
  }
  void store(Value value, Value memory, ValueRange indices) {
    vector::StoreOp::create(b, loc, narrow(value, typeIn(memory)), memory,
                            indices);
  }

  // Places, and loops over them.
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value plus(Value l, Value r) { return arith::AddIOp::create(b, loc, l, r); }
  Value plus(Value l, int64_t r) { return r == 0 ? l : plus(l, index(r)); }
  Value times(Value l, int64_t r) {
    return r == 1 ? l : arith::MulIOp::create(b, loc, l, index(r));
  }
  Value quotient(Value l, int64_t r) {
    return arith::DivUIOp::create(b, loc, l, index(r));
  }
  Value remainder(Value l, int64_t r) {
    return arith::RemUIOp::create(b, loc, l, index(r));
  }
  void loop(Value lo, Value hi, int64_t step,
            llvm::function_ref<void(Value)> body) {
    auto op = scf::ForOp::create(b, loc, lo, hi, index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op.getBody()->getTerminator());
    body(op.getInductionVar());
  }
  void loop(int64_t count, int64_t step, llvm::function_ref<void(Value)> body) {
    loop(index(0), index(count), step, body);
  }

  OpBuilder &b;
  Location loc;
  int64_t lanes;
  VectorType vector;
};

} // namespace mlir::dist

#endif // PASSES_LOWERING_WINOGRAD_WINOGRADTRANSFORMS_H
