//===- winograd_test.cpp - Winograd convolutions: right, and how exact ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel_cases.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir::dist;

namespace {
struct Convolution {
  int images, height, width, inputs, outputs;
  int padLow = 1, padHigh = 1;
  std::string filterLayout = "OI01";
  bool epilogue = false;
  std::string type = "f32";
};
} // namespace

static LoweringOptions with(const std::string &convolution, int vectorBits,
                            int threads = 1) {
  LoweringOptions options;
  options.threads = threads;
  options.convolution = convolution;
  options.vectorBits = vectorBits;
  return options;
}

/// The convolution and its gradients.
static void add(KernelCases &cases, const Convolution &c) {
  auto shape = [&](std::initializer_list<int> sizes) {
    std::string text;
    for (int size : sizes)
      text += (text.empty() ? "" : "x") + std::to_string(size);
    return tensor(text, c.type);
  };
  int pads = c.padLow + c.padHigh - 2;
  std::string x = shape({c.images, c.height, c.width, c.inputs});
  std::string y = shape({c.images, c.height + pads, c.width + pads, c.outputs});
  std::string w = c.filterLayout == "OI01" ? shape({c.outputs, c.inputs, 3, 3})
                                           : shape({3, 3, c.inputs, c.outputs});
  std::string b = shape({c.outputs});
  auto pair = [](int value) {
    return "array<i64: " + std::to_string(value) + ", " +
           std::to_string(value) + ">";
  };
  std::string attributes =
      " {strides = " + pair(1) + ", pad_low = " + pair(c.padLow) +
      ", pad_high = " + pair(c.padHigh) + ", dilations = " + pair(1) +
      ", groups = 1 : i64, input_layout = \"N01C\", filter_layout = \"" +
      c.filterLayout + "\", output_layout = \"N01C\"} : (";
  // Sums of 9 times the channels, of which each has some rounding errors.
  double tolerance = std::max(64e-6, toleranceOf(c.type));
  std::string name =
      "pad" + std::to_string(c.padLow) + "_" + c.filterLayout + "_" + c.type;
  if (c.epilogue)
    cases.add("epilogue_" + name, "%x: " + x + ", %w: " + w + ", %b: " + b, y,
              "%0 = graph.conv %x, %w" + attributes + x + ", " + w + ") -> " +
                  y + "\n%1 = graph.broadcast %b {dims = array<i64: 3>} : (" +
                  b + ") -> " + y + "\n%2 = graph.add %0, %1 : " + y +
                  "\n%3 = graph.relu %2 : " + y + "\nreturn %3 : " + y,
              tolerance);
  else
    cases.add("conv_" + name, "%x: " + x + ", %w: " + w, y,
              "%0 = graph.conv %x, %w" + attributes + x + ", " + w + ") -> " +
                  y + "\nreturn %0 : " + y,
              tolerance);
  cases.add("conv_input_grad_" + name, "%g: " + y + ", %w: " + w, x,
            "%0 = graph.conv_input_grad %g, %w" + attributes + y + ", " + w +
                ") -> " + x + "\nreturn %0 : " + x,
            tolerance);
  cases.add("conv_filter_grad_" + name, "%x: " + x + ", %g: " + y, w,
            "%0 = graph.conv_filter_grad %x, %g" + attributes + x + ", " + y +
                ") -> " + w + "\nreturn %0 : " + w,
            tolerance);
}

/// Whole tiles and parts of them, one image and several, all pads, both layouts
/// of filters, for all sizes of vectors; several blocks of channels and tiles.
/// Two threads make a filter's factors panel by panel; 8 write them once, as
/// each would make all of them for few tiles.
TEST(Winograd, EqualsTheReference) {
  for (int bits : {512, 256, 128}) {
    KernelCases cases;
    // As few as fill the registers, and as many as make two blocks.
    int few = bits / 32, many = bits == 256 ? 16 : bits / 8;
    add(cases, {2, 8, 12, few, many});
    add(cases, {1, 7, 5, few, 2 * many, 1, 1, "01IO"});
    add(cases, {3, 9, 6, 2 * few, few, 0, 0});
    add(cases, {1, 4, 4, many, many, 2, 2, "01IO"});
    add(cases, {2, 6, 7, few, 2 * few, 0, 2});
    add(cases, {2, 5, 3, few, many, 1, 1, "OI01", true});
    // More tiles than a block has.
    add(cases, {5, 18, 18, few, few, 1, 1, "OI01", true});
    cases.check(with("winograd", bits));
    cases.check(with("winograd", bits, 8));
  }
}

/// Images and filters of narrow floats, in both layouts of filters: the results
/// are the reference's but for their own rounding.
TEST(Winograd, NarrowEqualsTheReference) {
  for (int bits : {512, 256, 128}) {
    KernelCases cases;
    int few = bits / 32, many = bits == 256 ? 16 : bits / 8;
    for (std::string type : {"bf16", "f16"}) {
      add(cases, {2, 7, 9, few, many, 1, 1, "OI01", false, type});
      add(cases, {1, 6, 8, 2 * few, many, 0, 2, "01IO", false, type});
      add(cases, {1, 5, 4, few, few, 1, 1, "OI01", true, type});
    }
    cases.check(with("winograd", bits));
    if (bits == 512)
      cases.check(with("winograd", bits, 8));
  }
}

/// In bf16 what Winograd's rounding changes is small beside the result's own
/// (half of 2^-8 at most, 1.1e-3 in the norm): some results, which lie between
/// two numbers, become the other one.
TEST(Winograd, NarrowAccuracy) {
  KernelCases cases;
  Convolution convolution{1, 8, 8, 64, 64};
  convolution.type = "bf16";
  add(cases, convolution);
  std::vector<double> winograd = cases.measure(with("winograd", 0));
  ASSERT_EQ(winograd.size(), 3u);
  for (double difference : winograd) {
    printf("relative difference in bf16: %.2e\n", difference);
    EXPECT_LT(difference, 1.1e-3 / 4);
    EXPECT_GT(difference, 0);
  }
}

/// The bounds that are promised of F(4x4, 3x3) in f32, for values of both
/// signs: at most 16 times the rounding of direct sums, and of the result's
/// norm at most 3e-7 times the root of the channels that are summed (measured:
/// 4 to 5 times in results and gradients of inputs, 11 times in gradients of
/// filters, whose direct sums are better; 2.4e-7).
TEST(Winograd, Accuracy) {
  KernelCases cases;
  std::vector<int> channels = {64, 64, 64, 128, 64, 64};
  for (int inputs : {64, 128})
    add(cases, {1, 4, 8, inputs, 64});
  std::vector<double> winograd = cases.measure(with("winograd", 0));
  std::vector<double> direct = cases.measure(with("direct", 0));
  ASSERT_EQ(winograd.size(), channels.size());
  ASSERT_EQ(direct.size(), channels.size());
  for (size_t i = 0; i < channels.size(); ++i) {
    printf("relative error: direct %.2e, winograd %.2e\n", direct[i],
           winograd[i]);
    EXPECT_LT(winograd[i], 3e-7 * std::sqrt(channels[i]));
    EXPECT_LT(winograd[i], 16 * direct[i]);
    // The two were really two kernels.
    EXPECT_NE(winograd[i], direct[i]);
  }
}
