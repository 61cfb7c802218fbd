//===- OnnxGrid.cpp - Sampling at computed places -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxRoot.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
enum class Mode { Nearest, Linear, Cubic };
enum class Padding { Zeros, Border, Reflection };

/// What a result reads along one dim: [batch, taps, points] each.
struct Taps {
  Value index;  // within the dim, of i64
  Value inside; // of `Zeros`
  Value weight; // null: 1
  int64_t count = 1;
};

class Sampler {
public:
  Sampler(OnnxNode &n, Mode mode, Padding padding, bool aligned)
      : n(n), mode(mode), padding(padding), aligned(aligned) {}

  /// `place`: [batch, points], -1 to 1 over `size` elements.
  Taps sample(Value place, int64_t size);

private:
  Value clamp(Value x, int64_t size);
  Value reflect(Value x, int64_t size);
  Value makeIndex(Value x, int64_t size);
  Value cubicWeights(Value t);
  Value addTaps(Value x) {
    return n.reshape(x, {n.shapeOf(x)[0], 1, n.shapeOf(x)[1]});
  }

  OnnxNode &n;
  Mode mode;
  Padding padding;
  bool aligned;
};
} // namespace

/// At an end it does not move with x.
Value Sampler::clamp(Value x, int64_t size) {
  Value low = n.splat(0, x), high = n.splat(double(size - 1), x);
  return n.minimum(high, n.maximum(low, x));
}

/// At the outer elements' centers (aligned), or at their outer edges.
Value Sampler::reflect(Value x, int64_t size) {
  double low = aligned ? 0 : -0.5, span = aligned ? size - 1 : size;
  if (span == 0)
    return n.mul(x, 0.0);
  Value from = n.unary<AbsOp>(n.add(x, -low));
  Value times = n.unary<FloorOp>(n.div(from, span));
  Value rest = n.sub(from, n.mul(times, span));
  Value isOdd =
      n.compare(ComparePredicate::NE,
                n.mul(n.unary<FloorOp>(n.div(times, 2.0)), 2.0), times);
  return n.add(n.select(isOdd, n.sub(n.splat(span, rest), rest), rest), low);
}

Value Sampler::makeIndex(Value x, int64_t size) {
  if (padding == Padding::Reflection)
    x = reflect(x, size);
  return n.convert(clamp(x, size), IntegerType::get(n.getContext(), 64));
}

/// Of the two elements before and the two behind, at `t` between the middle
/// ones; Keys' kernel with a = -0.75.
Value Sampler::cubicWeights(Value t) {
  constexpr double a = -0.75;
  auto near = [&](Value x) { // |x| <= 1
    Value inner = n.add(n.mul(x, a + 2), -(a + 3));
    return n.add(n.mul(n.mul(inner, x), x), 1.0);
  };
  auto far = [&](Value x) { // 1 to 2
    Value inner = n.add(n.mul(n.add(n.mul(x, a), -5 * a), x), 8 * a);
    return n.add(n.mul(inner, x), -4 * a);
  };
  Value u = n.sub(n.splat(1, t), t);
  return n.concat({far(n.add(t, 1.0)), near(t), near(u), far(n.add(u, 1.0))},
                  1);
}

Taps Sampler::sample(Value place, int64_t size) {
  // From the centers of the outer elements, or their outer edges.
  Value x =
      aligned ? n.mul(n.add(place, 1.0), double(size - 1) / 2)
              : n.div(n.add(n.mul(n.add(place, 1.0), double(size)), -1.0), 2.0);
  if (!x)
    return {};
  Taps taps;
  // Cubic weights are of the place itself, and each element is looked for.
  if (mode != Mode::Cubic && padding != Padding::Zeros) {
    if (padding == Padding::Reflection)
      x = reflect(x, size);
    x = clamp(x, size);
  }
  x = addTaps(x);
  Value first =
      mode == Mode::Nearest ? n.unary<RoundOp>(x) : n.unary<FloorOp>(x);
  Value t = n.sub(x, first), all = first;
  if (mode == Mode::Linear) {
    all = n.concat({first, n.add(first, 1.0)}, 1);
    taps.weight = n.concat({n.sub(n.splat(1, t), t), t}, 1);
    taps.count = 2;
  } else if (mode == Mode::Cubic) {
    all = n.concat(
        {n.add(first, -1.0), first, n.add(first, 1.0), n.add(first, 2.0)}, 1);
    taps.weight = cubicWeights(t);
    taps.count = 4;
  }
  if (padding == Padding::Zeros)
    taps.inside = n.binary<AndOp>(
        n.compare(ComparePredicate::GE, all, n.splat(0, all)),
        n.compare(ComparePredicate::LE, all, n.splat(double(size - 1), all)));
  taps.index = makeIndex(all, size);
  return taps;
}

