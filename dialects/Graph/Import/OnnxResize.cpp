//===- OnnxResize.cpp - Resize and Upsample of ONNX -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dim by dim each result is a weighted sum of a few elements, its taps: which
// and by how much depends on sizes only, so both are constants. One tap of
// weight 1 is a gather, whole multiples are a broadcast, and many taps (of
// antialiasing) a product with the matrix of weights. Gradients follow from
// these ops.
//
// Sizes and places are computed in f32, as other runtimes do: 10 * 1.3 is 13
// there, and 3 / 0.6 is 5. In f64 both are just below, and one less.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// More than these, and a matrix is faster than gathers.
constexpr size_t kMostGathers = 4;
constexpr int64_t kMaxSide = int64_t(1) << 20;

/// How a dim is resized.
struct Resizing {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  bool excludeOutside = false, antialias = false, simpleNearest = false;
  float scale = 1, roiStart = 0, roiEnd = 1;
  int64_t size = 0, result = 0;
  /// What align_corners takes for the length of the result: not whole where
  /// scales gave it, as in the reference.
  float length = 0;

  /// The place in the source of element `at` of the result.
  float locate(int64_t at) const;
  /// Weights of the elements from `first` on.
  SmallVector<double> weigh(double place, int64_t *first) const;
};
} // namespace

float Resizing::locate(int64_t at) const {
  auto x = float(at), in = float(size), out = float(result);
  if (coordinates == "align_corners")
    return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (coordinates == "asymmetric")
    return x / scale;
  if (coordinates == "tf_half_pixel_for_nn")
    return (x + 0.5f) / scale;
  if (coordinates == "tf_crop_and_resize")
    return out > 1 ? roiStart * (in - 1) +
                         x * (roiEnd - roiStart) * (in - 1) / (out - 1)
                   : float(0.5 * (roiStart + roiEnd) * (in - 1));
  if (coordinates == "pytorch_half_pixel")
    return out > 1 ? (x + 0.5f) / scale - 0.5f : 0;
  if (coordinates == "half_pixel_symmetric") {
    float offset = in / 2 * (1 - out / (scale * in));
    return float(offset + (x + 0.5) / scale - 0.5);
  }
  return (x + 0.5f) / scale - 0.5f;
}

