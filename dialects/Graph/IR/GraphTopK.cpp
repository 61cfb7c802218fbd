//===- GraphTopK.cpp - top_k -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are compared by keys: integers in the order of the elements, equal
// where those are. The k-th largest key of a row is found by halving the range
// of keys, a pass over the row for each bit at most; what is above it is taken,
// and of what equals it the first. What is taken is sorted in place. Where few
// are wanted, the passes are over the few that may be among them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphSupport.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> loc,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  uint64_t k = adaptor.getK();
  if (type.getRank() == 0 || k < 1 || k > uint64_t(type.getShape().back()))
    return emitOptionalError(
        loc,
        "'graph.top_k' op expected k to be from 1 to the size "
        "of the last dim of ",
        type, ", but got ", int64_t(k));
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  types.push_back(type.clone(shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

LogicalResult TopKOp::verify() {
  if (getMagnitude() && !isa<FloatType>(getElementTypeOrSelf(getOperand())))
    return emitOpError("expected floats to order by magnitude, but got ")
           << getOperand().getType();
  return success();
}

LogicalResult TopKOp::differentiate(OpBuilder &builder,
                                    ValueRange resultCotangents,
                                    ArrayRef<bool> wanted,
                                    SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  auto type = getOperand().getType();
  if (!dy || !wanted[0] || !isa<FloatType>(type.getElementType())) {
    cotangents.push_back({});
    return success();
  }
  GraphBuilder g(builder, getLoc());
  cotangents.push_back(
      g.make<ScatterElementsOp>(ScatterKind::Add, g.zeros(type), getIndices(),
                                dy, uint64_t(type.getRank() - 1)));
  return success();
}

ShardingRule TopKOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto type = getOperand().getType();
  unsigned last = type.getRank() - 1;
  for (unsigned d = 0; d < last; ++d)
    rule.factor(type.getDimSize(d), ValueDim{0, d},
                {ValueDim{0, d}, ValueDim{1, d}});
  rule.factor(type.getDimSize(last), ValueDim{0, last}, {},
              FactorKind::NeedReplication);
  rule.factor(getK(), {}, {ValueDim{0, last}, ValueDim{1, last}},
              FactorKind::NeedReplication);
  return rule.build();
}

/// Passes over a row until the k-th largest key is known, about: all bits of
/// them only where elements are nearly equal.
static constexpr double kPasses = 16;

OpCost TopKOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.flops = kPasses * getOperand().getType().getNumElements();
  return cost;
}

/// A pass loads, compares and counts.
double TopKOp::getInstructions() { return 3 * kPasses; }

LogicalResult TopKOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor values(getValues().getType()), indices(getIndices().getType());
  int64_t n = x.getShape().back(), k = getK();
  HostTensor ordered = x;
  if (getMagnitude())
    for (int64_t i = 0; i < x.getNumElements(); ++i)
      ordered.setDouble(i, std::fabs(x.getDouble(i)));
  // NaN is above every number: the smallest are numbers first.
  auto beats = [&](int64_t a, int64_t b) {
    return getLargest() ? isBeyond(ordered, a, b, /*above=*/true)
                        : isBeyond(ordered, b, a, /*above=*/true);
  };
  std::vector<int64_t> order(n);
  for (int64_t row = 0, rows = x.getNumElements() / std::max<int64_t>(n, 1);
       row < rows; ++row) {
    std::iota(order.begin(), order.end(), row * n);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int64_t a, int64_t b) {
                        return beats(a, b) || (a < b && !beats(b, a));
                      });
    if (!getSorted())
      std::sort(order.begin(), order.begin() + k);
    for (int64_t j = 0; j < k; ++j) {
      copyElement(values, row * k + j, x, order[j]);
      indices.setInt(row * k + j, order[j] - row * n);
    }
  }
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  return success();
}

int64_t TopKOp::getLoopRows() {
  auto type = getOperand().getType();
  return type.getRank() > 1 ? type.getDimSize(0) : 1;
}

