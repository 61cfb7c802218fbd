//===- GraphRandom.cpp - random_uniform and dropout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator: (seed, step) make a 64-bit key by SplitMix64's finalizer
// (Steele et al., "Fast splittable pseudorandom number generators"); element e
// mixes the key's halves with 32-bit multiply-xorshift rounds (the "lowbias32"
// constants of C. Wellons' hash-prospector), which vectorize; the top 24 bits
// are the number. Positions have 64 bits: the upper half changes the key's, so
// that elements from 2^32 on draw numbers of their own; where it is 0 (nearly
// always) it changes nothing and is not computed. The same code stands below
// for the evaluator and for kernels.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/ScalarBuilder.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;
static constexpr uint64_t kMixA = 0xBF58476D1CE4E5B9u;
static constexpr uint64_t kMixB = 0x94D049BB133111EBu;
static constexpr uint32_t kRoundA = 0x7FEB352Du;
static constexpr uint32_t kRoundB = 0x846CA68Bu;
static constexpr uint32_t kUpper = 0x9E3779B9u;
static constexpr double kUnit = 1.0 / (1 << 24);

//===----------------------------------------------------------------------===//
// random_uniform
//===----------------------------------------------------------------------===//

LogicalResult RandomUniformOp::verify() {
  if (getStep().getType().getRank() != 0 ||
      !getStep().getType().getElementType().isSignlessInteger(64))
    return emitOpError("expected step of type tensor<i64>, but got ")
           << getStep().getType();
  if (!getType().getElementType().isF32())
    return emitOpError("expected a result of f32, but got ")
           << getType().getElementType();
  if (bool(getRows()) != bool(getDim()))
    return emitOpError("expected both rows and dim, or neither");
  if (!getRows())
    return success();
  uint64_t dim = *getDim();
  auto rows = cast<RankedTensorType>(getRows().getType());
  if (dim >= uint64_t(getType().getRank()) ||
      rows.getShape() != getType().getShape().slice(dim, 1) ||
      !rows.getElementType().isSignlessInteger(64))
    return emitOpError("expected rows of type i64, one for each index along "
                       "dim ")
           << dim << " of " << getType() << ", but got " << rows;
  return success();
}

LogicalResult
RandomUniformOp::differentiate(OpBuilder &builder, ValueRange resultCotangents,
                               ArrayRef<bool> wanted,
                               SmallVectorImpl<Value> &cotangents) {
  cotangents.append(getNumOperands(), nullptr);
  return success();
}

/// An element is a hash of its global position, so a rank makes the whole and
/// takes its part; the slice fuses, so that nothing else is computed. Rows say
/// themselves where they are.
ShardingRule RandomUniformOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d)
    if (getDim() && *getDim() == d)
      rule.factor(getType().getDimSize(d), {{1, 0}}, {{0, d}});
    else
      rule.factor(getType().getDimSize(d), {}, {{0, d}},
                  FactorKind::NeedReplication);
  return rule.build();
}

static uint32_t mixRound(uint32_t x) {
  x = (x ^ (x >> 16)) * kRoundA;
  x = (x ^ (x >> 15)) * kRoundB;
  return x ^ (x >> 16);
}

LogicalResult RandomUniformOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  uint64_t key = uint64_t(operands[0].getInt(0)) * kGolden + getSeed();
  key = (key ^ (key >> 30)) * kMixA;
  key = (key ^ (key >> 27)) * kMixB;
  key ^= key >> 31;
  HostTensor result(getType());
  int64_t i = 0;
  forEachIndex(getType().getShape(), [&](ArrayRef<int64_t> index) {
    auto position = uint64_t(i);
    if (getRows()) {
      position = uint64_t(operands[1].getInt(index[*getDim()]));
      for (auto [d, size] : llvm::enumerate(getType().getShape()))
        if (d != *getDim())
          position = position * uint64_t(size) + uint64_t(index[d]);
    }
    uint32_t bits = mixRound(uint32_t(position) + uint32_t(key));
    bits = mixRound(bits ^ uint32_t(key >> 32) ^
                    uint32_t(position >> 32) * kUpper);
    result.setDouble(i++, (bits >> 8) * kUnit);
  });
  results.push_back(result);
  return success();
}

namespace {
/// Shifts, products and exclusive ors of integers of one width.
struct Mixer {
  ScalarBuilder s;

