//===- OnnxWindow.cpp - Windows of ONNX's convolutions and pools ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxWindow.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// No size of a window comes near this; products of two stay below 2^62.
static constexpr int64_t kMaxWindow = int64_t(1) << 30;

/// Reads the lists; pads are those of the `pads` attribute.
static FailureOr<OnnxWindow> readLists(OnnxNode &n, ArrayRef<int64_t> input,
                                       ArrayRef<int64_t> sizes,
                                       std::string *autoPad) {
  size_t count = sizes.size();
  OnnxWindow window;
  window.sizes.assign(sizes.begin(), sizes.end());
  window.strides =
      n.intsAttr("strides").value_or(SmallVector<int64_t>(count, 1));
  window.dilations =
      n.intsAttr("dilations").value_or(SmallVector<int64_t>(count, 1));
  SmallVector<int64_t> pads =
      n.intsAttr("pads").value_or(SmallVector<int64_t>(2 * count, 0));
  *autoPad = n.textAttr("auto_pad", "NOTSET");
  if (input.size() != count || window.strides.size() != count ||
      window.dilations.size() != count || pads.size() != 2 * count)
    return n.fail("strides, dilations and pads must have an entry a spatial "
                  "dim (pads: two)");
  auto inRange = [&](ArrayRef<int64_t> values, int64_t least) {
    return llvm::all_of(
        values, [&](int64_t v) { return v >= least && v <= kMaxWindow; });
  };
  if (!inRange(window.strides, 1) || !inRange(window.dilations, 1) ||
      !inRange(window.sizes, 1) || !inRange(pads, 0) || !inRange(input, 0))
    return n.fail("strides, dilations, pads or kernel sizes are out of range");
  window.low.assign(pads.begin(), pads.begin() + count);
  window.high.assign(pads.begin() + count, pads.end());
  if (*autoPad != "NOTSET" && *autoPad != "VALID" && *autoPad != "SAME_UPPER" &&
      *autoPad != "SAME_LOWER")
    return n.fail("auto_pad '" + *autoPad + "' is not known");
  return window;
}

FailureOr<OnnxWindow> mlir::dist::graph::readWindow(OnnxNode &n,
                                                    ArrayRef<int64_t> input,
                                                    ArrayRef<int64_t> sizes,
                                                    bool ceilMode) {
  std::string autoPad;
  FailureOr<OnnxWindow> window = readLists(n, input, sizes, &autoPad);
  if (failed(window))
    return failure();
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t stride = window->strides[d], size = input[d];
    int64_t reach = (sizes[d] - 1) * window->dilations[d] + 1;
    int64_t &low = window->low[d], &high = window->high[d];
    if (autoPad == "VALID") {
      low = high = 0;
    } else if (autoPad != "NOTSET") {
      int64_t windows = (size + stride - 1) / stride;
      int64_t total =
          std::max<int64_t>((windows - 1) * stride + reach - size, 0);
      low = autoPad == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
      high = total - low;
    }
    int64_t padded = size + low + high;
    // Rounded up, a part of a window counts, but not less than nothing.
    if (padded < reach && !(ceilMode && padded > 0 && reach - padded < stride))
      return n.fail("the kernel (" + llvm::Twine(reach) +
                    ") is larger than the padded input (" +
                    llvm::Twine(padded) + ")");
    if (!ceilMode || autoPad != "NOTSET")
      continue;
    int64_t windows =
        padded < reach ? 1 : (padded - reach + stride - 1) / stride + 1;
    // A window that would start in the padding at the end does not count.
    if ((windows - 1) * stride >= size + low)
      --windows;
    int64_t needed = (windows - 1) * stride + reach;
    if (needed > padded) {
      high += needed - padded;
      window->extended = true;
    }
  }
  return window;
}

FailureOr<OnnxWindow>
mlir::dist::graph::readTransposedWindow(OnnxNode &n, ArrayRef<int64_t> input,
                                        ArrayRef<int64_t> sizes,
                                        SmallVectorImpl<int64_t> *output) {
  std::string autoPad;
  SmallVector<int64_t> extra =
      n.intsAttr("output_padding")
          .value_or(SmallVector<int64_t>(sizes.size(), 0));
  std::optional<SmallVector<int64_t>> wanted = n.intsAttr("output_shape");
  FailureOr<OnnxWindow> window = readLists(n, input, sizes, &autoPad);
  if (failed(window))
    return failure();
  if (extra.size() != sizes.size() || (wanted && wanted->size() < sizes.size()))
    return n.fail("output_padding and output_shape must have an entry a "
                  "spatial dim");
  // Some files give all dims of the result.
  if (wanted)
    wanted->erase(wanted->begin(), wanted->end() - sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t stride = window->strides[d];
    int64_t reach = (sizes[d] - 1) * window->dilations[d] + 1;
    int64_t &low = window->low[d], &high = window->high[d];
    if (extra[d] < 0 || extra[d] >= std::max(stride, window->dilations[d]))
      return n.fail("output_padding must be less than the stride");
    int64_t whole = (input[d] - 1) * stride + reach + extra[d];
    std::optional<int64_t> size;
    if (wanted)
      size = (*wanted)[d];
    else if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")
      size = input[d] * stride;
    else if (autoPad == "VALID")
      low = high = 0;
    if (size) {
      if (*size < 1 || *size > kMaxWindow)
        return n.fail("output_shape is out of range");
      int64_t total = std::max<int64_t>(whole - *size, 0);
      low = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
    } else {
      size = whole - low - high;
    }
    if (*size < 1)
      return n.fail("its result would be empty");
    output->push_back(*size);
    // The forward convolution sees the result, whose last rows may be beyond
    // its last window.
    int64_t windows = (*size + low + high - reach) / stride + 1;
    if (*size + low + high < reach || windows != input[d])
      return n.fail("its pads, output_padding or output_shape do not fit");
  }
  return window;
}