namespace {
/// The keys of a row, where they are kept, lie on the stack.
constexpr int64_t kMostKeyBytes = 64 << 10;

/// Elements of which one comparison tells whether any is taken.
constexpr int64_t kBlock = 16;

/// Of the memory of keys: vectors that cross cache lines load at half speed.
constexpr int64_t kAlignment = 64;

/// Keys that are kept are so many times more, so that vectors leave none over.
constexpr int64_t kMultiple = 64;

/// Emits the code for one row after the other.
class RowSelector {
public:
  RowSelector(TopKOp op, OpBuilder &builder, Location loc, ValueRange operands,
              ValueRange results)
      : op(op), builder(builder), loc(loc), operand(operands[0]),
        values(results[0]), indices(results[1]),
        elementType(op.getOperand().getType().getElementType()),
        size(op.getOperand().getType().getShape().back()), k(op.getK()),
        elements(builder, loc, elementType),
        keys(builder, loc,
             builder.getIntegerType(elements.getWidth() > 32 ? 64 : 32)),
        counts(builder, loc,
               size > std::numeric_limits<int32_t>::max()
                   ? Type(builder.getI64Type())
                   : keys.getElementType()) {
    if (size * int64_t(keys.getWidth() / 8) <= kMostKeyBytes)
      keepKeys();
    end = keys.index(numKeys);
  }

  void emit(ValueRange outer);

private:
  void keepKeys();
  void gatherFrom(Value least);
  Value getKey(Value element);
  /// Key number `i`, of the row or of what was gathered from it.
  Value loadKey(Value i);
  /// Where it is in the row.
  Value getPlace(Value i);
  Value isAtLeast(Value key, Value least) {
    return keys.create<arith::CmpIOp>(arith::CmpIPredicate::sge, key, least);
  }
  /// A serial loop from 0 to `end`.
  SmallVector<Value>
  loop(Value end, ValueRange state,
       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto made = scf::buildLoopNest(
        builder, loc, keys.index(0), end, keys.index(1), state,
        [&](OpBuilder &, Location, ValueRange i, ValueRange args) {
          SmallVector<Value> next = body(i[0], args);
          return scf::ValueVector(next.begin(), next.end());
        });
    return SmallVector<Value>(made.results);
  }
  std::pair<Value, Value> emitKeys();
  Value countAtLeast(Value least);
  Value emitSearch(Value low, Value high);
  void emitSelection(Value threshold);
  void emitSort();
  void exchange(Value a, Value b);
  SmallVector<Value> at(Value i) const {
    SmallVector<Value> coordinates(row);
    coordinates.push_back(i);
    return coordinates;
  }

  TopKOp op;
  OpBuilder &builder;
  Location loc;
  Value operand, values, indices, kept;
  /// Keys that may be among the k, and their places, in the order of the row.
  Value fewKeys, fewPlaces;
  /// Behind the last key.
  Value end;
  Type elementType;
  int64_t size, k, numKeys = size;
  ScalarBuilder elements, keys, counts;
  SmallVector<Value> row;
};
} // namespace

/// Memory for a row's keys, behind whose end are the least ones: those count as
/// nothing, and come last of equals.
void RowSelector::keepKeys() {
  numKeys = llvm::alignTo(size, kMultiple);
  kept = memref::AllocaOp::create(builder, loc,
                                  MemRefType::get(numKeys, keys.getType()),
                                  builder.getI64IntegerAttr(kAlignment));
  Value least = keys.constant(builder.getIntegerAttr(
      keys.getType(), APInt::getSignedMinValue(keys.getWidth())));
  for (int64_t i = size; i < numKeys; ++i)
    memref::StoreOp::create(builder, loc, least, kept, keys.index(i));
  // The least of the largest of k groups is below some k log k.
  if (2 * k * (llvm::Log2_64_Ceil(k) + 1) >= size)
    return;
  auto allocate = [&](Type type) -> Value {
    return memref::AllocaOp::create(builder, loc,
                                    MemRefType::get(numKeys + kMultiple, type),
                                    builder.getI64IntegerAttr(kAlignment));
  };
  fewKeys = allocate(keys.getType());
  fewPlaces = allocate(builder.getI32Type());
}

