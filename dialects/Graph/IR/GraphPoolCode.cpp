//===- GraphPoolCode.cpp - Pools: evaluation, scalar code -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphPool.h"
#include "dialects/Graph/IR/GraphSupport.h"
#include "dialects/Graph/IR/LoopBuilder.h"
#include "dialects/Interfaces/HostLoops.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

namespace {
/// An element of a window that is no padding: its position in the window, and
/// where it is in the operand behind where the window begins.
struct WindowTap {
  int64_t position, offset;
};
} // namespace

/// Calls `fn(window in the result, where it begins in the operand, its
/// taps)` for every window. Those that reach the same taps share a list.
static void forEachWindow(
    const WindowShape &shape,
    llvm::function_ref<void(int64_t, int64_t, ArrayRef<WindowTap>)> fn) {
  SmallVector<int64_t> from = getRowMajorStrides(shape.operandSizes);
  SmallVector<int64_t> to = getRowMajorStrides(shape.resultSizes);
  // Runs of windows with the same taps, in each dim.
  struct Run {
    int64_t window, numWindows, tap, numTaps;
  };
  SmallVector<SmallVector<Run>> runs(shape.getRank());
  SmallVector<int64_t> numRuns;
  int64_t base = 0;
  for (unsigned d = 0; d < shape.getRank(); ++d) {
    for (int64_t window = 0; window < shape.resultSizes[d]; ++window) {
      int64_t first = 0, count = 0;
      for (int64_t tap = 0; tap < shape.window[d]; ++tap) {
        int64_t position = window * shape.strides[d] +
                           tap * shape.dilations[d] - shape.padLow[d];
        if (position < 0 || position >= shape.operandSizes[d])
          continue;
        first = count ? first : tap;
        ++count;
      }
      if (!runs[d].empty() && runs[d].back().tap == first &&
          runs[d].back().numTaps == count)
        ++runs[d].back().numWindows;
      else
        runs[d].push_back({window, 1, first, count});
    }
    numRuns.push_back(runs[d].size());
    base -= shape.padLow[d] * from[d];
  }
  SmallVector<int64_t> inWindow = getRowMajorStrides(shape.window);
  forEachIndex(numRuns, [&](ArrayRef<int64_t> index) {
    SmallVector<StridedRange> reads, writes, positions, offsets;
    for (auto [d, i] : llvm::enumerate(index)) {
      const Run &run = runs[d][i];
      reads.push_back({run.window, run.numWindows, from[d] * shape.strides[d]});
      writes.push_back({run.window, run.numWindows, to[d]});
      positions.push_back({run.tap, run.numTaps, inWindow[d]});
      offsets.push_back({run.tap, run.numTaps, from[d] * shape.dilations[d]});
    }
    SmallVector<WindowTap> taps;
    for (auto [position, offset] :
         llvm::zip(listOffsets(positions), listOffsets(offsets)))
      taps.push_back({position, offset});
    for (auto [read, write] :
         llvm::zip(listOffsets(reads, base), listOffsets(writes)))
      fn(write, read, taps);
  });
}

/// Sets an element to the lowest value of the tensor's type.
static void setLowest(HostTensor &tensor, int64_t at) {
  Type element = tensor.getType().getElementType();
  if (auto floatType = dyn_cast<FloatType>(element))
    return tensor.setDouble(at, -std::numeric_limits<double>::infinity());
  auto integer = cast<IntegerType>(element);
  tensor.setInt(at, tensor.isUnsigned()
                        ? 0
                        : int64_t(~uint64_t(0) << (integer.getWidth() - 1)));
}

LogicalResult MaxPoolOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  WindowShape shape = WindowShape::get(*this, getOperand());
  HostTensor values(getResult().getType()), indices(getIndices().getType());
  auto isLarger = [&](int64_t candidate, int64_t best) {
    if (x.isFloat())
      return !(values.getDouble(best) >= x.getDouble(candidate)) &&
             !std::isnan(values.getDouble(best));
    return x.isUnsigned()
               ? uint64_t(x.getInt(candidate)) > uint64_t(values.getInt(best))
               : x.getInt(candidate) > values.getInt(best);
  };
  forEachWindow(shape,
                [&](int64_t out, int64_t base, ArrayRef<WindowTap> taps) {
                  setLowest(values, out);
                  for (auto [position, offset] : taps) {
                    int64_t at = base + offset;
                    if (!isLarger(at, out))
                      continue;
                    copyElement(values, out, x, at);
                    indices.setInt(out, position);
                  }
                });
  results.push_back(values);
  results.push_back(indices);
  return success();
}

