//===- WinogradFilterEmitter.cpp - Loops over Winograd's filters ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A filter g becomes G g G^T, for a vector of output channels at once, and the
// sums of its gradient turn back by the adjoint. Where the output channels lie
// apart (OIHW), elements are not gathered one by one: as many rows as there are
// lanes are read as they lie and transposed in registers. So are gradients
// written whose sums are in the cache. Those whose sums are in memory are
// scattered: in the order that lets them be transposed the sums are read in
// steps of a page, which costs twice as much as is saved.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Winograd/WinogradFilterEmitter.h"
#include "passes/Lowering/Winograd/WinogradTransforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

static constexpr int64_t filterEdge = 3, window = filterEdge * filterEdge;
static constexpr int64_t cacheLine = 64;
/// Results of so many bytes and more leave the cache before they are read: they
/// are written past it, which spares reading what they replace.
static constexpr int64_t streamedBytes = 8 << 20;

FilterEmitter::FilterEmitter(Location loc, int64_t lanes, Value filter,
                             ArrayRef<int64_t> strides, OpBuilder &b)
    : WinogradTransforms(b, loc, lanes), strides(strides),
      layout(findLayout()) {
  ReassociationIndices all;
  for (int64_t d = 0; d < cast<MemRefType>(filter.getType()).getRank(); ++d)
    all.push_back(d);
  flat = memref::CollapseShapeOp::create(b, loc, filter,
                                         ArrayRef<ReassociationIndices>(all));
  if (layout == Layout::Together)
    return;
  if (layout == Layout::InputWindows)
    windows = memref::AllocaOp::create(
        b, loc, MemRefType::get({window * lanes, lanes}, b.getF32Type()),
        b.getI64IntegerAttr(cacheLine));
  SmallVector<int32_t> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(lane * strides[0]);
  places = arith::ConstantOp::create(
      b, loc,
      DenseIntElementsAttr::get(VectorType::get({lanes}, b.getI32Type()),
                                steps));
  mask = arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), true));
}

Value FilterEmitter::at(Value start, int64_t tap) {
  return plus(start,
              tap / filterEdge * strides[2] + tap % filterEdge * strides[3]);
}

FilterEmitter::Layout FilterEmitter::findLayout() const {
  if (strides[0] == 1)
    return Layout::Together;
  if (strides[2] != filterEdge || strides[3] != 1)
    return Layout::Apart;
  if (strides[1] == window)
    return Layout::InputWindows;
  return strides[0] == window && lanes > window ? Layout::Windows
                                                : Layout::Apart;
}

/// Square blocks of half the size change places, then in each of them again.
SmallVector<Value> FilterEmitter::transpose(SmallVector<Value> rows) {
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      low.push_back(lane & half ? lanes + lane - half : lane);
      high.push_back(lane & half ? lanes + lane : lane + half);
    }
    for (int64_t row = 0; row < lanes; ++row) {
      if (row & half)
        continue;
      Value upper = rows[row], lower = rows[row + half];
      rows[row] = vector::ShuffleOp::create(b, loc, upper, lower, low);
      rows[row + half] = vector::ShuffleOp::create(b, loc, upper, lower, high);
    }
  }
  return rows;
}

void FilterEmitter::loadWindows(Value start) {
  loop(window * lanes, lanes, [&](Value element) {
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < lanes; ++lane)
      rows.push_back(load(flat, plus(plus(start, element), lane * strides[0])));
    for (auto [i, row] : llvm::enumerate(transpose(rows)))
      store(row, windows, {plus(element, i), index(0)});
  });
}

void FilterEmitter::storeWindows(Value start) {
  loop(window * lanes, lanes, [&](Value element) {
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < lanes; ++lane)
      rows.push_back(load(windows, {plus(element, lane), index(0)}));
    for (auto [lane, row] : llvm::enumerate(transpose(rows)))
      store(row, flat, plus(plus(start, element), lane * strides[0]));
  });
}

