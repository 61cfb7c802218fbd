//===- RowSelector.cpp - Code that selects the k largest of a row ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/RowSelector.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// The keys of a row, where they are kept, lie on the stack.
static constexpr int64_t kMostKeyBytes = 64 << 10;

/// Elements of which one comparison tells whether any is taken.
static constexpr int64_t kBlock = 16;

/// Of the memory of keys: vectors that cross cache lines load at half speed.
static constexpr int64_t kAlignment = 64;

/// Keys that are kept are so many times more, so that vectors leave none over.
static constexpr int64_t kMultiple = 64;

/// Maxima that stay in registers, as vectors.
static constexpr int64_t kMostMaxima = 8;

LogicalResult mlir::dist::graph::verifyTopK(StringRef name,
                                            std::optional<Location> loc,
                                            RankedTensorType type, uint64_t k) {
  if (type.getRank() == 0 || k < 1 || k > uint64_t(type.getShape().back()))
    return emitOptionalError(loc, "'", name,
                             "' op expected k to be from 1 to the size of the "
                             "last dim of ",
                             type, ", but got ", int64_t(k));
  return success();
}

RowSelector::RowSelector(OpBuilder &builder, Location loc, Type elementType,
                         int64_t size, int64_t k, RowOrder order)
    : builder(builder), loc(loc), elementType(elementType), size(size), k(k),
      elements(builder, loc, elementType),
      keys(builder, loc,
           builder.getIntegerType(elements.getWidth() > 32 ? 64 : 32)),
      order(order), counts(builder, loc,
                           size > std::numeric_limits<int32_t>::max()
                               ? Type(builder.getI64Type())
                               : keys.getElementType()),
      numKeys(size), lanes(512 / keys.getWidth()) {
  planMemory();
}

Value RowSelector::allocate(int64_t count, Type type) {
  return memref::AllocaOp::create(builder, loc, MemRefType::get(count, type),
                                  builder.getI64IntegerAttr(kAlignment));
}

void RowSelector::planMemory() {
  if (size * int64_t(keys.getWidth() / 8) > kMostKeyBytes)
    return;
  numKeys = llvm::alignTo(size, kMultiple);
  kept = allocate(numKeys, keys.getType());
  // Those behind the end count as nothing, and come last of equals.
  Value least = integer(APInt::getSignedMinValue(keys.getWidth()));
  for (int64_t i = size; i < numKeys; ++i)
    memref::StoreOp::create(builder, loc, least, kept, keys.index(i));
  // Twice as many maxima as are wanted leave few elements; with hardly more
  // than k, or of groups of few, they would leave most.
  int64_t maxima =
      std::clamp<int64_t>(llvm::divideCeil(2 * k, lanes), 1, kMostMaxima);
  if (elements.getWidth() < 8 || 8 * k > 7 * maxima * lanes ||
      size < 4 * maxima * lanes)
    return;
  numMaxima = maxima;
  packedKeys = allocate(numKeys + lanes, keys.getType());
  packedIndices = allocate(numKeys + lanes, builder.getI32Type());
  takenIndices = allocate(k + lanes, builder.getI32Type());
}

SmallVector<Value> RowSelector::loop(
    Value end, ValueRange state,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto made = scf::buildLoopNest(
      builder, loc, keys.index(0), end, keys.index(1), state,
      [&](OpBuilder &, Location, ValueRange i, ValueRange args) {
        SmallVector<Value> next = body(i[0], args);
        return scf::ValueVector(next.begin(), next.end());
      });
  return SmallVector<Value>(made.results);
}

Value RowSelector::integer(const APInt &value) {
  return keys.constant(builder.getIntegerAttr(keys.getType(), value));
}