LogicalResult MaxPoolGradOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  WindowShape shape = WindowShape::get(*this, getResult());
  HostTensor result(getType());
  MutableArrayRef<double> sums = result.writeFloats();
  forEachWindow(shape,
                [&](int64_t from, int64_t base, ArrayRef<WindowTap> taps) {
                  int64_t chosen = operands[1].getInt(from);
                  for (auto [position, offset] : taps)
                    if (position == chosen)
                      sums[base + offset] += operands[0].getDouble(from);
                });
  result.adjust(0, result.getNumElements());
  results.push_back(std::move(result));
  return success();
}

/// By how much a window's sum is divided. Never 0: a window of nothing but
/// padding has sum 0.
static double getDivisor(const WindowShape &shape, ArrayRef<WindowTap> taps,
                         bool countIncludePad) {
  return countIncludePad ? shape.getNumElements()
                         : std::max<int64_t>(taps.size(), 1);
}

LogicalResult AvgPoolOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  WindowShape shape = WindowShape::get(*this, getOperand());
  HostTensor result(getType());
  forEachWindow(shape, [&](int64_t out, int64_t base,
                           ArrayRef<WindowTap> taps) {
    double sum = 0;
    for (auto [position, offset] : taps)
      sum += operands[0].getDouble(base + offset);
    result.setDouble(out, sum / getDivisor(shape, taps, getCountIncludePad()));
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult AvgPoolGradOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  WindowShape shape = WindowShape::get(*this, getResult());
  HostTensor result(getType());
  MutableArrayRef<double> sums = result.writeFloats();
  forEachWindow(shape,
                [&](int64_t from, int64_t base, ArrayRef<WindowTap> taps) {
                  double weight = operands[0].getDouble(from) /
                                  getDivisor(shape, taps, getCountIncludePad());
                  for (auto [position, offset] : taps)
                    sums[base + offset] += weight;
                });
  result.adjust(0, result.getNumElements());
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

/// Small windows are unrolled: the loop left innermost is then the one over
/// channels, which vectorizes.
static constexpr int64_t kUnrollLimit = 32;

static SmallVector<Value> emitWindowLoops(ScalarBuilder &s,
                                          ArrayRef<int64_t> sizes,
                                          ValueRange accumulators,
                                          ReductionBody body) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count <= kUnrollLimit
             ? emitUnrolledLoops(s, sizes, accumulators, body)
             : emitReductionLoops(s, sizes, accumulators, body);
}

static Value plus(ScalarBuilder &s, Value x, Value y) {
  return s.create<arith::AddIOp>(x, y);
}

/// Where the element `tap` of the window `window` lies in the operand.
static SmallVector<Value> emitWindowIndex(ScalarBuilder &s,
                                          const WindowShape &shape,
                                          ValueRange window, ValueRange tap,
                                          BoundsGuard &guard) {
  SmallVector<Value> index;
  for (unsigned d = 0; d < shape.getRank(); ++d) {
    Value position = s.mulIndex(window[d], shape.strides[d]);
    if (shape.window[d] > 1)
      position = plus(s, position, s.mulIndex(tap[d], shape.dilations[d]));
    position = s.addIndex(position, -shape.padLow[d]);
    index.push_back(guard.clamp(position, shape.operandSizes[d],
                                shape.reachesBelow(d), shape.reachesAbove(d)));
  }
  return index;
}

/// Row-major position of `tap` in the window, as i32.
static Value emitWindowPosition(ScalarBuilder &s, const WindowShape &shape,
                                ValueRange tap) {
  Value position;
  for (unsigned d = 0; d < shape.getRank(); ++d) {
    if (shape.window[d] == 1)
      continue;
    position = position ? plus(s, s.mulIndex(position, shape.window[d]), tap[d])
                        : tap[d];
  }
  if (!position)
    position = s.index(0);
  return s.create<arith::IndexCastOp>(s.getBuilder().getI32Type(), position);
}

static Value emitLowest(ScalarBuilder &s) {
  if (s.isFloat())
    return s.constant(-std::numeric_limits<double>::infinity());
  return s.integer(s.isUnsigned() ? 0 : INT64_MIN >> (64 - s.getWidth()));
}

/// Value and index of the window's largest element. Both results' code is the
/// same, so that common subexpressions merge when they share a loop.
Value MaxPoolOp::emitElement(OpBuilder &builder, Location loc, unsigned result,
                             ValueRange indices, ElementLoader load) {
  ScalarBuilder s(builder, loc, getResult().getType());
  WindowShape shape = WindowShape::get(*this, getOperand());
  auto i32 = [&](int64_t value) {
    return s.constant(builder.getI32IntegerAttr(value));
  };
  auto step = [&](ValueRange tap, ValueRange best) -> SmallVector<Value> {
    BoundsGuard guard(s);
    SmallVector<Value> index = emitWindowIndex(s, shape, indices, tap, guard);
    Value x = load(0, index);
    Value position = emitWindowPosition(s, shape, tap);
    // The first element of an unrolled window without padding starts.
    if (best.empty())
      return {x, position};
    if (s.isFloat()) {
      guard.require(
          s.create<arith::CmpFOp>(arith::CmpFPredicate::ULT, best[0], x));
      guard.require(
          s.create<arith::CmpFOp>(arith::CmpFPredicate::ORD, best[0], best[0]));
    } else {
      guard.require(s.greater(x, best[0]));
    }
    return {guard.select(x, best[0]), guard.select(position, best[1])};
  };
  SmallVector<Value> start;
  if (shape.reachesPadding() || shape.getNumElements() > kUnrollLimit)
    start = {emitLowest(s), i32(0)};
  return emitWindowLoops(s, shape.window, start, step)[result];
}

/// The windows that cover an element: per dim, `count` candidates, each with
/// its window and its tap in that dim.
namespace {
struct Cover {
  const WindowShape &shape;

  /// Without dilation the windows over an element are consecutive; with it,
  /// every tap is tried.
  bool isDense(unsigned d) const { return shape.dilations[d] == 1; }
  SmallVector<int64_t> getCounts() const {
    SmallVector<int64_t> counts;
    for (unsigned d = 0; d < shape.getRank(); ++d)
      counts.push_back(isDense(d)
                           ? llvm::divideCeil(shape.window[d], shape.strides[d])
                           : shape.window[d]);
    return counts;
  }
  /// Candidate `candidate` over element `index` in dim `d`.
  std::pair<Value, Value> emit(ScalarBuilder &s, unsigned d, Value index,
                               Value candidate, BoundsGuard &guard) const {
    int64_t numTaps = shape.window[d], stride = shape.strides[d];
    int64_t padLow = shape.padLow[d], last = shape.operandSizes[d] - 1 + padLow;
    if (shape.isPointwise(d))
      return {index, s.index(0)};
    Value window, tap, shifted = s.addIndex(index, padLow);
    bool low, high = last / stride >= shape.resultSizes[d];
    if (isDense(d)) {
      Value newest = stride == 1
                         ? shifted
                         : s.create<arith::DivUIOp>(shifted, s.index(stride));
      Value rest = stride == 1
                       ? s.index(0)
                       : s.create<arith::RemUIOp>(shifted, s.index(stride));
      int64_t count = llvm::divideCeil(numTaps, stride);
      window = count == 1 ? newest : s.create<arith::SubIOp>(newest, candidate);
      tap = count == 1 ? rest : plus(s, rest, s.mulIndex(candidate, stride));
      // Gaps between windows, or a candidate that ended before the element.
      if (numTaps % stride)
        guard.require(s.create<arith::CmpIOp>(arith::CmpIPredicate::slt, tap,
                                              s.index(numTaps)));
      low = count > 1;
    } else {
      tap = candidate;
      Value distance = s.create<arith::SubIOp>(
          shifted, s.mulIndex(candidate, shape.dilations[d]));
      Value zero = s.index(0);
      guard.require(
          s.create<arith::CmpIOp>(arith::CmpIPredicate::sge, distance, zero));
      distance = s.create<arith::MaxSIOp>(distance, zero);
      if (stride > 1)
        guard.require(s.create<arith::CmpIOp>(
            arith::CmpIPredicate::eq,
            s.create<arith::RemUIOp>(distance, s.index(stride)), zero));
      window = stride == 1
                   ? distance
                   : s.create<arith::DivUIOp>(distance, s.index(stride));
      low = false;
    }
    return {guard.clamp(window, shape.resultSizes[d], low, high), tap};
  }
};
} // namespace

Value MaxPoolGradOp::emitElement(OpBuilder &builder, Location loc,
                                 unsigned result, ValueRange indices,
                                 ElementLoader load) {
  ScalarBuilder s(builder, loc, getType());
  WindowShape shape = WindowShape::get(*this, getResult());
  Cover cover{shape};
  Value zero = s.constant(0);
  bool single =
      llvm::all_of(cover.getCounts(), [](int64_t n) { return n == 1; });
  return emitWindowLoops(
      s, cover.getCounts(), zero, [&](ValueRange candidates, ValueRange sums) {
        SmallVector<Value> window, tap;
        BoundsGuard guard(s);
        for (unsigned d = 0; d < shape.getRank(); ++d) {
          auto [p, t] = cover.emit(s, d, indices[d], candidates[d], guard);
          window.push_back(p);
          tap.push_back(t);
        }
        Value dy = load(0, window), chosen = load(1, window);
        guard.require(
            s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, chosen,
                                    emitWindowPosition(s, shape, tap)));
        Value part = guard.select(dy, zero);
        return SmallVector<Value>{single ? part : s.add(sums[0], part)};
      })[0];
}