SmallVector<Value> FilterEmitter::loadTaps(Value start, Value input) {
  SmallVector<Value> taps;
  Value first = plus(start, times(input, strides[1]));
  switch (layout) {
  case Layout::Together:
    for (int64_t tap = 0; tap < window; ++tap)
      taps.push_back(load(flat, at(first, tap)));
    return taps;
  case Layout::InputWindows:
    for (int64_t tap = 0; tap < window; ++tap)
      taps.push_back(
          load(windows, {plus(times(input, window), tap), index(0)}));
    return taps;
  case Layout::Windows: {
    for (int64_t lane = 0; lane + 1 < lanes; ++lane)
      taps.push_back(load(flat, plus(first, lane * window)));
    // The last window may be the filter's end: what lies before it is read too.
    int64_t before = lanes - window;
    Value last = load(flat, plus(first, (lanes - 1) * window - before));
    SmallVector<int64_t> moved;
    for (int64_t lane = 0; lane < lanes; ++lane)
      moved.push_back((lane + before) % lanes);
    taps.push_back(vector::ShuffleOp::create(b, loc, last, last, moved));
    taps = transpose(taps);
    taps.resize(window);
    return taps;
  }
  case Layout::Apart: {
    VectorType type = typeIn(flat);
    Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    for (int64_t tap = 0; tap < window; ++tap)
      taps.push_back(widen(vector::GatherOp::create(b, loc, type, flat,
                                                    ValueRange{at(first, tap)},
                                                    places, mask, zeros)));
    return taps;
  }
  }
  llvm_unreachable("all layouts are handled");
}

void FilterEmitter::storeTap(Value value, Value place) {
  if (layout == Layout::Together)
    return store(value, flat, place);
  vector::ScatterOp::create(b, loc, Type(), flat, ValueRange{place}, places,
                            mask, narrow(value, typeIn(flat)));
}

void FilterEmitter::emitFactors(Value firstOutput, int64_t width,
                                Value firstInput, bool rotate, Put put) {
  loop(width, lanes, [&](Value column) {
    Value start = plus(times(plus(firstOutput, column), strides[0]),
                       times(firstInput, strides[1]));
    if (layout == Layout::InputWindows)
      loadWindows(start);
    loop(lanes, 1, [&](Value input) {
      SmallVector<Value> taps = loadTaps(start, input);
      if (rotate)
        std::reverse(taps.begin(), taps.end());
      std::array<Edge, filterEdge> half; // by columns of the window
      for (int64_t x = 0; x < filterEdge; ++x)
        half[x] =
            applyG({taps[x], taps[filterEdge + x], taps[2 * filterEdge + x]});
      for (int64_t y = 0; y < windowEdge; ++y) {
        Edge whole = applyG({half[0][y], half[1][y], half[2][y]});
        for (int64_t x = 0; x < windowEdge; ++x)
          put(whole[x], y * windowEdge + x, input, column);
      }
    });
  });
}

SmallVector<Value>
FilterEmitter::makeTaps(llvm::function_ref<Value(int64_t matrix)> get) {
  std::array<FilterEdge, windowEdge> half; // by columns
  for (int64_t x = 0; x < windowEdge; ++x) {
    Edge edge;
    for (int64_t y = 0; y < windowEdge; ++y)
      edge[y] = get(y * windowEdge + x);
    half[x] = applyGT(edge);
  }
  SmallVector<Value> taps;
  for (int64_t y = 0; y < filterEdge; ++y) {
    Edge edge;
    for (int64_t x = 0; x < windowEdge; ++x)
      edge[x] = half[x][y];
    llvm::append_range(taps, applyGT(edge));
  }
  return taps;
}

void FilterEmitter::emitWindow(Value output, Value input,
                               llvm::function_ref<Value(int64_t matrix)> get) {
  Value start = plus(times(output, strides[0]), times(input, strides[1]));
  for (auto [i, tap] : llvm::enumerate(makeTaps(get)))
    storeTap(tap, at(start, i));
}

