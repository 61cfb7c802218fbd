//===- OnnxFourier.cpp - Fourier transforms of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transforms of the lengths that models have are products with a matrix of
// sines and cosines: of real numbers only, and with a gradient.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Of a matrix: 64 MiB in f32.
static constexpr int64_t kMostNumbers = int64_t(1) << 24;

namespace {
/// A transform of `points`, the first `given` of which are there (of the
/// one-sided inverse: frequencies), as a matrix from parts x given to
/// resultParts x results. A part is real or imaginary.
struct Transform {
  int64_t points, given, parts, results, resultParts;
  bool inverse, onesided;

  /// Of the product of part `p` of element `i` in part `q` of result `k`.
  double weight(int64_t p, int64_t i, int64_t q, int64_t k) const {
    // The product of both may be large: the angle is of its rest.
    double angle = 2 * M_PI * double(i * k % points) / double(points);
    // e^(-j a) forward, e^(j a) back.
    double sine = inverse ? std::sin(angle) : -std::sin(angle);
    double value = p == q ? std::cos(angle) : p < q ? sine : -sine;
    if (!inverse)
      return value;
    // The frequencies that are left out mirror these, but for the first and,
    // of an even number of points, the last.
    bool isTwice = onesided && i > 0 && 2 * i != points;
    return value * (isTwice ? 2 : 1) / double(points);
  }
};
} // namespace

/// x: [..., parts * given] -> [..., resultParts * results]; `window`: a factor
/// of each element, or none.
static Value transform(OnnxNode &n, Value x, const Transform &t,
                       ArrayRef<double> window = {}) {
  int64_t rows = t.parts * t.given, columns = t.resultParts * t.results;
  if (t.points > kMostNumbers || rows > kMostNumbers ||
      columns > kMostNumbers || rows * columns > kMostNumbers) {
    (void)n.fail("a transform of " + llvm::Twine(t.points) +
                     " points is a product with a matrix of their square here, "
                     "which is too large",
                 "leave it out with --outputs NAME,..., and give its result as "
                 "an input");
    return {};
  }
  HostTensor matrix(RankedTensorType::get({rows, columns}, n.elementOf(x)));
  for (int64_t p = 0; p < t.parts; ++p)
    for (int64_t i = 0; i < t.given; ++i)
      for (int64_t q = 0; q < t.resultParts; ++q)
        for (int64_t k = 0; k < t.results; ++k)
          matrix.setDouble((p * t.given + i) * columns + q * t.results + k,
                           t.weight(p, i, q, k) *
                               (window.empty() ? 1 : window[i]));
  return n.dot(x, n.constant(matrix), {}, {}, {n.rankOf(x) - 1}, {0});
}

static bool hasParts(OnnxNode &n, Value x) {
  return n.isFloat(x) && n.rankOf(x) >= 2 &&
         (n.shapeOf(x).back() == 1 || n.shapeOf(x).back() == 2);
}