/// 1 / the number of elements that the mean of the window `window` is over,
/// as a value of the compute type.
static Value emitWeight(ScalarBuilder &s, const WindowShape &shape,
                        ValueRange window, bool countIncludePad) {
  if (countIncludePad || !shape.reachesPadding())
    return s.constant(1.0 / shape.getNumElements());
  Value count;
  int64_t constant = 1;
  for (unsigned d = 0; d < shape.getRank(); ++d) {
    int64_t numTaps = shape.window[d], dilation = shape.dilations[d];
    if (!shape.reachesBelow(d) && !shape.reachesAbove(d)) {
      constant *= numTaps;
      continue;
    }
    // Taps t with 0 <= start + t * dilation < size.
    Value zero = s.index(0);
    Value start =
        s.addIndex(s.mulIndex(window[d], shape.strides[d]), -shape.padLow[d]);
    Value before =
        s.create<arith::MaxSIOp>(s.create<arith::SubIOp>(zero, start), zero);
    Value room = s.create<arith::MaxSIOp>(
        s.create<arith::SubIOp>(s.index(shape.operandSizes[d]), start), zero);
    auto ceil = [&](Value x) {
      return dilation == 1
                 ? x
                 : s.create<arith::DivUIOp>(s.addIndex(x, dilation - 1),
                                            s.index(dilation));
    };
    Value end = s.create<arith::MinSIOp>(ceil(room), s.index(numTaps));
    Value taps = s.create<arith::MaxSIOp>(
        s.create<arith::SubIOp>(end, ceil(before)), zero);
    count = count ? s.create<arith::MulIOp>(count, taps) : taps;
  }
  count = s.create<arith::MaxSIOp>(s.mulIndex(count, constant), s.index(1));
  Value asInteger =
      s.create<arith::IndexCastOp>(s.getBuilder().getI32Type(), count);
  return s.create<arith::DivFOp>(
      s.constant(1.0), s.create<arith::SIToFPOp>(s.getType(), asInteger));
}