/// From here on the keys are those of at least `least`.
void RowSelector::gatherFrom(Value least) {
  int64_t lanes = 512 / keys.getWidth();
  auto vectorOf = [&](Type type) { return VectorType::get(lanes, type); };
  Type i32 = builder.getI32Type();
  auto splat = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(builder, loc, vectorOf(scalar.getType()),
                                       scalar);
  };
  Value leasts = splat(least);
  Value lane = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          vectorOf(i32),
          ArrayRef(llvm::to_vector(llvm::seq<int32_t>(0, lanes)))));
  Value count =
      loop(keys.index(numKeys / lanes), keys.index(0),
           [&](Value block, ValueRange state) -> SmallVector<Value> {
             Value first = keys.mulIndex(block, lanes), next = state[0];
             Value some = vector::LoadOp::create(
                 builder, loc, vectorOf(keys.getType()), kept, first);
             Value mask = arith::CmpIOp::create(
                 builder, loc, arith::CmpIPredicate::sge, some, leasts);
             Value places = arith::AddIOp::create(
                 builder, loc, lane,
                 splat(arith::IndexCastOp::create(builder, loc, i32, first)));
             // The builder that takes an alignment swaps the last two.
             auto pack = [&](Value memory, Value what) {
               vector::CompressStoreOp::create(builder, loc, memory, next, mask,
                                               what, IntegerAttr());
             };
             pack(fewKeys, some);
             pack(fewPlaces, places);
             auto bits = builder.getIntegerType(lanes);
             Value all = vector::ExtractOp::create(
                 builder, loc,
                 vector::BitCastOp::create(builder, loc,
                                           VectorType::get(1, bits), mask),
                 0);
             Value taken = arith::IndexCastUIOp::create(
                 builder, loc, builder.getIndexType(),
                 math::CtPopOp::create(builder, loc, all));
             return {keys.create<arith::AddIOp>(next, taken)};
           })[0];
  Value none = splat(keys.constant(builder.getIntegerAttr(
      keys.getType(), APInt::getSignedMinValue(keys.getWidth()))));
  for (int64_t i = 0; i < kMultiple; i += lanes)
    vector::StoreOp::create(builder, loc, none, fewKeys,
                            keys.addIndex(count, i));
  end = keys.create<arith::AndIOp>(keys.addIndex(count, kMultiple - 1),
                                   keys.index(-kMultiple));
}

/// An integer that is larger the earlier the element comes: of floats their
/// bits, of negative ones turned around.
Value RowSelector::getKey(Value element) {
  auto integer = [&](APInt value) {
    return keys.constant(builder.getIntegerAttr(keys.getType(), value));
  };
  unsigned width = keys.getWidth();
  Value key;
  if (elements.isFloat()) {
    Value bits = keys.create<arith::BitcastOp>(keys.getType(), element);
    Value largest = integer(APInt::getSignedMaxValue(width));
    if (op.getMagnitude()) {
      key = keys.create<arith::AndIOp>(bits, largest);
    } else {
      Value sign = keys.create<arith::ShRSIOp>(bits, keys.integer(width - 1));
      key = keys.create<arith::XOrIOp>(
          bits, keys.create<arith::AndIOp>(sign, largest));
      // Of -0, -1: made 0's.
      key =
          keys.select(keys.equal(key, keys.integer(-1)), keys.integer(0), key);
    }
    Value isNan = elements.create<arith::CmpFOp>(arith::CmpFPredicate::UNO,
                                                 element, element);
    key = keys.select(isNan, largest, key);
  } else if (elements.getWidth() == width) {
    key = elements.isUnsigned()
              ? keys.create<arith::XOrIOp>(
                    element, integer(APInt::getSignedMinValue(width)))
              : element;
  } else if (elements.isUnsigned()) {
    key = keys.create<arith::ExtUIOp>(keys.getType(), element);
  } else {
    key = keys.create<arith::ExtSIOp>(keys.getType(), element);
  }
  return op.getLargest() ? key
                         : keys.create<arith::XOrIOp>(key, keys.integer(-1));
}

