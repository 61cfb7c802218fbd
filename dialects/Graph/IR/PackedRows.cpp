//===- PackedRows.cpp - Selection among the few that may be taken ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is read once, by vectors: each lane of each vector of maxima has the
// largest key of its own group. About the k-th largest maximum is at most the
// k-th largest key, so that what is below it is left out; the others, some two
// times k, are packed beside each other, and the exact bound is found among
// them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/RowSelector.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Vectors of so many bits are compressed by one instruction (AVX-512). Of
/// others each lane takes some: most have none of what is wanted, and are
/// passed over. To pass over these takes longer, as it is foreseen badly.
static constexpr int64_t kCompressedBits = 512;

Value RowSelector::splat(Value scalar) {
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get(lanes, scalar.getType()), scalar);
}

/// The keys of vector number `vector`.
Value RowSelector::loadKeys(Value memory, Value vector) {
  return vector::LoadOp::create(builder, loc,
                                VectorType::get(lanes, keys.getType()), memory,
                                keys.mulIndex(vector, lanes));
}

/// How many lanes of the mask are set, as an index.
Value RowSelector::countLanes(Value mask) {
  auto bits = VectorType::get(1, builder.getIntegerType(lanes));
  Value all = vector::ExtractOp::create(
      builder, loc, vector::BitCastOp::create(builder, loc, bits, mask), 0);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      math::CtPopOp::create(builder, loc, all));
}

/// Code that is passed over where the count is zero.
void RowSelector::emitWhereAny(Value count, llvm::function_ref<void()> code) {
  Value isAny = keys.create<arith::CmpIOp>(arith::CmpIPredicate::ne, count,
                                           keys.index(0));
  auto branch = scf::IfOp::create(builder, loc, isAny);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  code();
}

/// Stores the lanes of `what` that are set in the mask beside each other, from
/// `at` on, and anything in what remains of a vector. A compressing store would
/// leave that as it is, but AMD's Zen 4 takes 142 cycles for one (uops.info),
/// and two to compress a register.
void RowSelector::storeSet(Value mask, Value what, Value memory, Value at) {
  Value rest = LLVM::PoisonOp::create(builder, loc, what.getType());
  auto packed = LLVM::CallIntrinsicOp::create(
      builder, loc, what.getType(),
      builder.getStringAttr("llvm.experimental.vector.compress"),
      ValueRange{what, mask, rest});
  vector::StoreOp::create(builder, loc, packed.getResult(0), memory, at);
}

/// Reads the row and keeps its keys. Gives the maxima, of which all reach the
/// least and none is above the largest key.
RowSelector::Range RowSelector::emitMaxima(SmallVectorImpl<Value> &maxima) {
  auto visit = [&](Value first, Value maximum) {
    Value some = getKey(read(first, lanes, /*first=*/true));
    vector::StoreOp::create(builder, loc, some, kept, first);
    return keys.create<arith::MaxSIOp>(maximum, some);
  };
  unsigned width = keys.getWidth();
  Value lowest = splat(integer(APInt::getSignedMinValue(width)));
  int64_t block = numMaxima * lanes;
  maxima =
      loop(keys.index(size / block), SmallVector<Value>(numMaxima, lowest),
           [&](Value i, ValueRange state) {
             SmallVector<Value> next;
             for (int64_t m = 0; m < numMaxima; ++m) {
               Value first = keys.mulIndex(i, block);
               next.push_back(visit(keys.addIndex(first, m * lanes), state[m]));
             }
             return next;
           });
  int64_t done = size / block * block;
  for (int64_t m = 0; done + lanes <= size; done += lanes, ++m)
    maxima[m] = visit(keys.index(done), maxima[m]);
  Value greatest = maxima[0], least = maxima[0];
  for (Value maximum : ArrayRef(maxima).drop_front()) {
    greatest = keys.create<arith::MaxSIOp>(greatest, maximum);
    least = keys.create<arith::MinSIOp>(least, maximum);
  }
  Value high = vector::ReductionOp::create(
      builder, loc, vector::CombiningKind::MAXSI, greatest);
  Value low = vector::ReductionOp::create(builder, loc,
                                          vector::CombiningKind::MINSI, least);
  // What is less than a vector.
  if (done < size)
    high = loop(keys.index(size - done), high,
                [&](Value i, ValueRange state) -> SmallVector<Value> {
                  i = keys.addIndex(i, done);
                  Value key = getKey(read(i, 1, /*first=*/true));
                  memref::StoreOp::create(builder, loc, key, kept, i);
                  return {keys.create<arith::MaxSIOp>(state[0], key)};
                })[0];
  return {low, high, keys.index(block)};
}