Value AvgPoolOp::emitElement(OpBuilder &builder, Location loc, unsigned result,
                             ValueRange indices, ElementLoader load) {
  ScalarBuilder s(builder, loc, getType());
  WindowShape shape = WindowShape::get(*this, getOperand());
  Value zero = s.constant(0);
  Value sum = emitWindowLoops(
      s, shape.window, zero, [&](ValueRange tap, ValueRange sums) {
        BoundsGuard guard(s);
        SmallVector<Value> index =
            emitWindowIndex(s, shape, indices, tap, guard);
        Value x = guard.select(load(0, index), zero);
        return SmallVector<Value>{s.add(sums[0], x)};
      })[0];
  return s.mul(sum, emitWeight(s, shape, indices, getCountIncludePad()));
}

Value AvgPoolGradOp::emitElement(OpBuilder &builder, Location loc,
                                 unsigned result, ValueRange indices,
                                 ElementLoader load) {
  ScalarBuilder s(builder, loc, getType());
  WindowShape shape = WindowShape::get(*this, getResult());
  Cover cover{shape};
  Value zero = s.constant(0);
  return emitWindowLoops(
      s, cover.getCounts(), zero, [&](ValueRange candidates, ValueRange sums) {
        SmallVector<Value> window;
        BoundsGuard guard(s);
        for (unsigned d = 0; d < shape.getRank(); ++d)
          window.push_back(
              cover.emit(s, d, indices[d], candidates[d], guard).first);
        Value part = s.mul(load(0, window),
                           emitWeight(s, shape, window, getCountIncludePad()));
        return SmallVector<Value>{s.add(sums[0], guard.select(part, zero))};
      })[0];
}