static LogicalResult importDFT(OnnxNode &n) {
  Value x = n.in(0);
  int64_t rank = n.rankOf(x);
  bool inverse = n.intAttr("inverse", 0) != 0;
  bool onesided = n.intAttr("onesided", 0) != 0;
  if (!hasParts(n, x))
    return n.fail("its last dim must be 1 (real numbers) or 2 (complex ones)");
  FailureOr<int64_t> axis = n.opset < 20
                                ? FailureOr<int64_t>(n.intAttr("axis", 1))
                            : n.has(2) ? n.oneInt(2)
                                       : FailureOr<int64_t>(-2);
  if (failed(axis) || failed(axis = n.dim(*axis, rank)))
    return failure();
  if (*axis == rank - 1)
    return n.fail("its axis is the last dim, which is of real and imaginary "
                  "parts");
  int64_t parts = n.shapeOf(x).back(), size = n.shapeOf(x)[*axis];
  if (onesided && parts != (inverse ? 2 : 1))
    return n.fail(inverse ? "of real numbers there is no one-sided inverse"
                          : "of complex numbers there is no one-sided form");
  FailureOr<int64_t> points = onesided && inverse ? 2 * (size - 1) : size;
  if (n.has(1))
    points = n.oneInt(1);
  if (failed(points))
    return failure();
  if (*points < 1)
    return n.fail("it has no points");
  Transform t{*points, *points, parts, *points, 2, inverse, onesided};
  int64_t half = *points / 2 + 1;
  if (onesided && inverse) {
    t.given = half;
    t.resultParts = 1;
  } else if (onesided) {
    t.results = half;
  }
  // Those that are not there are zeros.
  t.given = std::min(t.given, size);
  x = n.sliceDim(x, *axis, 0, t.given);
  x = n.moveDim(x, rank - 1, *axis); // parts, and what they are of
  x = n.moveDim(x, *axis + 1, rank - 1);
  x = n.moveDim(x, *axis, rank - 2);
  if (!x)
    return failure();
  SmallVector<int64_t> shape(n.shapeOf(x).drop_back(2));
  shape.push_back(t.parts * t.given);
  Value y = transform(n, n.reshape(x, shape), t);
  if (!y)
    return failure();
  shape.back() = t.resultParts;
  shape.push_back(t.results);
  y = n.moveDim(n.reshape(y, shape), rank - 2, rank - 1);
  return n.out(n.moveDim(y, rank - 2, *axis));
}

/// Frames of the signal, each times the window, transformed.
static LogicalResult importSTFT(OnnxNode &n) {
  Value x = n.in(0);
  bool onesided = n.intAttr("onesided", 1) != 0;
  ArrayRef<int64_t> shape = n.shapeOf(x);
  if (shape.size() == 2)
    x = n.reshape(x, {shape[0], shape[1], 1});
  if (n.rankOf(x) != 3 || !hasParts(n, x))
    return n.fail("its signal must be [batch, length, 1 or 2]");
  int64_t batch = n.shapeOf(x)[0], length = n.shapeOf(x)[1];
  int64_t parts = n.shapeOf(x)[2];
  FailureOr<int64_t> step = n.oneInt(1), frame = length;
  SmallVector<double> window;
  if (n.has(2)) {
    FailureOr<HostTensor> given = n.constant(2);
    if (failed(given))
      return failure();
    if (!given->isFloat() || given->getShape().size() != 1)
      return n.fail("its window must be a vector of real numbers");
    for (int64_t i = 0; i < given->getNumElements(); ++i)
      window.push_back(given->getDouble(i));
    frame = window.size();
  }
  if (n.has(3))
    frame = n.oneInt(3);
  if (failed(step) || failed(frame))
    return failure();
  if (*step < 1 || *frame < 1 || *frame > length ||
      (!window.empty() && int64_t(window.size()) != *frame))
    return n.fail("its frames do not fit the signal and the window");
  if (onesided && parts == 2)
    return n.fail("of complex numbers there is no one-sided form");
  int64_t frames = (length - *frame) / *step + 1;
  if (!isSaneShape({batch, frames, parts, *frame}) ||
      frames * *frame > kMostNumbers)
    return n.fail("its frames are too many");
  SmallVector<int64_t> positions;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < *frame; ++i)
      positions.push_back(f * *step + i);
  Value cut = n.make<GatherOp>({n.moveDim(x, 2, 1), n.intList(positions)},
                               {n.i64("axis", 2)});
  cut = n.moveDim(n.reshape(cut, {batch, parts, frames, *frame}), 1, 2);
  Transform t{*frame, *frame, parts,   onesided ? *frame / 2 + 1 : *frame,
              2,      false,  onesided};
  Value y =
      transform(n, n.reshape(cut, {batch, frames, parts * *frame}), t, window);
  return n.out(n.moveDim(n.reshape(y, {batch, frames, 2, t.results}), 2, 3));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxFourierOps() {
  static const OnnxOp rows[] = {
      {"DFT", 17, 1, 2, importDFT},
      {"DFT", 20, 1, 3, importDFT},
      {"STFT", 17, 2, 4, importSTFT},
  };
  return rows;
}