/// Halves the range until its lower bound is reached by at most k + slack of
/// the keys that are counted, or nothing is left to halve.
RowSelector::Range RowSelector::narrow(Range range, int64_t slack,
                                       CountKeys count) {
  Type index = builder.getIndexType();
  auto search = scf::WhileOp::create(
      builder, loc, TypeRange{keys.getType(), keys.getType(), index},
      ValueRange{range.low, range.high, range.count},
      [&](OpBuilder &, Location, ValueRange state) {
        Value isOpen = keys.create<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                                  state[0], state[1]);
        Value isMany = keys.create<arith::CmpIOp>(
            arith::CmpIPredicate::ugt, state[2], keys.index(k + slack));
        scf::ConditionOp::create(
            builder, loc, keys.create<arith::AndIOp>(isOpen, isMany), state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value middle = getMiddle(state[0], state[1]);
        Value reached = count(middle);
        Value isEnough = keys.create<arith::CmpIOp>(arith::CmpIPredicate::uge,
                                                    reached, keys.index(k));
        Value below = keys.create<arith::SubIOp>(middle, keys.integer(1));
        scf::YieldOp::create(
            builder, loc,
            ValueRange{keys.select(isEnough, middle, state[0]),
                       keys.select(isEnough, state[1], below),
                       keys.select(isEnough, reached, state[2])});
      });
  return {search.getResult(0), search.getResult(1), search.getResult(2)};
}

/// Puts the keys that reach `least` and their indices beside each other, and
/// least keys behind them that fill a vector; says how many they are.
Value RowSelector::pack(Value least) {
  Type i32 = builder.getI32Type();
  Value leasts = splat(least);
  Value lane = keys.constant(DenseElementsAttr::get(
      VectorType::get(lanes, i32),
      ArrayRef(llvm::to_vector(llvm::seq<int32_t>(0, lanes)))));
  Value count = loop(keys.index(numKeys / lanes), keys.index(0),
                     [&](Value vector, ValueRange state) -> SmallVector<Value> {
                       Value next = state[0], some = loadKeys(kept, vector);
                       Value mask = isAtLeast(some, leasts);
                       Value first = arith::IndexCastOp::create(
                           builder, loc, i32, keys.mulIndex(vector, lanes));
                       Value indices =
                           keys.create<arith::AddIOp>(lane, splat(first));
                       Value taken = countLanes(mask);
                       auto store = [&] {
                         storeSet(mask, some, packedKeys, next);
                         storeSet(mask, indices, packedIndices, next);
                       };
                       if (lanes * keys.getWidth() >= kCompressedBits)
                         store();
                       else
                         emitWhereAny(taken, store);
                       return {keys.create<arith::AddIOp>(next, taken)};
                     })[0];
  Value none = splat(integer(APInt::getSignedMinValue(keys.getWidth())));
  vector::StoreOp::create(builder, loc, none, packedKeys, count);
  return count;
}

/// How many packed keys compare so with `bound`.
Value RowSelector::countPacked(arith::CmpIPredicate predicate, Value bound,
                               Value vectors) {
  Value bounds = splat(bound);
  return loop(vectors, keys.index(0),
              [&](Value vector, ValueRange state) -> SmallVector<Value> {
                Value mask = keys.create<arith::CmpIOp>(
                    predicate, loadKeys(packedKeys, vector), bounds);
                return {keys.create<arith::AddIOp>(state[0], countLanes(mask))};
              })[0];
}

