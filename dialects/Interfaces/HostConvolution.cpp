//===- HostConvolution.cpp - Convolutions on the host -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of products whose factors stand at "offset of the row + offset of the
// term": windows that reach the same taps are computed together.
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/HostConvolution.h"
#include <algorithm>
#include <deque>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Windows and taps of one spatial dim, numWindows from `window` on and numTaps
/// from `tap` on, all of which meet elements of the input.
struct Span {
  int64_t window, numWindows, tap, numTaps;
};
using Spans = SmallVector<Span>;

/// Lists offsets into the three tensors.
struct ConvOffsets {
  const HostConvolution &c;

  StridedRange inputImages() const { return {0, c.batch, c.input.major}; }
  StridedRange outputImages() const { return {0, c.batch, c.output.major}; }
  StridedRange inputChannels() const {
    return {0, c.inputChannels, c.input.minor};
  }
  StridedRange filterInputs() const {
    return {0, c.inputChannels, c.filter.minor};
  }
  StridedRange filterOutputs() const {
    return {0, c.outputChannels, c.filter.major};
  }
  StridedRange outputChannels() const {
    return {0, c.outputChannels, c.output.minor};
  }
  /// Where the first tap of windows reads the input, which may be in front of
  /// it; and how much further the taps do.
  void addInputWindows(const Spans &spans, SmallVector<StridedRange> &box,
                       int64_t &base) const {
    for (auto [d, span] : llvm::enumerate(spans)) {
      int64_t stride = c.input.spatial[d];
      box.push_back({span.window, span.numWindows, c.strides[d] * stride});
      base -= c.padLow[d] * stride;
    }
  }
  void addInputTaps(const Spans &spans, SmallVector<StridedRange> &box) const {
    for (auto [d, span] : llvm::enumerate(spans))
      box.push_back(
          {span.tap, span.numTaps, c.dilations[d] * c.input.spatial[d]});
  }
  void addFilterTaps(const Spans &spans, SmallVector<StridedRange> &box) const {
    for (auto [d, span] : llvm::enumerate(spans))
      box.push_back({span.tap, span.numTaps, c.filter.spatial[d]});
  }
  void addOutputWindows(const Spans &spans,
                        SmallVector<StridedRange> &box) const {
    for (auto [d, span] : llvm::enumerate(spans))
      box.push_back({span.window, span.numWindows, c.output.spatial[d]});
  }
};
} // namespace

/// The first window and the first behind whose tap `tap` meets the input.
static std::pair<int64_t, int64_t> getWindows(const HostConvolution &c,
                                              unsigned d, int64_t tap) {
  int64_t shift = c.padLow[d] - tap * c.dilations[d];
  // 0 <= window * stride - shift < size
  auto firstFrom = [&](int64_t position) {
    return std::clamp<int64_t>(
        position <= 0 ? 0 : (position + c.strides[d] - 1) / c.strides[d], 0,
        c.outputSizes[d]);
  };
  return {firstFrom(shift), firstFrom(shift + c.inputSizes[d])};
}

/// Calls `fn` with all combinations of one span a dim.
static void forEachCombination(ArrayRef<SmallVector<Span>> spans,
                               llvm::function_ref<void(const Spans &)> fn) {
  SmallVector<int64_t> counts = llvm::map_to_vector(
      spans, [](auto &list) { return int64_t(list.size()); });
  forEachIndex(counts, [&](ArrayRef<int64_t> index) {
    Spans chosen;
    for (auto [list, i] : llvm::zip(spans, index))
      chosen.push_back(list[i]);
    fn(chosen);
  });
}

/// Runs of windows that reach the same taps, in every dim.
static SmallVector<SmallVector<Span>>
findWindowSpans(const HostConvolution &c) {
  SmallVector<SmallVector<Span>> spans(c.getNumSpatial());
  for (unsigned d = 0; d < c.getNumSpatial(); ++d)
    for (int64_t window = 0; window < c.outputSizes[d]; ++window) {
      int64_t first = 0, count = 0;
      for (int64_t tap = 0; tap < c.filterSizes[d]; ++tap) {
        int64_t position =
            window * c.strides[d] + tap * c.dilations[d] - c.padLow[d];
        if (position < 0 || position >= c.inputSizes[d])
          continue;
        first = count ? first : tap;
        ++count;
      }
      if (!spans[d].empty() && spans[d].back().tap == first &&
          spans[d].back().numTaps == count)
        ++spans[d].back().numWindows;
      else
        spans[d].push_back({window, 1, first, count});
    }
  return spans;
}

/// Each tap with the windows at which it meets the input, in every dim.
static SmallVector<SmallVector<Span>> findTapSpans(const HostConvolution &c) {
  SmallVector<SmallVector<Span>> spans(c.getNumSpatial());
  for (unsigned d = 0; d < c.getNumSpatial(); ++d)
    for (int64_t tap = 0; tap < c.filterSizes[d]; ++tap) {
      auto [first, end] = getWindows(c, d, tap);
      if (first < end)
        spans[d].push_back({first, end - first, tap, 1});
    }
  return spans;
}

