//===- kernel_vs_evaluator_nn_test.cpp - Convolutions, pools, norms -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 takes the library where it has the op, f64 and, on most machines, bf16
// the generated fallback.
//
//===----------------------------------------------------------------------===//
#include "kernel_cases.h"
#include <gtest/gtest.h>

using namespace mlir::dist;

namespace {
using Ints = std::vector<int>;

/// What a window does along each spatial dim.
struct Window {
  Ints sizes, strides, dilations, low, high;

  int result(size_t d, int size) const {
    int reach = (sizes[d] - 1) * dilations[d] + 1;
    return (size + low[d] + high[d] - reach) / strides[d] + 1;
  }
};
} // namespace

static std::string join(const Ints &values, const char *between) {
  std::string text;
  for (int value : values)
    text += (text.empty() ? "" : between) + std::to_string(value);
  return text;
}
static std::string array(const std::string &name, const Ints &values) {
  return name + " = array<i64: " + join(values, ", ") + ">";
}
static std::string tensorOf(const Ints &shape, const std::string &type) {
  return tensor(join(shape, "x"), type);
}

/// Sizes by letter, in the order of a layout: N, C (or O, I) and spatial dims.
static Ints inOrder(const std::string &layout, int first, int second,
                    const Ints &spatial) {
  Ints shape;
  for (char letter : layout)
    shape.push_back(letter == 'N' || letter == 'O'   ? first
                    : letter == 'C' || letter == 'I' ? second
                                                     : spatial[letter - '0']);
  return shape;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

namespace {
struct Layouts {
  std::string input, filter, output;
};
} // namespace

static void addConv(KernelCases &cases, const std::string &type,
                    const Layouts &layouts, const Window &window,
                    const Ints &size, int groups, int channels, int filters) {
  Ints result;
  for (size_t d = 0; d < size.size(); ++d)
    result.push_back(window.result(d, size[d]));
  std::string x = tensorOf(inOrder(layouts.input, 2, channels, size), type);
  std::string w = tensorOf(
      inOrder(layouts.filter, filters, channels / groups, window.sizes), type);
  std::string y = tensorOf(inOrder(layouts.output, 2, filters, result), type);
  std::string attributes =
      " {" + array("strides", window.strides) + ", " +
      array("pad_low", window.low) + ", " + array("pad_high", window.high) +
      ", " + array("dilations", window.dilations) +
      ", groups = " + std::to_string(groups) + " : i64, input_layout = \"" +
      layouts.input + "\", filter_layout = \"" + layouts.filter +
      "\", output_layout = \"" + layouts.output + "\"} : (";
  double tolerance = 16 * toleranceOf(type);
  auto add = [&](const std::string &op, const std::string &a,
                 const std::string &b, const std::string &r) {
    cases.add(op + "_" + layouts.input + "_" + layouts.filter + "_" + type,
              "%a: " + a + ", %b: " + b, r,
              "%0 = graph." + op + " %a, %b" + attributes + a + ", " + b +
                  ") -> " + r + "\nreturn %0 : " + r,
              tolerance);
  };
  add("conv", x, w, y);
  add("conv_input_grad", y, w, x);
  add("conv_filter_grad", x, y, w);
}

TEST(KernelVsEvaluator, Convolutions) {
  KernelCases cases;
  Window plain = {{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  Window strided = {{3, 2}, {2, 1}, {1, 1}, {1, 0}, {1, 2}};
  Window dilated = {{2, 3}, {1, 2}, {2, 1}, {0, 2}, {1, 1}};
  Layouts first = {"NC01", "OI01", "NC01"}, last = {"N01C", "OI01", "N01C"},
          mixed = {"N01C", "01IO", "NC01"};
  for (std::string type : {"f32", "f64", "bf16"}) {
    for (const Layouts &layouts : {first, last, mixed})
      for (const Window &window : {plain, strided, dilated}) {
        addConv(cases, type, layouts, window, {6, 7}, 1, 4, 6);
        // Other types have one path; that of groups is the same for all.
        if (type == "f32" || layouts.input == layouts.output)
          addConv(cases, type, layouts, window, {6, 7}, 2, 4, 6);
      }
    // A filter a channel.
    addConv(cases, type, last, strided, {6, 7}, 4, 4, 4);
    addConv(cases, type, first, plain, {6, 7}, 4, 4, 8);
    // One and three spatial dims.
    addConv(cases, type, {"NC0", "OI0", "NC0"}, {{3}, {2}, {1}, {1}, {0}}, {9},
            1, 3, 4);
    addConv(cases, type, {"N012C", "OI012", "N012C"},
            {{2, 2, 2}, {1, 2, 1}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0}}, {3, 4, 3},
            1, 2, 3);
  }
  cases.check();
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

static void addPools(KernelCases &cases, const std::string &type,
                     const Ints &shape, const Window &window) {
  Ints result;
  for (size_t d = 0; d < shape.size(); ++d)
    result.push_back(window.result(d, shape[d]));
  std::string x = tensorOf(shape, type), y = tensorOf(result, type),
              at = tensorOf(result, "i32");
  std::string attributes =
      array("window", window.sizes) + ", " + array("strides", window.strides) +
      ", " + array("dilations", window.dilations) + ", " +
      array("pad_low", window.low) + ", " + array("pad_high", window.high);
  double tolerance = 8 * toleranceOf(type);
  cases.add("max_pool_" + type, "%x: " + x + ", %g: " + y,
            "(" + y + ", " + at + ", " + x + ")",
            "%y, %i = graph.max_pool %x {" + attributes + "} : (" + x +
                ") -> (" + y + ", " + at +
                ")\n%dx = graph.max_pool_grad %g, "
                "%i {" +
                attributes + "} : (" + y + ", " + at + ") -> " + x +
                "\nreturn %y, %i, %dx : " + y + ", " + at + ", " + x,
            tolerance);
  for (std::string counts : {"true", "false"})
    cases.add("avg_pool_" + counts + "_" + type, "%x: " + x + ", %g: " + y,
              "(" + y + ", " + x + ")",
              "%y = graph.avg_pool %x {" + attributes +
                  ", count_include_pad = " + counts + "} : (" + x + ") -> " +
                  y + "\n%dx = graph.avg_pool_grad %g {" + attributes +
                  ", count_include_pad = " + counts + "} : (" + y + ") -> " +
                  x + "\nreturn %y, %dx : " + y + ", " + x,
              tolerance);
}

TEST(KernelVsEvaluator, Pools) {
  KernelCases cases;
  for (std::string type : {"f32", "f64", "bf16"}) {
    // Channels last, channels first; overlapping, with gaps, padded, dilated.
    addPools(
        cases, type, {2, 6, 6, 3},
        {{1, 2, 2, 1}, {1, 2, 2, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}});
    addPools(
        cases, type, {2, 6, 7, 3},
        {{1, 3, 2, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, {0, 1, 0, 0}, {0, 1, 1, 0}});
    addPools(
        cases, type, {2, 3, 7, 6},
        {{1, 1, 2, 3}, {1, 1, 3, 1}, {1, 1, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 2}});
    addPools(cases, type, {2, 3, 8},
             {{1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}});
    addPools(cases, type, {1, 3, 4, 3, 2},
             {{1, 2, 2, 2, 1},
              {1, 1, 2, 1, 1},
              {1, 1, 1, 1, 1},
              {0, 0, 0, 0, 0},
              {0, 1, 0, 0, 0}});
  }
  cases.check();
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

TEST(KernelVsEvaluator, GathersAndScatters) {
  KernelCases cases;
  // Indices are 1 to 7: the dims that they go along have 8.
  for (std::string type : {"f32", "f64", "bf16", "i64", "ui8"})
    for (std::string index : {"i64", "i32"}) {
      auto one = [&](const std::string &op, const std::string &a,
                     const std::string &i, const std::string &r,
                     const std::string &attribute) {
        std::string x = tensor(a, type), at = tensor(i, index),
                    y = tensor(r, type);
        cases.add(op + "_" + type, "%x: " + x + ", %i: " + at, y,
                  "%0 = graph." + op + " %x, %i {" + attribute + "} : (" + x +
                      ", " + at + ") -> " + y + "\nreturn %0 : " + y,
                  0);
      };
      one("gather", "8x5", "3x2", "3x2x5", "axis = 0 : i64");
      one("gather", "3x8x5", "4", "3x4x5", "axis = 1 : i64");
      one("gather_elements", "4x8", "4x6", "4x6", "axis = 1 : i64");
      one("gather_nd", "2x8x8x3", "2x5x2", "2x5x3", "batch_dims = 1 : i64");
      auto two = [&](const std::string &op, const std::string &kind,
                     const std::string &a, const std::string &i,
                     const std::string &u, const std::string &attribute) {
        std::string x = tensor(a, type), at = tensor(i, index),
                    y = tensor(u, type);
        cases.add(
            op + "_" + (kind.empty() ? "" : kind.substr(1, 3) + "_") + type,
            "%x: " + x + ", %i: " + at + ", %u: " + y, x,
            "%0 = graph." + op + kind + " %x, %i, %u {" + attribute + "} : (" +
                x + ", " + at + ", " + y + ") -> " + x + "\nreturn %0 : " + x,
            16 * toleranceOf(type));
      };
      two("scatter_add", "", "8x5", "6", "6x5", "axis = 0 : i64");
      two("scatter_add", "", "3x8", "2x2", "3x2x2", "axis = 1 : i64");
      // Three rows of 9 from 1 to 7 on (only the first number counts): some
      // indices are of others. Negative ones count from the end of all 9.
      for (std::string ids : {"%i", "%m"}) {
        std::string x = tensor("3x5", type), at = tensor("4x2", index),
                    y = tensor("4x2x5", type), numbers = tensor("3", "i32");
        std::string name = (ids == "%i" ? "" : "negative_") + type;
        std::string negative = "%m = graph.neg %i : " + at + "\n";
        std::string end = ", %n {num_rows = 9 : i64} : (" + x + ", " + at;
        cases.add("gather_rows_" + name,
                  "%x: " + x + ", %i: " + at + ", %n: " + numbers, y,
                  negative + "%0 = graph.gather_rows %x, " + ids + end + ", " +
                      numbers + ") -> " + y + "\nreturn %0 : " + y,
                  0);
        cases.add(
            "scatter_add_rows_" + name,
            "%x: " + x + ", %i: " + at + ", %u: " + y + ", %n: " + numbers, x,
            negative + "%0 = graph.scatter_add_rows %x, " + ids + ", %u" + end +
                ", " + y + ", " + numbers + ") -> " + x + "\nreturn %0 : " + x,
            16 * toleranceOf(type));
      }
      for (std::string kind : {" set,", " add,", " mul,", " max,", " min,"}) {
        if (index == "i32" && kind != " add,")
          continue; // as for i64
        two("scatter_elements", kind, "4x8", "4x6", "4x6", "axis = 1 : i64");
        two("scatter_nd", kind, "8x8x3", "5x2", "5x3", "batch_dims = 0 : i64");
      }
    }
  cases.check();
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

TEST(KernelVsEvaluator, SoftmaxAndNorms) {
  KernelCases cases;
  for (std::string type : {"f32", "f64", "bf16"}) {
    double tolerance = 8 * toleranceOf(type);
    std::string x = tensor("6x10x4", type);
    for (std::string op : {"softmax", "log_softmax"})
      for (std::string axis : {"0", "1", "2"})
        cases.add(op + "_" + axis + "_" + type, "%x: " + x, x,
                  "%0 = graph." + op + " %x {axis = " + axis +
                      " : i64} : " + x + "\nreturn %0 : " + x,
                  tolerance);
    // Losses, statistics and parameters are f32 or wider.
    std::string wide = type == "f64" ? "f64" : "f32";
    std::string logits = tensor("6x10", type), loss = tensor("6", wide);
    cases.add("cross_entropy_" + type, "%x: " + logits + ", %l: tensor<6xi64>",
              loss,
              "%0 = graph.cross_entropy %x, %l : (" + logits +
                  ", tensor<6xi64>) -> " + loss + "\nreturn %0 : " + loss,
              tolerance);
    std::string rows = tensor("6", wide), scale = tensor("10x4", wide);
    cases.add("layer_norm_" + type,
              "%x: " + x + ", %s: " + scale + ", %b: " + scale,
              "(" + x + ", " + rows + ", " + rows + ")",
              "%0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = "
              "1.0e-5 : f64} : (" +
                  x + ", " + scale + ", " + scale + ") -> (" + x + ", " + rows +
                  ", " + rows + ")\nreturn %0#0, %0#1, %0#2 : " + x + ", " +
                  rows + ", " + rows,
              tolerance);
    std::string channel = tensor("4", wide);
    for (std::string groups : {"1", "2"}) {
      std::string statistics = tensor(groups + "x4", wide),
                  counts = tensor(groups, wide);
      for (bool masked : {false, true}) {
        std::string mask = masked ? ", mask %m" : "",
                    maskType = masked ? ", tensor<6xi1>" : "";
        cases.add(
            "batch_norm_" + groups + (masked ? "_masked_" : "_") + type,
            "%x: " + x + ", %s: " + channel + ", %b: " + channel +
                ", %m: tensor<6xi1>",
            "(" + x + ", " + statistics + ", " + statistics + ")",
            "%0:4 = graph.batch_norm %x, %s, %b" + mask +
                " {axis = 2 : i64, epsilon = 1.0e-3 : f64, groups = " + groups +
                " : i64} : (" + x + ", " + channel + ", " + channel + maskType +
                ") -> (" + x + ", " + statistics + ", " + statistics + ", " +
                counts + ")\nreturn %0#0, %0#1, %0#2 : " + x + ", " +
                statistics + ", " + statistics,
            tolerance);
      }
    }
    cases.add("batch_norm_inference_" + type,
              "%x: " + x + ", %s: " + channel + ", %b: " + channel +
                  ", %m: " + channel + ", %v: " + channel,
              x,
              "%0 = graph.batch_norm_inference %x, %s, %b, %m, %v {axis = 2 : "
              "i64, epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (" +
                  x + ", " + channel + ", " + channel + ", " + channel + ", " +
                  channel + ") -> " + x + "\nreturn %0 : " + x,
              tolerance);
  }
  cases.check();
}

// Rows that begin a multiple of 2^32 - 1 from 0: within them, positions pass
// from one 2^32 to the next.
TEST(KernelVsEvaluator, RandomNumbersBeyond32Bits) {
  KernelCases cases;
  cases.add("random_far", "%s: tensor<i64>, %i: tensor<16xi64>",
            "tensor<16x3xf32>",
            "%c = graph.constant dense<1431655765> : tensor<16xi64>\n"
            "%r = graph.mul %i, %c : tensor<16xi64>\n"
            "%0 = graph.random_uniform %s rows %r {seed = 7 : i64, dim = 0 : "
            "i64} : (tensor<i64>, tensor<16xi64>) -> tensor<16x3xf32>\n"
            "return %0 : tensor<16x3xf32>",
            0);
  cases.check();
}