/// Notes the indices of those that reach the bound, if those are k; else of
/// those above it and of as many as are wanted that equal it.
void RowSelector::emitTaken(Range range, Value vectors) {
  Value isExact = keys.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                             range.count, keys.index(k));
  auto branch = scf::IfOp::create(builder, loc, isExact,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  emitTies(range.low, vectors);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value bounds = splat(range.low);
  loop(vectors, keys.index(0),
       [&](Value vector, ValueRange state) -> SmallVector<Value> {
         Value mask = isAtLeast(loadKeys(packedKeys, vector), bounds);
         Value indices = vector::LoadOp::create(
             builder, loc, VectorType::get(lanes, builder.getI32Type()),
             packedIndices, keys.mulIndex(vector, lanes));
         storeSet(mask, indices, takenIndices, state[0]);
         return {keys.create<arith::AddIOp>(state[0], countLanes(mask))};
       });
}

/// One by one, up to the k-th: of a row of zeros these are the first.
void RowSelector::emitTies(Value threshold, Value vectors) {
  Value above = countPacked(arith::CmpIPredicate::sgt, threshold, vectors);
  Value ties = keys.create<arith::SubIOp>(keys.index(k), above);
  Type index = builder.getIndexType();
  scf::WhileOp::create(
      builder, loc, TypeRange{index, index, index},
      ValueRange{keys.index(0), keys.index(0), ties},
      [&](OpBuilder &, Location, ValueRange state) {
        Value isOpen = keys.create<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                  state[1], keys.index(k));
        scf::ConditionOp::create(builder, loc, isOpen, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value i = state[0], next = state[1], left = state[2];
        Value key = memref::LoadOp::create(builder, loc, packedKeys, i);
        Value isWanted = keys.create<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                                    left, keys.index(0));
        Value isTie =
            keys.create<arith::AndIOp>(keys.equal(key, threshold), isWanted);
        Value isTaken =
            keys.create<arith::OrIOp>(keys.greater(key, threshold), isTie);
        // What is not taken is overwritten by what is.
        memref::StoreOp::create(
            builder, loc,
            memref::LoadOp::create(builder, loc, packedIndices, i).getResult(),
            takenIndices, next);
        Value one = keys.index(1);
        scf::YieldOp::create(
            builder, loc,
            ValueRange{keys.create<arith::AddIOp>(i, one),
                       keys.select(isTaken,
                                   keys.create<arith::AddIOp>(next, one), next),
                       keys.select(isTie, keys.create<arith::SubIOp>(left, one),
                                   left)});
      });
}

void RowSelector::emitPacked() {
  SmallVector<Value> maxima;
  Range range = emitMaxima(maxima);
  // Nearly the k-th is as good: the steps to it cost more than some elements.
  Range rough = narrow(
      range, /*slack=*/llvm::divideCeil(k, 4), [&](Value least) -> Value {
        Value leasts = splat(least), sum;
        for (Value maximum : maxima) {
          Value count = countLanes(isAtLeast(maximum, leasts));
          sum = sum ? keys.create<arith::AddIOp>(sum, count) : count;
        }
        return sum;
      });
  Value count = pack(rough.low);
  Value vectors = keys.create<arith::DivUIOp>(keys.addIndex(count, lanes - 1),
                                              keys.index(lanes));
  Range exact =
      narrow({rough.low, range.high, count}, /*slack=*/0, [&](Value least) {
        return countPacked(arith::CmpIPredicate::sge, least, vectors);
      });
  emitTaken(exact, vectors);
  loop(keys.index(k), {}, [&](Value at, ValueRange) -> SmallVector<Value> {
    Value i = memref::LoadOp::create(builder, loc, takenIndices, at);
    take(keys.create<arith::IndexCastOp>(builder.getIndexType(), i), at);
    return {};
  });
}
