//===- TensorFlowWindow.cpp - Windows of TensorFlow ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowNode.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using Node = TensorFlowNode;

/// What pads and sizes may be, so that no sum of them overflows.
static constexpr int64_t kMost = int64_t(1) << 31;

namespace {
/// Of all dims, as TensorFlow has its lists: 1 and 0 where there is no window.
struct Window {
  SmallVector<int64_t> sizes, strides, dilations, low, high;
  bool channelsFirst = false;
  /// The dims of windows.
  SmallVector<int64_t> spatial;
};
} // namespace

static bool isChannelsFirst(Node &n) {
  return n.getText("data_format", "NHWC").starts_with("NC");
}
static SmallVector<int64_t> spatialDims(Node &n, int64_t rank) {
  int64_t first = isChannelsFirst(n) ? 2 : 1;
  return llvm::to_vector(llvm::seq<int64_t>(first, first + rank - 2));
}

/// `sizes` are the window's by dim; pads are made for an input of `shape`.
static FailureOr<Window> readWindow(Node &n, ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> sizes) {
  int64_t rank = shape.size();
  Window window;
  window.channelsFirst = isChannelsFirst(n);
  window.spatial = spatialDims(n, rank);
  window.sizes.assign(sizes.begin(), sizes.end());
  window.strides = n.getInts("strides");
  window.dilations = n.getInts("dilations");
  if (window.dilations.empty())
    window.dilations.assign(rank, 1);
  window.low.assign(rank, 0);
  window.high.assign(rank, 0);
  auto fits = [&](ArrayRef<int64_t> list) {
    return int64_t(list.size()) == rank &&
           llvm::all_of(list, [](int64_t v) { return v >= 1 && v < kMost; });
  };
  if (!fits(window.sizes) || !fits(window.strides) || !fits(window.dilations))
    return n.fail("its sizes, strides and dilations must have a number of 1 or "
                  "more a dim");
  StringRef padding = n.getText("padding", "VALID");
  SmallVector<int64_t> explicitPads = n.getInts("explicit_paddings");
  if (padding != "VALID" && padding != "SAME" && padding != "EXPLICIT")
    return n.fail("padding '" + padding + "' is not known");
  if (padding == "EXPLICIT" && int64_t(explicitPads.size()) != 2 * rank)
    return n.fail("explicit_paddings must have two numbers a dim");
  for (int64_t d : window.spatial) {
    int64_t reach = (window.sizes[d] - 1) * window.dilations[d] + 1;
    if (padding == "SAME") {
      int64_t stride = window.strides[d];
      int64_t windows = (shape[d] + stride - 1) / stride;
      int64_t total =
          std::max<int64_t>((windows - 1) * stride + reach - shape[d], 0);
      window.low[d] = total / 2;
      window.high[d] = total - total / 2;
    } else if (padding == "EXPLICIT") {
      window.low[d] = explicitPads[2 * d];
      window.high[d] = explicitPads[2 * d + 1];
    }
    if (window.low[d] < 0 || window.high[d] < 0 || window.low[d] > kMost ||
        window.high[d] > kMost)
      return n.fail("a pad is out of range");
    if (shape[d] + window.low[d] + window.high[d] < reach)
      return n.fail("the window (" + llvm::Twine(reach) +
                    ") is larger than the padded input (" +
                    llvm::Twine(shape[d] + window.low[d] + window.high[d]) +
                    ")");
  }
  return window;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

static SmallVector<NamedAttribute> convAttributes(Node &n, const Window &window,
                                                  int64_t groups) {
  auto spatial = [&](ArrayRef<int64_t> all) {
    return llvm::map_to_vector(window.spatial,
                               [&](int64_t d) { return all[d]; });
  };
  std::string places;
  for (size_t i = 0; i < window.spatial.size(); ++i)
    places += std::to_string(i);
  std::string data = window.channelsFirst ? "NC" + places : "N" + places + "C";
  return {n.list("strides", spatial(window.strides)),
          n.list("pad_low", spatial(window.low)),
          n.list("pad_high", spatial(window.high)),
          n.list("dilations", spatial(window.dilations)),
          n.i64("groups", groups),
          n.text("input_layout", data),
          n.text("filter_layout", places + "IO"),
          n.text("output_layout", data)};
}

/// A window of the filter's spatial dims, which it has in front.
static FailureOr<Window> readConv(Node &n, ArrayRef<int64_t> shape,
                                  Value filter) {
  int64_t rank = shape.size();
  if (rank < 3 || n.rankOf(filter) != rank)
    return n.fail("input and filter must have the same number of dims, 3 or "
                  "more");
  SmallVector<int64_t> sizes(rank, 1);
  for (auto [i, d] : llvm::enumerate(spatialDims(n, rank)))
    sizes[d] = n.shapeOf(filter)[i];
  return readWindow(n, shape, sizes);
}

static LogicalResult importConv(Node &n) {
  Value x = n.in(0), filter = n.in(1);
  FailureOr<Window> window = readConv(n, n.shapeOf(x), filter);
  if (failed(window))
    return failure();
  int64_t rank = n.rankOf(x);
  int64_t channels = n.shapeOf(x)[window->channelsFirst ? 1 : rank - 1];
  int64_t taken = n.shapeOf(filter)[rank - 2];
  if (taken < 1 || channels % taken)
    return n.fail("channels of input (" + llvm::Twine(channels) +
                  ") and filter (" + llvm::Twine(taken) + ") do not fit");
  int64_t groups = channels / taken;
  if (groups < 1 || n.shapeOf(filter)[rank - 1] % groups)
    return n.fail("the filters do not make " + llvm::Twine(groups) +
                  " equal groups");
  return n.result(
      n.make<ConvOp>({x, filter}, convAttributes(n, *window, groups)));
}

/// The filter has a multiple of filters for each channel.
static LogicalResult importDepthwiseConv(Node &n) {
  Value x = n.in(0), filter = n.in(1);
  FailureOr<Window> window = readConv(n, n.shapeOf(x), filter);
  if (failed(window))
    return failure();
  int64_t rank = n.rankOf(x);
  int64_t channels = n.shapeOf(x)[window->channelsFirst ? 1 : rank - 1];
  SmallVector<int64_t> shape(n.shapeOf(filter));
  if (shape[rank - 2] != channels || channels < 1)
    return n.fail("channels of input (" + llvm::Twine(channels) +
                  ") and filter (" + llvm::Twine(shape[rank - 2]) + ") differ");
  shape[rank - 1] *= channels;
  shape[rank - 2] = 1;
  return n.result(n.make<ConvOp>({x, n.reshape(filter, shape)},
                                 convAttributes(n, *window, channels)));
}

/// A transposed convolution: the input's gradient of a convolution.
static LogicalResult importConvInputGrad(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.numbers(0);
  if (failed(shape))
    return failure();
  Value filter = n.in(1), gradient = n.in(2);
  int64_t rank = n.rankOf(gradient);
  // Some give the spatial dims only.
  if (rank >= 3 && int64_t(shape->size()) == rank - 2) {
    int64_t channels = n.shapeOf(filter)[rank - 2];
    shape->insert(shape->begin(), n.shapeOf(gradient)[0]);
    shape->insert(isChannelsFirst(n) ? shape->begin() + 1 : shape->end(),
                  channels);
  }
  if (int64_t(shape->size()) != rank || !isSaneShape(*shape))
    return n.fail("the shape of its result must have an entry a dim");
  FailureOr<Window> window = readConv(n, *shape, filter);
  if (failed(window))
    return failure();
  for (int64_t d : window->spatial) {
    int64_t reach = (window->sizes[d] - 1) * window->dilations[d] + 1;
    int64_t windows = ((*shape)[d] + window->low[d] + window->high[d] - reach) /
                          window->strides[d] +
                      1;
    if (windows != n.shapeOf(gradient)[d])
      return n.fail("dim " + llvm::Twine(d) + " of its input is " +
                    llvm::Twine(n.shapeOf(gradient)[d]) +
                    ", and of that of "
                    "its result follows " +
                    llvm::Twine(windows));
  }
  int64_t channel = window->channelsFirst ? 1 : rank - 1;
  if ((*shape)[channel] != n.shapeOf(filter)[rank - 2] ||
      n.shapeOf(gradient)[channel] != n.shapeOf(filter)[rank - 1] ||
      (*shape)[0] != n.shapeOf(gradient)[0])
    return n.fail("channels of input, filter and result do not fit");
  return n.result(n.make<ConvInputGradOp>(
      {gradient, filter}, convAttributes(n, *window, 1),
      RankedTensorType::get(*shape, n.elementOf(gradient))));
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

template <bool isMax> static LogicalResult importPool(Node &n) {
  Value x = n.in(0);
  if (n.rankOf(x) < 3)
    return n.fail("the input must have 3 dims or more");
  FailureOr<Window> window = readWindow(n, n.shapeOf(x), n.getInts("ksize"));
  if (failed(window))
    return failure();
  SmallVector<NamedAttribute> attributes = {
      n.list("window", window->sizes), n.list("strides", window->strides),
      n.list("dilations", window->dilations), n.list("pad_low", window->low),
      n.list("pad_high", window->high)};
  if (isMax)
    return n.result(n.make<MaxPoolOp>({x}, attributes));
  attributes.push_back(n.flag("count_include_pad", false));
  return n.result(n.make<AvgPoolOp>({x}, attributes));
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowWindowOps() {
  static const TensorFlowOp rows[] = {
      {"Conv2D", importConv, 2},
      {"Conv3D", importConv, 2},
      {"DepthwiseConv2dNative", importDepthwiseConv, 2},
      {"Conv2DBackpropInput", importConvInputGrad, 3},
      {"Conv3DBackpropInputV2", importConvInputGrad, 3},
      {"MaxPool", importPool<true>},
      {"MaxPool3D", importPool<true>},
      {"AvgPool", importPool<false>},
      {"AvgPool3D", importPool<false>},
  };
  return rows;
}
