//===- OnnxPool.cpp - Pools of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxRoot.h"
#include "dialects/Graph/Import/OnnxWindow.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// A window over the spatial dims as one over all dims.
static SmallVector<NamedAttribute> windowAttributes(OnnxNode &n,
                                                    const OnnxWindow &window) {
  auto all = [](ArrayRef<int64_t> spatial, int64_t first) {
    SmallVector<int64_t> result(2, first);
    result.append(spatial.begin(), spatial.end());
    return result;
  };
  return {n.list("window", all(window.sizes, 1)),
          n.list("strides", all(window.strides, 1)),
          n.list("dilations", all(window.dilations, 1)),
          n.list("pad_low", all(window.low, 0)),
          n.list("pad_high", all(window.high, 0))};
}

static FailureOr<OnnxWindow> readPool(OnnxNode &n, bool ceilMode) {
  ArrayRef<int64_t> shape = n.shapeOf(n.in(0));
  if (shape.size() < 3)
    return n.fail("the input must have 3 dims or more");
  std::optional<SmallVector<int64_t>> kernel = n.intsAttr("kernel_shape");
  if (!kernel || kernel->size() + 2 != shape.size())
    return n.fail("kernel_shape must have an entry a spatial dim");
  return readWindow(n, shape.drop_front(2), *kernel, ceilMode);
}

/// Where in the whole input each chosen element lies, from its place within
/// its window.
static Value flatPositions(OnnxNode &n, Value inWindow,
                           const OnnxWindow &window, ArrayRef<int64_t> input,
                           bool columnMajor) {
  Type i64 = IntegerType::get(n.getContext(), 64);
  Value rest = n.convert(inWindow, i64);
  if (!rest)
    return {};
  ArrayRef<int64_t> shape = n.shapeOf(rest);
  int64_t spatial = window.sizes.size();
  SmallVector<Value> coordinates(spatial + 2);
  for (int64_t d = spatial - 1; d >= 0; --d) {
    Value size = n.intScalar(window.sizes[d], i64);
    Value tap = n.binary<RemOp>(rest, size);
    rest = n.div(rest, size);
    Value start = n.add(
        n.mul(n.iota(shape, d + 2, i64), n.intScalar(window.strides[d], i64)),
        n.intScalar(-window.low[d], i64));
    coordinates[d + 2] =
        n.add(start, n.mul(tap, n.intScalar(window.dilations[d], i64)));
  }
  coordinates[0] = n.iota(shape, 0, i64);
  coordinates[1] = n.iota(shape, 1, i64);
  SmallVector<int64_t> order = {0, 1};
  for (int64_t d = 0; d < spatial; ++d)
    order.push_back(columnMajor ? spatial + 1 - d : d + 2);
  Value position;
  for (int64_t d : order) {
    Value coordinate = coordinates[d];
    position = position ? n.add(n.mul(position, n.intScalar(input[d], i64)),
                                coordinate)
                        : coordinate;
  }
  return position;
}

static LogicalResult importMaxPool(OnnxNode &n) {
  bool columnMajor = n.intAttr("storage_order", 0) != 0;
  FailureOr<OnnxWindow> window = readPool(n, n.intAttr("ceil_mode", 0) != 0);
  if (failed(window))
    return failure();
  for (auto [size, low] : llvm::zip(window->sizes, window->low))
    if (low >= size && low > 0 && window->dilations[0] == 1)
      return n.fail("a pad is as large as the kernel");
  SmallVector<Value> results =
      n.makeAll<MaxPoolOp>({n.in(0)}, windowAttributes(n, *window));
  if (results.empty() || failed(n.out(results[0])))
    return failure();
  if (!n.wants(1))
    return success();
  return n.out(1, flatPositions(n, results[1], *window, n.shapeOf(n.in(0)),
                                columnMajor));
}

