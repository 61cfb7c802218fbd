//===- convolution.cpp - Random convolutions, by plain loops --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/sweep/problem.h"
#include <array>

namespace dist::sweep {
namespace {

/// Always of 3 spatial dims; `numSpatial` of them are the kernel's, the last
/// ones, and the others have size 1.
struct Conv {
  int64_t images, groups, inputs, outputs; // of a group
  std::array<int64_t, 3> in, window, stride, low, high, dilation, out;
  int numSpatial;
  int64_t work() const {
    return images * groups * inputs * outputs * out[0] * out[1] * out[2] *
           window[0] * window[1] * window[2];
  }

  /// visit(input, filter, output): places in row-major order.
  template <typename Visit> void each(Visit visit) const {
    int64_t filterSize = window[0] * window[1] * window[2];
    int64_t inSize = in[0] * in[1] * in[2], outSize = out[0] * out[1] * out[2];
    for (int64_t n = 0; n < images; ++n)
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t o = 0; o < outputs; ++o)
          for (int64_t p = 0; p < outSize; ++p) {
            int64_t at[3] = {p / (out[1] * out[2]), p / out[2] % out[1],
                             p % out[2]};
            int64_t output = ((n * groups + g) * outputs + o) * outSize + p;
            for (int64_t k = 0; k < filterSize; ++k) {
              int64_t tap[3] = {k / (window[1] * window[2]),
                                k / window[2] % window[1], k % window[2]};
              int64_t place = 0;
              bool inside = true;
              for (int d = 0; d < 3; ++d) {
                int64_t x = at[d] * stride[d] - low[d] + tap[d] * dilation[d];
                inside &= x >= 0 && x < in[d];
                place = place * in[d] + x;
              }
              if (!inside)
                continue;
              for (int64_t i = 0; i < inputs; ++i)
                visit(((n * groups + g) * inputs + i) * inSize + place,
                      ((g * outputs + o) * inputs + i) * filterSize + k,
                      output);
            }
          }
  }
};

int64_t randomChannels(Random &random) {
  return random.oneIn(3) ? random.pick<int64_t>({1, 3, 8, 16, 32, 64})
                         : random.between(1, 70);
}

/// As networks shorten their images: few pixels, which the stride divides.
Conv randomPointwise(Random &random) {
  Conv c;
  c.numSpatial = random.oneIn(6) ? 1 : 2;
  c.images = random.between(1, 4);
  c.groups = 1;
  c.inputs = random.oneIn(2) ? random.between(1, 16) : randomChannels(random);
  c.outputs = random.oneIn(2) ? random.between(1, 16) : randomChannels(random);
  int64_t stride = random.pick({1, 2, 2, 2, 3}), size = random.between(1, 20);
  for (int d = 0; d < 3; ++d) {
    bool used = d >= 3 - c.numSpatial;
    c.window[d] = c.dilation[d] = 1;
    c.low[d] = c.high[d] = 0;
    c.stride[d] = used ? stride : 1;
    c.out[d] = used ? size : 1;
    c.in[d] = c.out[d] * c.stride[d];
  }
  return c;
}

Conv randomConv(Random &random) {
  if (random.oneIn(3))
    return randomPointwise(random);
  for (;;) {
    Conv c;
    // Where filters are larger than images, kernels fail most.
    bool isSmall = random.oneIn(4);
    c.numSpatial = random.oneIn(isSmall ? 2 : 8) ? random.pick({1, 3}) : 2;
    c.images = random.pick({1, 1, 2, 3, 4, 5});
    c.groups = random.oneIn(3) ? random.pick({2, 3, 4, 8, 16, 33}) : 1;
    c.inputs = randomChannels(random);
    c.outputs = randomChannels(random);
    if (c.groups > 1) {
      c.inputs = random.oneIn(3) ? 1 : (c.inputs + 3) / 4;
      c.outputs = random.oneIn(3) ? 1 : (c.outputs + 3) / 4;
    }
    // Windows and strides are often square.
    int64_t size = random.between(1, isSmall ? 4 : 33);
    int64_t window = random.between(1, 7);
    if (random.oneIn(3))
      window = random.pick({1, 3});
    int64_t stride = random.pick({1, 1, 2, 2, 3});
    int64_t dilation = random.oneIn(4) ? random.pick({2, 3}) : 1;
    bool square = !random.oneIn(4), unpadded = random.oneIn(3);
    bool fits = true;
    for (int d = 0; d < 3; ++d) {
      if (d < 3 - c.numSpatial) {
        c.in[d] = c.window[d] = c.stride[d] = c.dilation[d] = c.out[d] = 1;
        c.low[d] = c.high[d] = 0;
        continue;
      }
      c.in[d] = square ? size : random.between(1, isSmall ? 6 : 33);
      c.window[d] = square ? window : random.between(1, 5);
      c.stride[d] = square ? stride : random.between(1, 3);
      c.dilation[d] = square ? dilation : random.pick({1, 1, 2});
      c.low[d] = unpadded ? 0 : random.between(0, c.window[d]);
      c.high[d] = unpadded ? 0 : random.between(0, c.window[d]);
      if (square && !unpadded && random.oneIn(2))
        c.low[d] = c.high[d] = window / 2;
      int64_t room = c.in[d] + c.low[d] + c.high[d] -
                     (c.dilation[d] * (c.window[d] - 1) + 1);
      fits &= room >= 0;
      c.out[d] = room / c.stride[d] + 1;
    }
    if (fits && c.work() <= 400000)
      return c;
  }
}

void describeConv(Problem *problem, const Conv &c, Random &random,
                  DataType type) {
  int skip = 3 - c.numSpatial;
  Dims input = {c.images, c.groups * c.inputs};
  Dims output = {c.images, c.groups * c.outputs};
  Dims filter = {c.outputs, c.inputs};
  if (c.groups > 1)
    filter.insert(filter.begin(), c.groups);
  size_t lead = filter.size();
  Spec &spec = problem->spec;
  spec.set_groups(c.groups);
  std::string more;
  for (int d = skip; d < 3; ++d) {
    input.push_back(c.in[d]);
    output.push_back(c.out[d]);
    filter.push_back(c.window[d]);
    spec.add_strides(c.stride[d]);
    spec.add_pad_low(c.low[d]);
    spec.add_pad_high(c.high[d]);
    spec.add_dilations(c.dilation[d]);
    for (int64_t value : {c.stride[d], c.low[d], c.high[d], c.dilation[d]})
      more += (value == c.stride[d] && more.empty() ? "" : " ") +
              std::to_string(value);
    more += ",";
  }
  // Channels last, or dims in order; filters of ONNX or of TensorFlow.
  Dims last = {0}, plain = {0, 1}, spatialFirst, inOrder;
  for (int d = 2; d < int(input.size()); ++d) {
    last.push_back(d);
    plain.push_back(d);
  }
  last.push_back(1);
  for (size_t d = lead; d < filter.size(); ++d)
    spatialFirst.push_back(int64_t(d));
  spatialFirst.push_back(int64_t(lead) - 1);
  for (size_t d = 0; d + 1 < lead; ++d)
    spatialFirst.push_back(int64_t(d));
  for (size_t d = 0; d < filter.size(); ++d)
    inOrder.push_back(int64_t(d));
  const Dims &order = random.oneIn(4) ? plain : last;
  int filterLayout = int(random.between(0, 3)); // 2 and 3: packed
  const Dims &filterOrder = filterLayout == 1 ? spatialFirst : inOrder;

  int filterPlace = spec.kind() == Spec::CONV_FILTER_GRAD ? 2 : 1;
  std::vector<Dims> sizes = {input, filter, output};
  if (spec.kind() == Spec::CONV_INPUT_GRAD)
    sizes = {output, filter, input};
  else if (spec.kind() == Spec::CONV_FILTER_GRAD)
    sizes = {input, output, filter};
  if (spec.kind() == Spec::CONV && random.oneIn(2))
    spec.set_bias(true);
  if (spec.kind() == Spec::CONV && random.oneIn(3))
    spec.set_relu(true);
  for (int i = 0; i < 3; ++i) {
    if (i == 2 && spec.bias()) {
      addMemory(&spec, {output[1]}, type, {1});
      problem->strides.push_back({1});
    }
    Dims strides = stridesIn(i == filterPlace ? filterOrder : order, sizes[i]);
    problem->strides.push_back(strides);
    bool packed = i == filterPlace && filterLayout >= 2;
    addMemory(&spec, sizes[i], type, packed ? Dims() : strides);
  }
  problem->what += " input " + text(input) + " filter " + text(filter) +
                   " output " + text(output) +
                   " (stride, pads, dilation: " + more + ")" +
                   (order == last ? " channels last" : "") + ", filter " +
                   (filterLayout >= 2   ? "packed"
                    : filterLayout == 1 ? "spatial first"
                                        : "in order");
}

void solveConv(Problem *problem, const Conv &c, Random &random, DataType type,
               Numbers numbers) {
  const Spec &spec = problem->spec;
  auto dimsOf = [&](int i) {
    return Dims(spec.memories(i).dims().begin(), spec.memories(i).dims().end());
  };
  int last = spec.memories_size() - 1;
  for (int i = 0; i < last; ++i) {
    problem->inputs.emplace_back(dimsOf(i), type);
    fill(&problem->inputs.back(), i, random, numbers);
  }
  const std::vector<double> &a = problem->inputs[0].numbers;
  const std::vector<double> &b = problem->inputs[1].numbers;
  Values result(dimsOf(last), type);
  std::vector<Sum> sums(result.numbers.size());
  c.each([&](int64_t input, int64_t filter, int64_t output) {
    if (spec.kind() == Spec::CONV)
      sums[output].add(a[input], b[filter]);
    else if (spec.kind() == Spec::CONV_INPUT_GRAD)
      sums[input].add(a[output], b[filter]);
    else
      sums[filter].add(a[input], b[output]);
  });
  finish(problem, result.dims, type, sums,
         spec.bias() ? &problem->inputs[2].numbers : nullptr,
         c.out[0] * c.out[1] * c.out[2], numbers);
}

} // namespace

std::function<void()> makeConvolution(Problem *problem, Random &random,
                                      DataType type, Numbers numbers) {
  Conv conv = randomConv(random);
  describeConv(problem, conv, random, type);
  return [=, &random] { solveConv(problem, conv, random, type, numbers); };
}

} // namespace dist::sweep