/// What each of `more` adds to each of `taps`: [batch, a, points] and [batch,
/// b, points] as [batch, a, b, points], combined and put together.
static Value combine(OnnxNode &n, Value x, Value y,
                     llvm::function_ref<Value(Value, Value)> with) {
  if (!x || !y)
    return {};
  ArrayRef<int64_t> a = n.shapeOf(x), b = n.shapeOf(y);
  SmallVector<int64_t> all = {a[0], a[1] * b[1], a[2]};
  Value both = with(n.reshape(x, {a[0], a[1], 1, a[2]}),
                    n.reshape(y, {b[0], 1, b[1], b[2]}));
  return n.reshape(both, all);
}

static LogicalResult importGridSample(OnnxNode &n) {
  Value x = n.in(0), grid = n.in(1);
  bool isNew = n.opset >= 20;
  std::string modeName = n.textAttr("mode", isNew ? "linear" : "bilinear");
  std::string paddingName = n.textAttr("padding_mode", "zeros");
  bool aligned = n.intAttr("align_corners", 0) != 0;
  Mode mode = modeName == "nearest"                       ? Mode::Nearest
              : modeName == (isNew ? "cubic" : "bicubic") ? Mode::Cubic
                                                          : Mode::Linear;
  if (mode == Mode::Linear && modeName != (isNew ? "linear" : "bilinear"))
    return n.fail("mode '" + modeName + "' is not known");
  if (paddingName != "zeros" && paddingName != "border" &&
      paddingName != "reflection")
    return n.fail("padding_mode '" + paddingName + "' is not known");
  Padding padding = paddingName == "zeros"    ? Padding::Zeros
                    : paddingName == "border" ? Padding::Border
                                              : Padding::Reflection;
  SmallVector<int64_t> in(n.shapeOf(x)), places(n.shapeOf(grid));
  int64_t spatial = int64_t(in.size()) - 2;
  if (spatial < 1 || places.size() != in.size() || places.back() != spatial ||
      places[0] != in[0] || !n.isFloat(grid))
    return n.fail("its grid does not fit the input");
  if (mode == Mode::Cubic && spatial != 2)
    return n.fail("cubic mode is of two dims");
  int64_t batch = in[0], channels = in[1], points = 1, elements = 1;
  for (int64_t d = 0; d < spatial; ++d) {
    points *= places[1 + d];
    elements *= in[2 + d];
  }
  int64_t each = mode == Mode::Nearest ? 1 : mode == Mode::Linear ? 2 : 4;
  SmallVector<int64_t> all = {batch, points, channels};
  for (int64_t d = 0; d < spatial; ++d)
    all.push_back(each);
  if (elements == 0 || !isSaneShape(all))
    return n.fail("its shapes are impossible");
  // Places are computed in f32 at least.
  grid = widen(n, n.reshape(grid, {batch, points, spatial}));
  Sampler sampler(n, mode, padding, aligned);
  Taps taps;
  for (int64_t d = 0; d < spatial; ++d) {
    // The grid has the last dim first.
    int64_t at = spatial - 1 - d;
    Value place = n.reshape(n.sliceDim(grid, 2, at, at + 1), {batch, points});
    Taps more = sampler.sample(place, in[2 + d]);
    if (d == 0) {
      taps = more;
      continue;
    }
    Type i64 = IntegerType::get(n.getContext(), 64);
    taps.index =
        combine(n, n.mul(taps.index, n.intScalar(in[2 + d], i64)), more.index,
                [&](Value a, Value b) { return n.add(a, b); });
    taps.inside = combine(n, taps.inside, more.inside, [&](Value a, Value b) {
      return n.binary<AndOp>(a, b);
    });
    taps.weight = combine(n, taps.weight, more.weight,
                          [&](Value a, Value b) { return n.mul(a, b); });
    taps.count *= more.count;
  }
  // Channels of a place lie together: one row of them a tap.
  Value rows = n.moveDim(n.reshape(x, {batch, channels, elements}), 1, 2);
  Value index = n.reshape(taps.index, {batch, taps.count * points, 1});
  Value read = n.make<GatherNDOp>({rows, index}, {n.i64("batch_dims", 1)});
  SmallVector<int64_t> shape = {batch, taps.count, points, channels};
  read = n.reshape(read, shape);
  // What is outside is 0, whatever lies at the end.
  if (padding == Padding::Zeros)
    read = n.select(n.broadcastMissing(taps.inside, shape, {3}), read,
                    n.splat(0, read));
  Type element = n.elementOf(x);
  if (taps.weight) {
    read = n.convert(read, n.elementOf(taps.weight));
    read = n.mul(read, n.broadcastMissing(taps.weight, shape, {3}));
  }
  Value y = n.reduce(Reduction::Sum, read, {1}, false);
  SmallVector<int64_t> result = {batch, channels};
  result.append(places.begin() + 1, places.end() - 1);
  return n.out(n.convert(n.reshape(n.moveDim(y, 2, 1), result), element));
}