SmallVector<double> Resizing::weigh(double place, int64_t *first) const {
  double floor = std::floor(place), ratio = place - floor;
  *first = int64_t(floor);
  if (mode == "nearest") {
    bool up;
    if (simpleNearest)
      up = scale < 1 && ratio > 0;
    else if (nearest == "floor")
      up = false;
    else if (nearest == "ceil")
      up = ratio > 0;
    else
      up = nearest == "round_prefer_ceil" ? ratio >= 0.5 : ratio > 0.5;
    *first += up;
    return {1.0};
  }
  bool isCubic = mode == "cubic";
  double stretch = antialias ? std::min(double(scale), 1.0) : 1.0;
  auto kernel = [&](double x) {
    x = std::abs(x);
    if (!isCubic)
      return std::max(0.0, 1 - x);
    double a = cubic;
    if (x <= 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
  };
  double reach = isCubic ? 2 : 1;
  auto start = int64_t(std::floor(-reach / stretch) + 1), end = 2 - start;
  SmallVector<double> weights;
  double sum = 0;
  for (int64_t i = start; i < end; ++i) {
    int64_t at = int64_t(floor) + i;
    double weight = kernel(stretch * (double(i) - ratio));
    if (excludeOutside && (at < 0 || at >= size))
      weight = 0;
    weights.push_back(weight);
    sum += weight;
  }
  if ((antialias || excludeOutside) && sum != 0)
    for (double &weight : weights)
      weight /= sum;
  *first += start;
  return weights;
}

/// `x` along `dim`, by taps.
static Value resizeDim(OnnxNode &n, Value x, int64_t dim, const Resizing &r,
                       double extrapolation) {
  if (!x)
    return {};
  SmallVector<int64_t> shape(n.shapeOf(x));
  std::vector<SmallVector<double>> weights;
  std::vector<int64_t> firsts(r.result);
  size_t taps = 0;
  bool outside = false;
  SmallVector<bool> inside;
  for (int64_t o = 0; o < r.result; ++o) {
    double place = r.locate(o);
    inside.push_back(r.coordinates != "tf_crop_and_resize" ||
                     (place >= 0 && place <= double(r.size - 1)));
    outside |= !inside.back();
    // A place that is as far away as this has the edge's value anyway.
    place = std::clamp(place, -4.0 * double(r.size) - 4, 5.0 * r.size + 4);
    weights.push_back(r.weigh(place, &firsts[o]));
    taps = std::max(taps, weights.back().size());
  }
  auto source = [&](int64_t o, size_t tap) {
    return std::clamp<int64_t>(firsts[o] + int64_t(tap), 0, r.size - 1);
  };
  SmallVector<int64_t> wide = shape;
  wide[dim] = r.result;
  Type element = n.elementOf(x), i64 = IntegerType::get(n.getContext(), 64);
  Value result;
  bool isNearest = r.mode == "nearest";
  bool repeats = isNearest && r.result % r.size == 0;
  for (int64_t o = 0; repeats && o < r.result; ++o)
    repeats = source(o, 0) == o / (r.result / r.size);
  if (repeats) {
    SmallVector<int64_t> split = shape, dims;
    split.insert(split.begin() + dim + 1, r.result / r.size);
    for (int64_t d = 0; d < int64_t(split.size()); ++d)
      if (d != dim + 1)
        dims.push_back(d);
    result = n.reshape(n.broadcastDims(x, split, dims), wide);
  } else if (isNearest || taps <= kMostGathers) {
    for (size_t tap = 0; tap < taps; ++tap) {
      HostTensor at(RankedTensorType::get({r.result}, i64));
      HostTensor by(RankedTensorType::get({r.result}, element));
      bool any = false;
      for (int64_t o = 0; o < r.result; ++o) {
        at.setInt(o, source(o, tap));
        if (!isNearest)
          by.setDouble(o, weights[o][tap]);
        any |= isNearest || weights[o][tap] != 0;
      }
      if (!any)
        continue;
      Value part = n.make<GatherOp>({x, n.constant(at)}, {n.i64("axis", dim)});
      if (!isNearest)
        part = n.mul(part, n.broadcastAlong(n.constant(by), wide, dim));
      result = result ? n.add(result, part) : part;
    }
  } else {
    HostTensor matrix(RankedTensorType::get({r.size, r.result}, element));
    for (int64_t o = 0; o < r.result; ++o)
      for (size_t tap = 0; tap < weights[o].size(); ++tap) {
        int64_t e = source(o, tap) * r.result + o;
        matrix.setDouble(e, matrix.getDouble(e) + weights[o][tap]);
      }
    result = n.dot(x, n.constant(matrix), {}, {}, {dim}, {0});
    if (result)
      result = n.moveDim(result, n.rankOf(result) - 1, dim);
  }
  if (!outside || !result)
    return result;
  HostTensor mask(
      RankedTensorType::get({r.result}, IntegerType::get(n.getContext(), 1)));
  for (int64_t o = 0; o < r.result; ++o)
    mask.setInt(o, inside[o]);
  return n.select(n.broadcastAlong(n.constant(mask), wide, dim), result,
                  n.scalar(extrapolation, element));
}

/// Floats of an input that may be absent or empty.
static FailureOr<SmallVector<double>> floatsOf(OnnxNode &n, unsigned i) {
  SmallVector<double> values;
  if (!n.has(i))
    return values;
  FailureOr<HostTensor> tensor = n.constant(i);
  if (failed(tensor))
    return failure();
  for (int64_t e = 0; e < tensor->getNumElements(); ++e)
    values.push_back(tensor->getDouble(e));
  return values;
}

/// Sizes (or scales) of the dims `axes`; `policy` may change the sizes.
static LogicalResult setSizes(OnnxNode &n, ArrayRef<int64_t> axes,
                              ArrayRef<double> scales, ArrayRef<double> sizes,
                              StringRef policy,
                              MutableArrayRef<Resizing> dims) {
  if (scales.empty() == sizes.empty())
    return n.fail("it needs scales or sizes, one of the two");
  ArrayRef<double> given = scales.empty() ? sizes : scales;
  if (given.size() != axes.size())
    return n.fail("scales or sizes must have an entry a dim");
  float common = 0;
  for (auto [i, d] : llvm::enumerate(axes)) {
    if (!(given[i] > 0) || given[i] > kMaxSide || dims[d].size < 1)
      return n.fail("a size or scale is out of range");
    dims[d].scale = scales.empty() ? float(sizes[i]) / float(dims[d].size)
                                   : float(scales[i]);
    bool smaller = dims[d].scale < common;
    if (i == 0 || smaller == (policy == "not_larger"))
      common = i == 0 || policy != "stretch" ? dims[d].scale : common;
  }
  for (auto [i, d] : llvm::enumerate(axes)) {
    Resizing &dim = dims[d];
    bool exact = scales.empty() && policy == "stretch";
    if (scales.empty() && !exact)
      dim.scale = common;
    dim.length = exact ? float(sizes[i]) : dim.scale * float(dim.size);
    dim.result = int64_t(scales.empty() ? std::round(dim.length) : dim.length);
    if (dim.result < 1 || dim.result > kMaxSide)
      return n.fail("its result's shape is impossible");
  }
  return success();
}

static LogicalResult resize(OnnxNode &n, const Resizing &kind,
                            ArrayRef<int64_t> axes, ArrayRef<double> scales,
                            ArrayRef<double> sizes, StringRef policy,
                            ArrayRef<double> roi, double extrapolation) {
  Value x = n.in(0);
  if (kind.mode != "nearest" && kind.mode != "linear" && kind.mode != "cubic")
    return n.fail("mode '" + kind.mode + "' is not known");
  if (kind.mode != "nearest" && !n.isFloat(x))
    return n.fail("only floats can be interpolated");
  static constexpr const char *known[] = {
      "half_pixel",        "half_pixel_symmetric", "pytorch_half_pixel",
      "align_corners",     "asymmetric",           "tf_half_pixel_for_nn",
      "tf_crop_and_resize"};
  if (!llvm::is_contained(known, StringRef(kind.coordinates)))
    return n.fail("coordinate_transformation_mode '" + kind.coordinates +
                  "' is not known");
  SmallVector<Resizing> dims(n.rankOf(x), kind);
  for (auto [d, size] : llvm::enumerate(n.shapeOf(x)))
    dims[d].size = dims[d].result = size;
  if (failed(setSizes(n, axes, scales, sizes, policy, dims)))
    return failure();
  bool crops = kind.coordinates == "tf_crop_and_resize";
  if (crops && roi.size() != 2 * axes.size())
    return n.fail("roi must have two entries a dim");
  SmallVector<int64_t> shape(n.shapeOf(x));
  for (auto [i, d] : llvm::enumerate(axes)) {
    if (crops) {
      dims[d].roiStart = float(roi[i]);
      dims[d].roiEnd = float(roi[i + axes.size()]);
    }
    shape[d] = dims[d].result;
  }
  if (!isSaneShape(shape))
    return n.fail("its result's shape is impossible");
  // The last dim first, as the reference nests them; what stays is left alone.
  for (int64_t d : llvm::reverse(axes)) {
    bool stays = dims[d].scale == 1 && dims[d].result == dims[d].size &&
                 dims[d].coordinates != "tf_half_pixel_for_nn" &&
                 (!crops || (dims[d].roiStart == 0 && dims[d].roiEnd == 1));
    if (!stays)
      x = resizeDim(n, x, d, dims[d], extrapolation);
  }
  return n.out(x);
}

static LogicalResult importResize(OnnxNode &n) {
  Resizing kind;
  kind.mode = n.textAttr("mode", "nearest");
  int64_t rank = n.rankOf(n.in(0));
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.opset < 11) {
    kind.coordinates = "asymmetric";
    kind.simpleNearest = true;
    FailureOr<SmallVector<double>> scales = floatsOf(n, 1);
    return failed(scales)
               ? failure()
               : resize(n, kind, axes, *scales, {}, "stretch", {}, 0);
  }
  kind.coordinates = n.textAttr("coordinate_transformation_mode", "half_pixel");
  kind.nearest = n.textAttr("nearest_mode", "round_prefer_floor");
  kind.cubic = n.floatAttr("cubic_coeff_a", -0.75);
  kind.excludeOutside = n.intAttr("exclude_outside", 0) != 0;
  double extrapolation = n.floatAttr("extrapolation_value", 0);
  std::string policy = "stretch";
  if (n.opset >= 18) {
    kind.antialias = n.intAttr("antialias", 0) != 0;
    policy = n.textAttr("keep_aspect_ratio_policy", "stretch");
    if (auto given = n.intsAttr("axes")) {
      FailureOr<SmallVector<int64_t>> named = n.dims(*given, rank);
      if (failed(named))
        return failure();
      axes = *named;
    }
  }
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return n.fail("keep_aspect_ratio_policy '" + policy + "' is not known");
  FailureOr<SmallVector<double>> roi = SmallVector<double>();
  if (kind.coordinates == "tf_crop_and_resize")
    roi = floatsOf(n, 1);
  FailureOr<SmallVector<double>> scales = floatsOf(n, 2),
                                 sizes = SmallVector<double>();
  if (succeeded(scales) && n.has(3)) {
    sizes = floatsOf(n, 3);
    if (succeeded(sizes) && n.batchFrom && sizes->size() == axes.size()) {
      SmallVector<int64_t> whole(n.shapeOf(n.in(0)));
      for (auto [size, axis] : llvm::zip(*sizes, axes))
        whole[axis] = int64_t(size);
      if (failed(n.rebatch(OnnxNode::ShapeUse::Repeat, n.in(0), whole)))
        return failure();
      for (auto [size, axis] : llvm::zip(*sizes, axes))
        size = double(whole[axis]);
    }
  }
  if (failed(roi) || failed(scales) || failed(sizes))
    return failure();
  return resize(n, kind, axes, *scales, *sizes, policy, *roi, extrapolation);
}

static LogicalResult importUpsample(OnnxNode &n) {
  Resizing kind;
  kind.mode = n.textAttr("mode", "nearest");
  if (kind.mode == "bilinear" || kind.mode == "trilinear")
    kind.mode = "linear";
  kind.coordinates = "asymmetric";
  kind.simpleNearest = true;
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(n.in(0))));
  FailureOr<SmallVector<double>> scales = SmallVector<double>();
  if (n.opset < 9)
    scales = n.floatsAttr("scales").value_or(SmallVector<double>());
  else
    scales = floatsOf(n, 1);
  return failed(scales) ? failure()
                        : resize(n, kind, axes, *scales, {}, "stretch", {}, 0);
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxResizeOps() {
  static const OnnxOp rows[] = {
      {"Resize", 10, 2, 4, importResize},
      {"Resize", 11, 1, 4, importResize},
      {"Upsample", 7, 1, 2, importUpsample},
  };
  return rows;
}