namespace {
/// Offsets that jobs refer to, and the jobs.
struct ConvJobs {
  /// The job of each group, which begin so far apart in the three tensors.
  void addGroups(const ProductSums<double> &job, int64_t groups, int64_t lhs,
                 int64_t rhs, int64_t sums) {
    for (int64_t group = 0; group < groups; ++group) {
      ProductSums<double> &one = jobs.emplace_back(job);
      one.lhs += group * lhs;
      one.rhs += group * rhs;
      one.sums += group * sums;
    }
  }
  ArrayRef<int64_t> list(ArrayRef<StridedRange> box, int64_t base = 0) {
    return lists.emplace_back(listOffsets(box, base));
  }
  std::deque<std::vector<int64_t>> lists;
  SmallVector<ProductSums<double>> jobs;
};
} // namespace

void mlir::dist::addConvolution(MLIRContext *context, const HostConvolution &c,
                                const double *input, const double *filter,
                                double *output) {
  ConvOffsets offsets{c};
  ConvJobs all;
  ArrayRef<int64_t> filterColumns = all.list({offsets.filterOutputs()});
  ArrayRef<int64_t> outputColumns = all.list({offsets.outputChannels()});
  forEachCombination(findWindowSpans(c), [&](const Spans &spans) {
    SmallVector<StridedRange> rows = {offsets.inputImages()}, inputTaps;
    SmallVector<StridedRange> windows = {offsets.outputImages()}, filterTaps;
    int64_t base = 0;
    offsets.addInputWindows(spans, rows, base);
    offsets.addInputTaps(spans, inputTaps);
    inputTaps.push_back(offsets.inputChannels());
    offsets.addFilterTaps(spans, filterTaps);
    filterTaps.push_back(offsets.filterInputs());
    offsets.addOutputWindows(spans, windows);
    all.addGroups({input, filter, output, all.list(rows, base),
                   all.list(inputTaps), all.list(filterTaps), filterColumns,
                   all.list(windows), outputColumns},
                  c.groups, c.input.group, c.filter.group, c.output.group);
  });
  addProducts(context, all.jobs);
}

void mlir::dist::addConvolutionInputGrad(MLIRContext *context,
                                         const HostConvolution &c,
                                         const double *outputGrad,
                                         const double *filter,
                                         double *inputGrad) {
  ConvOffsets offsets{c};
  // One tap after another, as they meet in elements of the input; the last
  // first, so that an element is summed in the order of the windows.
  SmallVector<SmallVector<Span>> taps = findTapSpans(c);
  for (SmallVector<Span> &spans : taps)
    std::reverse(spans.begin(), spans.end());
  forEachCombination(taps, [&](const Spans &spans) {
    ConvJobs all;
    SmallVector<StridedRange> rows = {offsets.outputImages()};
    SmallVector<StridedRange> windows = {offsets.inputImages()}, tap, filterTap;
    int64_t base = 0;
    offsets.addOutputWindows(spans, rows);
    offsets.addInputWindows(spans, windows, base);
    offsets.addInputTaps(spans, tap);
    offsets.addFilterTaps(spans, filterTap);
    all.addGroups({outputGrad, filter + listOffsets(filterTap).front(),
                   inputGrad, all.list(rows),
                   all.list({offsets.outputChannels()}),
                   all.list({offsets.filterOutputs()}),
                   all.list({offsets.filterInputs()}),
                   all.list(windows, base + listOffsets(tap).front()),
                   all.list({offsets.inputChannels()})},
                  c.groups, c.output.group, c.filter.group, c.input.group);
    addProducts(context, all.jobs);
  });
}

void mlir::dist::addConvolutionFilterGrad(MLIRContext *context,
                                          const HostConvolution &c,
                                          const double *input,
                                          const double *outputGrad,
                                          double *filterGrad) {
  ConvOffsets offsets{c};
  ConvJobs all;
  ArrayRef<int64_t> inputRows = all.list({offsets.inputChannels()});
  ArrayRef<int64_t> outputColumns = all.list({offsets.outputChannels()});
  ArrayRef<int64_t> filterRows = all.list({offsets.filterInputs()});
  ArrayRef<int64_t> filterColumns = all.list({offsets.filterOutputs()});
  forEachCombination(findTapSpans(c), [&](const Spans &spans) {
    // Place by window, the images of each one after another.
    SmallVector<StridedRange> terms, windows, tap, filterTap;
    int64_t base = 0;
    offsets.addInputWindows(spans, terms, base);
    terms.push_back(offsets.inputImages());
    offsets.addOutputWindows(spans, windows);
    windows.push_back(offsets.outputImages());
    offsets.addInputTaps(spans, tap);
    offsets.addFilterTaps(spans, filterTap);
    all.addGroups({input, outputGrad,
                   filterGrad + listOffsets(filterTap).front(), inputRows,
                   all.list(terms, base + listOffsets(tap).front()),
                   all.list(windows), outputColumns, filterRows, filterColumns},
                  c.groups, c.input.group, c.output.group, c.filter.group);
  });
  addProducts(context, all.jobs);
}