void FilterEmitter::emitWindows(
    Value output, Value firstInput,
    llvm::function_ref<Value(Value input, int64_t matrix)> get) {
  loop(lanes, 1, [&](Value input) {
    auto ofInput = [&](int64_t matrix) { return get(input, matrix); };
    if (layout != Layout::InputWindows)
      return emitWindow(output, plus(firstInput, input), ofInput);
    for (auto [i, tap] : llvm::enumerate(makeTaps(ofInput)))
      store(tap, windows, {plus(times(input, window), i), index(0)});
  });
  if (layout == Layout::InputWindows)
    storeWindows(
        plus(times(output, strides[0]), times(firstInput, strides[1])));
}

//===----------------------------------------------------------------------===//
// The kernels of filters alone
//===----------------------------------------------------------------------===//

namespace {

class FilterKernelEmitter : WinogradTransforms {
public:
  FilterKernelEmitter(const KernelBuffers &buffers, Location loc, int64_t lanes,
                      OpBuilder &b)
      : WinogradTransforms(b, loc, lanes), buffers(buffers) {}

  void emit(rt::WinogradFilterOp op);
  void emit(rt::WinogradFilterGradOp op);

private:
  void storeFactor(Value value, ValueRange place);

  const KernelBuffers &buffers;
};

} // namespace

void FilterKernelEmitter::storeFactor(Value value, ValueRange place) {
  Value result = buffers.outputs[0];
  auto type = cast<MemRefType>(result.getType());
  if (type.getNumElements() * 4 < streamedBytes)
    return store(value, result, place);
  vector::StoreOp::create(b, loc, value, result, place, /*nontemporal=*/true,
                          llvm::MaybeAlign(lanes * 4));
}

/// A row is a block of output channels and a vector of input channels.
void FilterKernelEmitter::emit(rt::WinogradFilterOp op) {
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  int64_t groups = type.getDimSize(2) / lanes, width = type.getDimSize(3);
  FilterEmitter filter(loc, lanes, buffers.inputs[0], op.getStrides(), b);
  loop(buffers.lo, buffers.hi, 1, [&](Value row) {
    Value block = quotient(row, groups);
    Value firstInput = times(remainder(row, groups), lanes);
    filter.emitFactors(
        times(block, width), width, firstInput, op.getRotate(),
        [&](Value factor, int64_t matrix, Value input, Value column) {
          storeFactor(factor,
                      {index(matrix), block, plus(firstInput, input), column});
        });
  });
}

/// A row is an input channel.
void FilterKernelEmitter::emit(rt::WinogradFilterGradOp op) {
  auto type = cast<RankedTensorType>(op.getSums().getType());
  FilterEmitter filter(loc, lanes, buffers.outputs[0], op.getStrides(), b);
  loop(buffers.lo, buffers.hi, 1, [&](Value input) {
    loop(type.getDimSize(3), lanes, [&](Value column) {
      filter.emitWindow(column, input, [&](int64_t matrix) {
        Value sum;
        for (int64_t chunk = 0; chunk < type.getDimSize(0); ++chunk) {
          Value part = load(buffers.inputs[0],
                            {index(chunk), index(matrix), input, column});
          sum = chunk == 0 ? part : add(sum, part);
        }
        return sum;
      });
    });
  });
}

void mlir::dist::emitWinogradFilter(rt::WinogradFilterOp op,
                                    const KernelBuffers &buffers,
                                    OpBuilder &b) {
  FilterKernelEmitter(buffers, op.getLoc(), op.getLanes(), b).emit(op);
}

void mlir::dist::emitWinogradFilter(rt::WinogradFilterGradOp op,
                                    const KernelBuffers &buffers,
                                    OpBuilder &b) {
  FilterKernelEmitter(buffers, op.getLoc(), op.getLanes(), b).emit(op);
}