static LogicalResult importAveragePool(OnnxNode &n) {
  bool countPad = n.intAttr("count_include_pad", 0) != 0;
  FailureOr<OnnxWindow> window = readPool(n, n.intAttr("ceil_mode", 0) != 0);
  if (failed(window))
    return failure();
  // What ceil_mode adds beyond the pads never counts.
  if (countPad && window->extended) {
    SmallVector<NamedAttribute> attributes = windowAttributes(n, *window);
    attributes.push_back(n.flag("count_include_pad", true));
    // sum / (elements within input and pads) = mean * size / count, where the
    // mean of a tensor of ones over the same pads gives count / size.
    Value x = n.in(0);
    SmallVector<int64_t> low(2, 0), high(2, 0);
    auto pads = n.intsAttr("pads").value_or(
        SmallVector<int64_t>(2 * window->sizes.size(), 0));
    size_t spatial = window->sizes.size();
    for (size_t d = 0; d < spatial; ++d) {
      low.push_back(pads[d]);
      high.push_back(pads[spatial + d]);
    }
    OnnxWindow inner = *window;
    for (size_t d = 0; d < spatial; ++d) {
      inner.low[d] -= pads[d];
      inner.high[d] -= pads[spatial + d];
    }
    Value padded = n.pad(x, n.scalar(0, n.elementOf(x)), low, high);
    SmallVector<NamedAttribute> rest = windowAttributes(n, inner);
    rest.push_back(n.flag("count_include_pad", false));
    return n.out(n.make<AvgPoolOp>({padded}, rest));
  }
  SmallVector<NamedAttribute> attributes = windowAttributes(n, *window);
  attributes.push_back(n.flag("count_include_pad", countPad));
  return n.out(n.make<AvgPoolOp>({n.in(0)}, attributes));
}

static Value powerOf(OnnxNode &n, Value x, double p) {
  if (p == 1)
    return x;
  if (p == 2)
    return n.mul(x, x);
  return n.binary<PowOp>(x, n.scalar(p, n.elementOf(x)));
}

/// (sum |x|^p)^(1/p), the sum by the mean with the padding counted as zeros.
static LogicalResult importLpPool(OnnxNode &n) {
  int64_t p = n.intAttr("p", 2);
  FailureOr<OnnxWindow> window = readPool(n, n.intAttr("ceil_mode", 0) != 0);
  if (failed(window))
    return failure();
  if (p < 1)
    return n.fail("p must be 1 or more");
  SmallVector<NamedAttribute> attributes = windowAttributes(n, *window);
  attributes.push_back(n.flag("count_include_pad", true));
  Value power = powerOf(n, n.unary<AbsOp>(widen(n, n.in(0))), p);
  double elements = 1;
  for (int64_t size : window->sizes)
    elements *= size;
  Value sum = n.mul(n.make<AvgPoolOp>({power}, attributes), elements);
  return n.out(n.convert(rootOfSum(n, sum, p), n.elementOf(n.in(0))));
}

static FailureOr<SmallVector<int64_t>> spatialDims(OnnxNode &n) {
  if (n.rankOf(n.in(0)) < 3)
    return n.fail("the input must have 3 dims or more");
  return llvm::to_vector(llvm::seq<int64_t>(2, n.rankOf(n.in(0))));
}
static LogicalResult importGlobalAveragePool(OnnxNode &n) {
  FailureOr<SmallVector<int64_t>> dims = spatialDims(n);
  return failed(dims) ? failure() : n.out(n.mean(n.in(0), *dims, true));
}
static LogicalResult importGlobalMaxPool(OnnxNode &n) {
  FailureOr<SmallVector<int64_t>> dims = spatialDims(n);
  return failed(dims) ? failure()
                      : n.out(n.reduce(Reduction::Max, n.in(0), *dims, true));
}
static LogicalResult importGlobalLpPool(OnnxNode &n) {
  int64_t p = n.intAttr("p", 2);
  FailureOr<SmallVector<int64_t>> dims = spatialDims(n);
  if (failed(dims))
    return failure();
  if (p < 1)
    return n.fail("p must be 1 or more");
  Value power = powerOf(n, n.unary<AbsOp>(widen(n, n.in(0))), p);
  Value sum = n.reduce(Reduction::Sum, power, *dims, true);
  return n.out(n.convert(rootOfSum(n, sum, p), n.elementOf(n.in(0))));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxPoolOps() {
  static const OnnxOp rows[] = {
      {"MaxPool", 1, 1, 1, importMaxPool},
      {"AveragePool", 1, 1, 1, importAveragePool},
      {"LpPool", 2, 1, 1, importLpPool},
      {"GlobalAveragePool", 1, 1, 1, importGlobalAveragePool},
      {"GlobalMaxPool", 1, 1, 1, importGlobalMaxPool},
      {"GlobalLpPool", 2, 1, 1, importGlobalLpPool},
  };
  return rows;
}