/// An integer that is larger the earlier the element comes: of floats their
/// bits, of negative ones turned around.
Value RowSelector::getKey(Value element) {
  Type type = keys.getType();
  if (auto vector = dyn_cast<VectorType>(element.getType()))
    type = vector.clone(type);
  auto constant = [&](const APInt &value) -> Value {
    if (auto vector = dyn_cast<VectorType>(type))
      return keys.constant(DenseElementsAttr::get(vector, value));
    return integer(value);
  };
  unsigned width = keys.getWidth();
  APInt zero(width, 0), ones = APInt::getAllOnes(width);
  Value key;
  if (elements.isFloat()) {
    Value bits = keys.create<arith::BitcastOp>(type, element);
    Value largest = constant(APInt::getSignedMaxValue(width));
    if (order.magnitude) {
      key = keys.create<arith::AndIOp>(bits, largest);
    } else {
      Value sign =
          keys.create<arith::ShRSIOp>(bits, constant(APInt(width, width - 1)));
      key = keys.create<arith::XOrIOp>(
          bits, keys.create<arith::AndIOp>(sign, largest));
      // Of -0, -1: made 0's.
      key = keys.select(keys.equal(key, constant(ones)), constant(zero), key);
    }
    Value isNan = elements.create<arith::CmpFOp>(arith::CmpFPredicate::UNO,
                                                 element, element);
    key = keys.select(isNan, largest, key);
  } else if (elements.getWidth() == width) {
    key = elements.isUnsigned()
              ? keys.create<arith::XOrIOp>(
                    element, constant(APInt::getSignedMinValue(width)))
              : element;
  } else if (elements.isUnsigned()) {
    key = keys.create<arith::ExtUIOp>(type, element);
  } else {
    key = keys.create<arith::ExtSIOp>(type, element);
  }
  return order.largest ? key : keys.create<arith::XOrIOp>(key, constant(ones));
}

Value RowSelector::isAtLeast(Value key, Value least) {
  return keys.create<arith::CmpIOp>(arith::CmpIPredicate::sge, key, least);
}

Value RowSelector::loadKey(Value i) {
  if (kept)
    return memref::LoadOp::create(builder, loc, kept, i);
  return getKey(read(i, 1, /*first=*/false));
}

/// Keeps the keys, if they are; gives a key that at least k elements reach, and
/// the largest. The least of the largest of k groups is such a key, and not far
/// below the k-th largest.
std::pair<Value, Value> RowSelector::emitKeys() {
  unsigned width = keys.getWidth();
  Value lowest = integer(APInt::getSignedMinValue(width));
  // The largest of `count` keys from `first` on.
  auto emitGroup = [&](Value first, int64_t count) {
    return loop(keys.index(count), lowest,
                [&](Value i, ValueRange state) -> SmallVector<Value> {
                  i = keys.create<arith::AddIOp>(first, i);
                  Value key = getKey(read(i, 1, /*first=*/true));
                  if (kept)
                    memref::StoreOp::create(builder, loc, key, kept, i);
                  return {keys.create<arith::MaxSIOp>(state[0], key)};
                })[0];
  };
  int64_t group = size / k;
  if (group >= kBlock) // without a rest of vectors
    group = group / kBlock * kBlock;
  SmallVector<Value> bounds =
      loop(keys.index(k), {integer(APInt::getSignedMaxValue(width)), lowest},
           [&](Value i, ValueRange state) -> SmallVector<Value> {
             Value largest = emitGroup(keys.mulIndex(i, group), group);
             return {keys.create<arith::MinSIOp>(state[0], largest),
                     keys.create<arith::MaxSIOp>(state[1], largest)};
           });
  Value rest = emitGroup(keys.index(k * group), size - k * group);
  return {bounds[0], keys.create<arith::MaxSIOp>(bounds[1], rest)};
}

/// How many keys are at least `least`.
Value RowSelector::countAtLeast(Value least) {
  return loop(keys.index(numKeys), counts.integer(0),
              [&](Value i, ValueRange state) -> SmallVector<Value> {
                Value one = counts.select(isAtLeast(loadKey(i), least),
                                          counts.integer(1), counts.integer(0));
                return {counts.create<arith::AddIOp>(state[0], one)};
              })[0];
}

/// Of two keys, rounded up; their distance may need all bits.
Value RowSelector::getMiddle(Value low, Value high) {
  Value one = keys.integer(1);
  Value distance = keys.create<arith::SubIOp>(high, low);
  Value half =
      keys.create<arith::AddIOp>(keys.create<arith::ShRUIOp>(distance, one),
                                 keys.create<arith::AndIOp>(distance, one));
  return keys.create<arith::AddIOp>(low, half);
}