  Value add(Value x, Value y) { return s.create<arith::AddIOp>(x, y); }
  Value mul(Value x, uint64_t y) {
    return s.create<arith::MulIOp>(x, s.integer(static_cast<int64_t>(y)));
  }
  Value shift(Value x, int64_t y) {
    return s.create<arith::ShRUIOp>(x, s.integer(y));
  }
  Value exclusiveOr(Value x, Value y) { return s.create<arith::XOrIOp>(x, y); }
  Value fold(Value x, int64_t y) { return exclusiveOr(x, shift(x, y)); }
};
} // namespace

Value RandomUniformOp::emitElement(OpBuilder &builder, Location loc,
                                   unsigned result, ValueRange indices,
                                   ElementLoader load) {
  Type i32 = builder.getI32Type();
  Mixer wide{ScalarBuilder(builder, loc, builder.getI64Type())};
  Mixer narrow{ScalarBuilder(builder, loc, i32)};
  Value key = wide.add(wide.mul(load(0, {}), kGolden),
                       wide.s.integer(static_cast<int64_t>(getSeed())));
  key = wide.mul(wide.fold(key, 30), kMixA);
  key = wide.mul(wide.fold(key, 27), kMixB);
  key = wide.fold(key, 31);
  Value low = narrow.s.create<arith::TruncIOp>(i32, key);
  Value high = narrow.s.create<arith::TruncIOp>(i32, wide.shift(key, 32));
  // Row-major position, in the row where rows say which.
  Value position = narrow.s.index(0);
  int64_t inRow = 1;
  for (auto [d, size] : llvm::enumerate(getType().getShape())) {
    if (getDim() && *getDim() == d)
      continue;
    position = narrow.add(narrow.s.mulIndex(position, size), indices[d]);
    inRow *= size;
  }
  constexpr int64_t whole = int64_t(1) << 32;
  Value start;
  if (getRows())
    start = wide.mul(load(1, {indices[*getDim()]}), uint64_t(inRow));
  if (inRow > whole) {
    Value all =
        wide.s.create<arith::IndexCastOp>(builder.getI64Type(), position);
    start = start ? wide.add(start, all) : all;
    position = nullptr;
  }
  auto getUpper = [&](Value of) {
    Value upper = narrow.s.create<arith::TruncIOp>(i32, wide.shift(of, 32));
    return narrow.exclusiveOr(high,
                              narrow.mul(upper, uint64_t(int32_t(kUpper))));
  };
  if (!start) {
    position = narrow.s.create<arith::IndexCastOp>(i32, position);
  } else if (!position) {
    position = narrow.s.create<arith::TruncIOp>(i32, start);
    high = getUpper(start);
  } else {
    // The row's start is one number for all of its elements: of these, only the
    // lower half and whether it carries is computed, in 32 bits.
    Value first = narrow.s.create<arith::TruncIOp>(i32, start);
    position =
        narrow.add(first, narrow.s.create<arith::IndexCastOp>(i32, position));
    Value carries = narrow.s.create<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                   position, first);
    Value next = wide.add(start, wide.s.integer(whole));
    high = narrow.s.select(carries, getUpper(next), getUpper(start));
  }
  auto round = [&](Value x) {
    // As signless i32 constants: the bits of the unsigned ones.
    x = narrow.mul(narrow.fold(x, 16), uint64_t(int32_t(kRoundA)));
    x = narrow.mul(narrow.fold(x, 15), uint64_t(int64_t(int32_t(kRoundB))));
    return narrow.fold(x, 16);
  };
  Value bits = round(narrow.add(position, low));
  bits = round(narrow.exclusiveOr(bits, high));
  // 24 bits: a signed conversion is exact, and vectorizes everywhere.
  ScalarBuilder s(builder, loc, getType());
  Value number = s.create<arith::SIToFPOp>(s.getType(), narrow.shift(bits, 8));
  return s.mul(number, s.constant(kUnit));
}

//===----------------------------------------------------------------------===//
// dropout: at inference the identity
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::differentiate(OpBuilder &builder,
                                       ValueRange resultCotangents,
                                       ArrayRef<bool> wanted,
                                       SmallVectorImpl<Value> &cotangents) {
  cotangents.push_back(wanted[0] ? resultCotangents[0] : Value());
  return success();
}

ShardingRule DropoutOp::getShardingRule() {
  return getElementwiseRule(*this, {{0}});
}

LogicalResult DropoutOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands[0]);
  return success();
}

Value DropoutOp::emitElement(OpBuilder &builder, Location loc, unsigned result,
                             ValueRange indices, ElementLoader load) {
  return load(0, indices);
}