Value RowSelector::getPlace(Value i) {
  if (!fewPlaces)
    return i;
  return keys.create<arith::IndexCastOp>(
      builder.getIndexType(),
      memref::LoadOp::create(builder, loc, fewPlaces, i));
}

Value RowSelector::loadKey(Value i) {
  if (kept)
    return memref::LoadOp::create(builder, loc, fewKeys ? fewKeys : kept, i);
  return getKey(emitLoad(builder, loc, operand, at(i), elementType));
}

/// Keeps the keys, if they are; gives a key that at least k elements reach, and
/// the largest. The least of the largest of k groups is such a key, and not far
/// below the k-th largest.
std::pair<Value, Value> RowSelector::emitKeys() {
  auto bound = [&](APInt value) {
    return keys.constant(builder.getIntegerAttr(keys.getType(), value));
  };
  unsigned width = keys.getWidth();
  Value lowest = bound(APInt::getSignedMinValue(width));
  // The largest of `count` keys from `first` on.
  auto emitGroup = [&](Value first, int64_t count) {
    return loop(keys.index(count), lowest,
                [&](Value i, ValueRange state) -> SmallVector<Value> {
                  i = keys.create<arith::AddIOp>(first, i);
                  Value key = getKey(
                      emitLoad(builder, loc, operand, at(i), elementType));
                  if (kept)
                    memref::StoreOp::create(builder, loc, key, kept, i);
                  return {keys.create<arith::MaxSIOp>(state[0], key)};
                })[0];
  };
  int64_t group = size / k;
  if (group >= kBlock) // without a rest of vectors
    group = group / kBlock * kBlock;
  SmallVector<Value> bounds =
      loop(keys.index(k), {bound(APInt::getSignedMaxValue(width)), lowest},
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
  return loop(end, counts.integer(0),
              [&](Value i, ValueRange state) -> SmallVector<Value> {
                Value one = counts.select(isAtLeast(loadKey(i), least),
                                          counts.integer(1), counts.integer(0));
                return {counts.create<arith::AddIOp>(state[0], one)};
              })[0];
}

/// The largest key that at least k elements reach, or a smaller one that
/// exactly k do; between `low`, which they reach, and `high`.
Value RowSelector::emitSearch(Value low, Value high) {
  auto step = [&](Value, ValueRange state) -> SmallVector<Value> {
    Value low = state[0], high = state[1], one = keys.integer(1);
    Value isOpen =
        keys.create<arith::CmpIOp>(arith::CmpIPredicate::slt, low, high);
    // The middle, rounded up; the distance may need all bits.
    Value distance = keys.create<arith::SubIOp>(high, low);
    Value half =
        keys.create<arith::AddIOp>(keys.create<arith::ShRUIOp>(distance, one),
                                   keys.create<arith::AndIOp>(distance, one));
    Value middle = keys.create<arith::AddIOp>(low, half);
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
  Value above = loop(end, counts.integer(0),
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
      Value place = getPlace(i);
      Value element = emitLoad(builder, loc, operand, at(place), elementType);
      emitStore(builder, loc, element, values, at(state[0]), elementType);
      Value number =
          counts.create<arith::IndexCastOp>(builder.getI64Type(), place);
      emitStore(builder, loc, number, indices, at(state[0]),
                builder.getI64Type());
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
        counts.create<arith::DivUIOp>(end, counts.index(kBlock)), state,
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
  if (!fewKeys) // those are whole blocks
    visitFrom(counts.index(blocks * kBlock), numKeys - blocks * kBlock, state);
}

/// The results at `a` and `b` change places if the second comes earlier.
void RowSelector::exchange(Value a, Value b) {
  ScalarBuilder numbers(builder, loc, builder.getI64Type());
  auto load = [&](Value memory, Value i, Type type) {
    return emitLoad(builder, loc, memory, at(i), type);
  };
  Value first = load(values, a, elementType),
        second = load(values, b, elementType),
        firstIndex = load(indices, a, numbers.getElementType()),
        secondIndex = load(indices, b, numbers.getElementType());
  Value firstKey = getKey(first), secondKey = getKey(second);
  Value isTie = keys.create<arith::AndIOp>(
      keys.equal(firstKey, secondKey), numbers.less(secondIndex, firstIndex));
  Value isLater =
      keys.create<arith::OrIOp>(keys.less(firstKey, secondKey), isTie);
  auto store = [&](Value memory, Value x, Value y, Type type) {
    emitStore(builder, loc, keys.select(isLater, y, x), memory, at(a), type);
    emitStore(builder, loc, keys.select(isLater, x, y), memory, at(b), type);
  };
  store(values, first, second, elementType);
  store(indices, firstIndex, secondIndex, numbers.getElementType());
}

/// Batcher's merging network for any number of elements: Knuth, "The Art of
/// Computer Programming", vol. 3, 5.2.2, algorithm M.
void RowSelector::emitSort() {
  ScalarBuilder b(builder, loc, builder.getI64Type());
  int64_t levels = llvm::Log2_64_Ceil(k);
  Value one = b.index(1);
  loop(b.index(levels), {}, [&](Value level, ValueRange) -> SmallVector<Value> {
    Value last = b.create<arith::SubIOp>(b.index(levels - 1), level);
    Value p = b.create<arith::ShLIOp>(one, last);
    Value steps = b.addIndex(level, 1);
    loop(steps, {}, [&](Value step, ValueRange) -> SmallVector<Value> {
      // Neighbours of 2p first, then those 2^(levels - step) - p apart.
      Value isFirst =
          b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, step, b.index(0));
      Value power = b.create<arith::ShLIOp>(
          one, b.create<arith::SubIOp>(b.index(levels), step));
      Value distance = b.select(isFirst, p, b.create<arith::SubIOp>(power, p));
      Value wanted = b.select(isFirst, b.index(0), p);
      Value end = b.create<arith::SubIOp>(b.index(k), distance);
      loop(end, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
        Value isOne = b.create<arith::CmpIOp>(
            arith::CmpIPredicate::eq, b.create<arith::AndIOp>(i, p), wanted);
        auto branch = scf::IfOp::create(builder, loc, isOne);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(branch.thenBlock());
        exchange(i, b.create<arith::AddIOp>(i, distance));
        return {};
      });
      return {};
    });
    return {};
  });
}

void RowSelector::emit(ValueRange outer) {
  row.assign(outer.begin(), outer.end());
  auto [low, high] = emitKeys();
  if (fewKeys)
    gatherFrom(low);
  emitSelection(emitSearch(low, high));
  if (op.getSorted() && k > 1)
    emitSort();
}

LogicalResult TopKOp::emitLoops(OpBuilder &builder, Location loc,
                                ValueRange operands, ValueRange results,
                                Value begin, Value end) {
  auto type = getOperand().getType();
  RowSelector selector(*this, builder, loc, operands, results);
  emitLoopNest(
      builder, loc, type.getShape().drop_back(), {},
      [&](OpBuilder &, Location, ValueRange outer,
          ValueRange) -> SmallVector<Value> {
        selector.emit(outer);
        return {};
      },
      type.getRank() > 1 ? LoopRange{begin, end} : LoopRange());
  return success();
}