/// The largest key that at least k elements reach, or a smaller one that
/// exactly k do; between `low`, which they reach, and `high`.
Value RowSelector::emitSearch(Value low, Value high) {
  auto step = [&](Value, ValueRange state) -> SmallVector<Value> {
    Value low = state[0], high = state[1], one = keys.integer(1);
    Value isOpen =
        keys.create<arith::CmpIOp>(arith::CmpIPredicate::slt, low, high);
    Value middle = getMiddle(low, high);
    // Once it is found, no more passes.
    auto pass = scf::IfOp::create(builder, loc, counts.getType(), isOpen,
                                  /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(pass.elseBlock());
      scf::YieldOp::create(builder, loc, counts.integer(0));
      builder.setInsertionPointToStart(pass.thenBlock());
      Value count = countAtLeast(middle);
      scf::YieldOp::create(builder, loc, count);
    }
    Value count = pass.getResult(0);
    Value enough = counts.create<arith::CmpIOp>(arith::CmpIPredicate::sge,
                                                count, counts.integer(k));
    Value exact = counts.equal(count, counts.integer(k));
    Value below = keys.create<arith::SubIOp>(middle, one);
    Value newHigh =
        keys.select(exact, middle, keys.select(enough, high, below));
    return {keys.select(isOpen, keys.select(enough, middle, low), low),
            keys.select(isOpen, newHigh, high)};
  };
  // Of sparse rows the least key, which many have, is often the one; halving
  // would come to it last.
  Value next = keys.create<arith::AddIOp>(low, keys.integer(1));
  Value enough = counts.create<arith::CmpIOp>(
      arith::CmpIPredicate::sge, countAtLeast(next), counts.integer(k));
  return loop(keys.index(keys.getWidth()),
              {keys.select(enough, next, low), keys.select(enough, high, low)},
              step)[0];
}

/// What is above the threshold and the first that equal it, in the order of
/// their indices.
void RowSelector::emitSelection(Value threshold) {
  Value above = loop(keys.index(numKeys), counts.integer(0),
                     [&](Value i, ValueRange state) -> SmallVector<Value> {
                       Value isAbove = keys.greater(loadKey(i), threshold);
                       Value one = counts.select(isAbove, counts.integer(1),
                                                 counts.integer(0));
                       return {counts.create<arith::AddIOp>(state[0], one)};
                     })[0];
  Value ties = counts.create<arith::SubIOp>(counts.integer(k), above);
  // The state: where the next one goes, and how many may still be equal.
  auto visit = [&](Value i, ValueRange state) -> SmallVector<Value> {
    Value key = loadKey(i);
    Value isTie = counts.create<arith::AndIOp>(
        keys.equal(key, threshold),
        counts.greater(state[1], counts.integer(0)));
    Value isTaken =
        counts.create<arith::OrIOp>(keys.greater(key, threshold), isTie);
    auto branch = scf::IfOp::create(builder, loc, isTaken);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      take(i, state[0]);
    }
    Value next = counts.select(isTaken, counts.addIndex(state[0], 1), state[0]);
    Value left = counts.select(
        isTie, counts.create<arith::SubIOp>(state[1], counts.integer(1)),
        state[1]);
    return {next, left};
  };
  auto visitFrom = [&](Value first, int64_t count, ValueRange state) {
    return loop(counts.index(count), state, [&](Value i, ValueRange state) {
      return visit(counts.create<arith::AddIOp>(first, i), state);
    });
  };
  SmallVector<Value> state{counts.index(0), ties};
  int64_t blocks = numKeys / kBlock;
  if (blocks > 0)
    state = loop(
        counts.index(blocks), state,
        [&](Value block, ValueRange state) -> SmallVector<Value> {
          Value first = counts.mulIndex(block, kBlock);
          Value any =
              loop(counts.index(kBlock), keys.integer(0),
                   [&](Value i, ValueRange any) -> SmallVector<Value> {
                     Value key =
                         loadKey(counts.create<arith::AddIOp>(first, i));
                     Value one = keys.select(isAtLeast(key, threshold),
                                             keys.integer(1), keys.integer(0));
                     return {keys.create<arith::OrIOp>(any[0], one)};
                   })[0];
          Value isAny = keys.create<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                                   any, keys.integer(0));
          auto branch = scf::IfOp::create(builder, loc, TypeRange(state), isAny,
                                          /*withElseRegion=*/true);
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(branch.elseBlock());
          scf::YieldOp::create(builder, loc, state);
          builder.setInsertionPointToStart(branch.thenBlock());
          SmallVector<Value> next = visitFrom(first, kBlock, state);
          scf::YieldOp::create(builder, loc, next);
          return SmallVector<Value>(branch.getResults());
        });
  visitFrom(counts.index(blocks * kBlock), numKeys - blocks * kBlock, state);
}

void RowSelector::emit(ValueRange outer) {
  row.assign(outer.begin(), outer.end());
  if (packedKeys) {
    emitPacked();
    return;
  }
  auto [low, high] = emitKeys();
  emitSelection(emitSearch(low, high));
}