/// The places of a grid of `size`, moved by each example's matrix.
static LogicalResult importAffineGrid(OnnxNode &n) {
  Value theta = n.in(0);
  bool aligned = n.intAttr("align_corners", 0) != 0;
  FailureOr<SmallVector<int64_t>> size = n.ints(1);
  if (failed(size))
    return failure();
  int64_t spatial = int64_t(size->size()) - 2;
  if (spatial != 2 && spatial != 3)
    return n.fail("its size must have 4 or 5 entries");
  if (n.rankOf(theta) != 3 || n.shapeOf(theta)[1] != spatial ||
      n.shapeOf(theta)[2] != spatial + 1 || !n.isFloat(theta))
    return n.fail("its matrices do not fit the size");
  int64_t batch = n.shapeOf(theta)[0], points = 1;
  SmallVector<int64_t> dims(size->begin() + 2, size->end());
  if (!isSaneShape(dims))
    return n.fail("its size is impossible");
  for (int64_t d : dims)
    points *= d;
  if (points < 1 || points > (int64_t(1) << 24))
    return n.fail("its size is impossible");
  HostTensor base(
      RankedTensorType::get({points, spatial + 1}, n.elementOf(theta)));
  for (int64_t i = 0; i < points; ++i) {
    int64_t rest = i;
    for (int64_t d = spatial - 1; d >= 0; --d) {
      int64_t at = rest % dims[d];
      rest /= dims[d];
      double place = aligned ? (dims[d] > 1 ? 2.0 * at / (dims[d] - 1) - 1 : 0)
                             : (2.0 * at + 1) / dims[d] - 1;
      base.setDouble(i * (spatial + 1) + spatial - 1 - d, place);
    }
    base.setDouble(i * (spatial + 1) + spatial, 1);
  }
  Value y = n.dot(theta, n.constant(base), {}, {}, {2}, {1}); // n, dim, point
  SmallVector<int64_t> result = {batch};
  result.append(dims);
  result.push_back(spatial);
  return n.out(n.reshape(n.moveDim(y, 1, 2), result));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxGridOps() {
  static const OnnxOp rows[] = {
      {"GridSample", 16, 2, 2, importGridSample},
      {"AffineGrid", 20, 2, 2, importAffineGrid},
  };
  return rows;
}
