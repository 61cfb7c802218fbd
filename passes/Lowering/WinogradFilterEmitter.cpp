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
// lanes are read as they lie and transposed in registers. Gradients are
// scattered: in the order that lets them be transposed their sums are read from
// memory in steps of a page, which costs twice as much as is saved.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/WinogradFilterEmitter.h"
#include "passes/Lowering/WinogradTransforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

constexpr int64_t filterEdge = 3, window = filterEdge * filterEdge;
constexpr int64_t cacheLine = 64;
/// Results of so many bytes and more leave the cache before they are read: they
/// are written past it, which spares reading what they replace.
constexpr int64_t streamedBytes = 8 << 20;

class FilterEmitter : WinogradTransforms {
public:
  FilterEmitter(const KernelBuffers &buffers, Location loc, int64_t lanes,
                Value filter, ArrayRef<int64_t> strides, OpBuilder &b);

  void emit(rt::WinogradFilterOp op);
  void emit(rt::WinogradFilterGradOp op);

private:
  /// How a vector of output channels lies in memory.
  enum class Layout {
    Together,     // it is one (HWIO)
    InputWindows, // each has the windows of all inputs (OIHW)
    Windows,      // windows are side by side (OIHW, turned)
    Apart,
  };
  Layout findLayout() const;
  SmallVector<Value> transpose(SmallVector<Value> rows);
  /// `windows` of a vector of output channels and one of input channels.
  void loadWindows(Value start);
  /// The vectors of a window, of the input channel `input` of those that
  /// `start` is the first of.
  SmallVector<Value> loadTaps(Value start, Value input);
  void storeTap(Value value, Value place);
  void storeResult(Value value, ValueRange place);
  Value at(Value start, int64_t tap) {
    return plus(start,
                tap / filterEdge * strides[2] + tap % filterEdge * strides[3]);
  }

  const KernelBuffers &buffers;
  int64_t lanes;
  ArrayRef<int64_t> strides; // of outputs, inputs, rows, columns
  Layout layout;
  Value flat; // the filter as one dim
  /// With InputWindows: [windows of `lanes` input channels, lanes].
  Value windows;
  /// Of a vector of output channels, where they lie apart.
  Value places, mask;
};

} // namespace

FilterEmitter::FilterEmitter(const KernelBuffers &buffers, Location loc,
                             int64_t lanes, Value filter,
                             ArrayRef<int64_t> strides, OpBuilder &b)
    : WinogradTransforms(b, loc, lanes), buffers(buffers), lanes(lanes),
      strides(strides), layout(findLayout()) {
  ReassociationIndices all;
  for (int64_t d = 0; d < cast<MemRefType>(filter.getType()).getRank(); ++d)
    all.push_back(d);
  flat = memref::CollapseShapeOp::create(b, loc, filter,
                                         ArrayRef<ReassociationIndices>(all));
  if (layout == Layout::Together)
    return;
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

void FilterEmitter::storeResult(Value value, ValueRange place) {
  Value result = buffers.outputs[0];
  auto type = cast<MemRefType>(result.getType());
  if (type.getNumElements() * 4 < streamedBytes)
    return store(value, result, place);
  vector::StoreOp::create(b, loc, value, result, place, /*nontemporal=*/true,
                          llvm::MaybeAlign(lanes * 4));
}

/// A row is a block of output channels and a vector of input channels.
void FilterEmitter::emit(rt::WinogradFilterOp op) {
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  int64_t groups = type.getDimSize(2) / lanes, width = type.getDimSize(3);
  if (layout == Layout::InputWindows)
    windows = memref::AllocaOp::create(
        b, loc, MemRefType::get({window * lanes, lanes}, b.getF32Type()),
        b.getI64IntegerAttr(cacheLine));
  loop(buffers.lo, buffers.hi, 1, [&](Value row) {
    Value block = quotient(row, groups);
    Value firstInput = times(remainder(row, groups), lanes);
    loop(width, lanes, [&](Value column) {
      Value start = plus(times(plus(times(block, width), column), strides[0]),
                         times(firstInput, strides[1]));
      if (layout == Layout::InputWindows)
        loadWindows(start);
      loop(lanes, 1, [&](Value input) {
        SmallVector<Value> taps = loadTaps(start, input);
        if (op.getRotate())
          std::reverse(taps.begin(), taps.end());
        std::array<Edge, filterEdge> half; // by columns of the window
        for (int64_t x = 0; x < filterEdge; ++x)
          half[x] =
              applyG({taps[x], taps[filterEdge + x], taps[2 * filterEdge + x]});
        for (int64_t y = 0; y < windowEdge; ++y) {
          Edge whole = applyG({half[0][y], half[1][y], half[2][y]});
          for (int64_t x = 0; x < windowEdge; ++x)
            storeResult(whole[x], {index(y * windowEdge + x), block,
                                   plus(firstInput, input), column});
        }
      });
    });
  });
}

/// A row is an input channel.
void FilterEmitter::emit(rt::WinogradFilterGradOp op) {
  auto type = cast<RankedTensorType>(op.getSums().getType());
  loop(buffers.lo, buffers.hi, 1, [&](Value input) {
    loop(type.getDimSize(3), lanes, [&](Value column) {
      std::array<FilterEdge, windowEdge> half; // by columns
      for (int64_t x = 0; x < windowEdge; ++x) {
        Edge edge;
        for (int64_t y = 0; y < windowEdge; ++y)
          for (int64_t chunk = 0; chunk < type.getDimSize(0); ++chunk) {
            Value part =
                load(buffers.inputs[0],
                     {index(chunk), index(y * windowEdge + x), input, column});
            edge[y] = chunk == 0 ? part : add(edge[y], part);
          }
        half[x] = applyGT(edge);
      }
      Value start = plus(times(column, strides[0]), times(input, strides[1]));
      for (int64_t y = 0; y < filterEdge; ++y) {
        Edge edge;
        for (int64_t x = 0; x < windowEdge; ++x)
          edge[x] = half[x][y];
        FilterEdge row = applyGT(edge);
        for (int64_t x = 0; x < filterEdge; ++x)
          storeTap(row[x], at(start, y * filterEdge + x));
      }
    });
  });
}

void mlir::dist::emitWinogradFilter(rt::WinogradFilterOp op,
                                    const KernelBuffers &buffers,
                                    OpBuilder &b) {
  FilterEmitter(buffers, op.getLoc(), op.getLanes(), buffers.inputs[0],
                op.getStrides(), b)
      .emit(op);
}

void mlir::dist::emitWinogradFilter(rt::WinogradFilterGradOp op,
                                    const KernelBuffers &buffers,
                                    OpBuilder &b) {
  FilterEmitter(buffers, op.getLoc(), op.getLanes(), buffers.outputs[0],
                op.getStrides(), b)
      .emit(op);
}
