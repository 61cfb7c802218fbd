//===- OnnxFold.cpp - What undoes windows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Sums windows' elements where they come from, dim by dim: [batch, channels,
/// taps of each dim, windows of each dim] -> [batch, channels, each dim].
static LogicalResult importCol2Im(OnnxNode &n) {
  Value x = n.in(0);
  FailureOr<SmallVector<int64_t>> image = n.ints(1), block = n.ints(2);
  if (failed(image) || failed(block))
    return failure();
  size_t spatial = image->size();
  if (n.rankOf(x) != 3 || spatial < 1 || spatial > 8 ||
      block->size() != spatial || !isSaneShape(*image) || !isSaneShape(*block))
    return n.fail("its shapes do not fit");
  auto listOf = [&](StringRef name, size_t count, int64_t standard) {
    return n.intsAttr(name).value_or(SmallVector<int64_t>(count, standard));
  };
  SmallVector<int64_t> strides = listOf("strides", spatial, 1);
  SmallVector<int64_t> dilations = listOf("dilations", spatial, 1);
  SmallVector<int64_t> pads = listOf("pads", 2 * spatial, 0);
  if (strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial)
    return n.fail("its attributes must have an entry a dim");
  int64_t taps = 1, windows = 1, sum = 0;
  SmallVector<int64_t> counts;
  constexpr int64_t most = int64_t(1) << 31;
  for (size_t d = 0; d < spatial; ++d) {
    int64_t size = (*block)[d], low = pads[d], high = pads[spatial + d];
    if (size < 1 || (*image)[d] < 1 || strides[d] < 1 || dilations[d] < 1 ||
        low < 0 || high < 0 ||
        std::max({size, (*image)[d], strides[d], dilations[d], low, high}) >
            most)
      return n.fail("its sizes are out of range");
    int64_t room = (*image)[d] + low + high - dilations[d] * (size - 1) - 1;
    if (room < 0)
      return n.fail("a window is larger than the image");
    counts.push_back(room / strides[d] + 1);
    taps *= size;
    windows *= counts.back();
    sum += size;
    if (taps > most || windows > most || sum > 4096)
      return n.fail("its windows are too large");
  }
  int64_t batch = n.shapeOf(x)[0], channels = n.shapeOf(x)[1] / taps;
  if (n.shapeOf(x)[1] != channels * taps || n.shapeOf(x)[2] != windows)
    return n.fail("its input must be [batch, channels * " + llvm::Twine(taps) +
                  ", " + llvm::Twine(windows) + "]");
  SmallVector<int64_t> shape = {batch, channels};
  shape.append(*block);
  shape.append(counts);
  x = n.reshape(x, shape);
  Value zero = n.scalar(0, n.elementOf(x));
  for (size_t d = spatial; d-- > 0;) {
    // Taps of the dims up to this one are left: its own in the last place.
    int64_t at = 2 + d, to = 2 + 2 * d;
    Value whole;
    for (int64_t tap = 0; x && tap < (*block)[d]; ++tap) {
      Value one = n.sliceDim(x, at, tap, tap + 1);
      SmallVector<int64_t> rest(n.shapeOf(one));
      rest.erase(rest.begin() + at);
      one = n.reshape(one, rest);
      SmallVector<int64_t> low(rest.size(), 0), high(low), interior(low);
      low[to] = tap * dilations[d] - pads[d];
      interior[to] = strides[d] - 1;
      high[to] = (*image)[d] - low[to] - ((counts[d] - 1) * strides[d] + 1);
      one =
          n.make<PadOp>({one, zero}, {n.list("low", low), n.list("high", high),
                                      n.list("interior", interior)});
      whole = whole ? n.add(whole, one) : one;
    }
    x = whole;
  }
  return n.out(x);
}

/// Each element at the place that its index tells, zeros elsewhere.
static LogicalResult importMaxUnpool(OnnxNode &n) {
  Value x = n.in(0), indices = n.in(1);
  ArrayRef<int64_t> in = n.shapeOf(x);
  std::optional<SmallVector<int64_t>> kernel = n.intsAttr("kernel_shape");
  size_t spatial = in.size() - 2;
  if (in.size() < 3 || n.shapeOf(indices) != in || !kernel ||
      kernel->size() != spatial)
    return n.fail("its kernel and indices must fit the input");
  SmallVector<int64_t> strides =
      n.intsAttr("strides").value_or(SmallVector<int64_t>(spatial, 1));
  SmallVector<int64_t> pads =
      n.intsAttr("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  if (strides.size() != spatial || pads.size() != 2 * spatial)
    return n.fail("its attributes must have an entry a dim");
  SmallVector<int64_t> result = {in[0], in[1]};
  for (size_t d = 0; d < spatial; ++d)
    result.push_back((in[d + 2] - 1) * strides[d] + (*kernel)[d] - pads[d] -
                     pads[spatial + d]);
  if (n.has(2)) {
    FailureOr<SmallVector<int64_t>> given = n.ints(2);
    if (failed(given))
      return failure();
    if (given->size() != in.size() ||
        failed(n.rebatch(OnnxNode::ShapeUse::Make, {}, *given)) ||
        ArrayRef<int64_t>(*given) != ArrayRef<int64_t>(result))
      return n.fail("its output_shape is not the one that the kernel gives: "
                    "runtimes count its indices differently",
                    "export it with a size that strides divide");
  }
  if (!isSaneShape(result))
    return n.fail("its output's shape is impossible");
  int64_t places = 1, given = 1;
  for (size_t d = 2; d < in.size(); ++d) {
    places *= result[d];
    given *= in[d];
  }
  // Indices count all dims of a tensor of the output's shape: those of the
  // examples and the channels are where the element is.
  if (places < 1)
    return n.fail("its output's shape is impossible");
  Type i64 = IntegerType::get(n.getContext(), 64);
  Value at = n.binary<RemOp>(n.convert(indices, i64), n.intScalar(places, i64));
  Value y = n.make<ScatterElementsOp>(
      {n.zeros({in[0], in[1], places}, n.elementOf(x)),
       n.reshape(at, {in[0], in[1], given}),
       n.reshape(x, {in[0], in[1], given})},
      {n.attr("kind", ScatterKindAttr::get(n.getContext(), ScatterKind::Set)),
       n.i64("axis", 2)});
  return n.out(n.reshape(y, result));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxFoldOps() {
  static const OnnxOp rows[] = {
      {"Col2Im", 18, 3, 3, importCol2Im},
      {"MaxUnpool", 9, 2, 3, importMaxUnpool},
  };
  return rows;
}
