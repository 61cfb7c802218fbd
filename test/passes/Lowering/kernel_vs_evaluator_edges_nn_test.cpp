//===- kernel_vs_evaluator_edges_nn_test.cpp - Edges in layers ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As kernel_vs_evaluator_edges_test.cpp: ops that move elements (exact: no bit
// of an edge is lost), and composites of neural networks.
//
//===----------------------------------------------------------------------===//
#include "kernel_cases.h"
#include <gtest/gtest.h>

using namespace mlir::dist;

namespace {

const std::vector<std::string> floats = {"f64", "f32", "f16", "bf16"};

/// A function of `arguments` by one op, whose types are given behind it.
void addOp(KernelCases &cases, const std::string &name,
           const std::string &arguments, const std::string &op,
           const std::string &from, const std::string &to, double tolerance) {
  cases.add(name, arguments, to,
            "%0 = graph." + op + " : (" + from + ") -> " + to +
                "\nreturn %0 : " + to,
            tolerance);
}

} // namespace

TEST(Edges, MovedElements) {
  KernelCases cases;
  for (const std::string &type : floats) {
    std::string t = tensor("9x13", type), s = tensor("", type);
    // What is padded with is an edge, too; with gaps, and cut off.
    addOp(cases, "pad_" + type, "%v: " + s + ", %x: " + t,
          "pad %x, %v {low = array<i64: 2, -1>, high = array<i64: 0, 3>, "
          "interior = array<i64: 0, 1>}",
          t + ", " + s, tensor("11x27", type), 0);
    addOp(cases, "concat_" + type, "%x: " + t + ", %y: " + t,
          "concat %x, %y, %x {axis = 1 : i64}", t + ", " + t + ", " + t,
          tensor("9x39", type), 0);
    for (std::string dims : {"0", "1", "0, 1"})
      cases.add("reverse_" + type, "%x: " + t, t,
                "%0 = graph.reverse %x {dims = array<i64: " + dims +
                    ">} : " + t + "\nreturn %0 : " + t,
                0);
    addOp(cases, "slice_" + type, "%x: " + t,
          "slice %x {starts = array<i64: 1, 2>, limits = array<i64: 9, 13>, "
          "strides = array<i64: 3, 2>}",
          t, tensor("3x6", type), 0);
    addOp(cases, "transpose_" + type, "%x: " + t,
          "transpose %x {permutation = array<i64: 1, 0>}", t,
          tensor("13x9", type), 0);
  }
  cases.check({}, Numbers::Edges);
}

TEST(Edges, CumulativeSums) {
  KernelCases cases;
  for (const std::string &type : floats) {
    std::string t = tensor("40x50", type);
    for (std::string axis : {"0", "1"})
      for (std::string exclusive : {"false", "true"})
        for (std::string reverse : {"false", "true"})
          cases.add("cumsum_" + type, "%x: " + t, t,
                    "%0 = graph.cumsum %x {axis = " + axis +
                        " : i64, exclusive = " + exclusive + ", reverse = " +
                        reverse + "} : " + t + "\nreturn %0 : " + t,
                    32 * toleranceOf(type));
  }
  cases.check({}, Numbers::FewEdges);
}

// Large enough for several threads where rows allow it. Indices are 1 to 7.
TEST(Edges, GathersAndScatters) {
  KernelCases cases;
  for (const std::string &type : floats) {
    auto gather = [&](const std::string &op, const std::string &from,
                      const std::string &indices, const std::string &to,
                      const std::string &attributes) {
      std::string x = tensor(from, type), at = tensor(indices, "i64");
      addOp(cases, op + "_" + type, "%x: " + x + ", %i: " + at,
            op + " %x, %i {" + attributes + "}", x + ", " + at,
            tensor(to, type), 0);
    };
    gather("gather", "8x50", "6", "6x50", "axis = 0 : i64");
    gather("gather_elements", "40x8", "40x6", "40x6", "axis = 1 : i64");
    gather("gather_nd", "8x8x9", "5x2", "5x9", "batch_dims = 0 : i64");
    auto scatter = [&](const std::string &op, const std::string &to,
                       const std::string &indices, const std::string &from,
                       const std::string &attributes, double tolerance) {
      std::string x = tensor(to, type), at = tensor(indices, "i64"),
                  u = tensor(from, type);
      // The edges are in what is scattered, and then in what it meets.
      for (const std::string &arguments :
           {"%u: " + u + ", %i: " + at + ", %x: " + x,
            "%x: " + x + ", %i: " + at + ", %u: " + u})
        addOp(cases, op.substr(0, op.find(' ')) + "_" + type, arguments,
              op + " %x, %i, %u {" + attributes + "}", x + ", " + at + ", " + u,
              x, tolerance);
    };
    for (std::string kind : {"set", "add", "mul", "max", "min"}) {
      double tolerance =
          kind == "add" || kind == "mul" ? 16 * toleranceOf(type) : 0;
      scatter("scatter_elements " + kind + ",", "400x64", "390x6", "390x6",
              "axis = 1 : i64", tolerance);
      scatter("scatter_elements " + kind + ",", "8x50", "6x50", "6x50",
              "axis = 0 : i64", tolerance);
      scatter("scatter_nd " + kind + ",", "200x8x30", "200x5x1", "200x5x30",
              "batch_dims = 1 : i64", tolerance);
    }
    scatter("scatter_add", "8x50", "6", "6x50", "axis = 0 : i64",
            16 * toleranceOf(type));
    scatter("scatter_add", "300x8x20", "5", "300x5x20", "axis = 1 : i64",
            16 * toleranceOf(type));
  }
  cases.check({}, Numbers::FewEdges);
}

TEST(Edges, PoolGradients) {
  KernelCases cases;
  for (const std::string &type : floats) {
    std::string x = tensor("2x9x8x5", type), y = tensor("2x5x4x5", type),
                at = tensor("2x5x4x5", "i32");
    std::string window =
        "window = array<i64: 1, 3, 2, 1>, strides = array<i64: 1, 2, 2, 1>, "
        "dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 1, 0, 0>, "
        "pad_high = array<i64: 0, 1, 0, 0>";
    for (const std::string &arguments :
         {"%g: " + y + ", %x: " + x, "%x: " + x + ", %g: " + y})
      cases.add("max_pool_grad_" + type, arguments, x,
                "%y, %i = graph.max_pool %x {" + window + "} : (" + x +
                    ") -> (" + y + ", " + at +
                    ")\n%0 = graph.max_pool_grad %g, %i {" + window + "} : (" +
                    y + ", " + at + ") -> " + x + "\nreturn %0 : " + x,
                8 * toleranceOf(type));
    for (std::string counts : {"true", "false"}) {
      std::string all = "{" + window + ", count_include_pad = " + counts + "}";
      addOp(cases, "avg_pool_" + type, "%x: " + x, "avg_pool %x " + all, x, y,
            8 * toleranceOf(type));
      addOp(cases, "avg_pool_grad_" + type, "%g: " + y,
            "avg_pool_grad %g " + all, y, x, 8 * toleranceOf(type));
    }
  }
  cases.check({}, Numbers::FewEdges);
}

TEST(Edges, NormsAndDropout) {
  KernelCases cases;
  for (std::string type : {"f64", "f32", "bf16"}) {
    std::string x = tensor("48x10x4", type),
                wide = type == "f64" ? "f64" : "f32", rows = tensor("48", wide),
                scale = tensor("10x4", wide), channel = tensor("4", wide),
                statistics = tensor("1x4", wide), counts = tensor("1", wide);
    double tolerance = 32 * toleranceOf(type);
    cases.add("layer_norm_" + type,
              "%x: " + x + ", %s: " + scale + ", %b: " + scale,
              "(" + x + ", " + rows + ", " + rows + ")",
              "%0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = "
              "1.0e-5 : f64} : (" +
                  x + ", " + scale + ", " + scale + ") -> (" + x + ", " + rows +
                  ", " + rows + ")\nreturn %0#0, %0#1, %0#2 : " + x + ", " +
                  rows + ", " + rows,
              tolerance);
    cases.add("batch_norm_" + type,
              "%x: " + x + ", %s: " + channel + ", %b: " + channel,
              "(" + x + ", " + statistics + ", " + statistics + ")",
              "%0:4 = graph.batch_norm %x, %s, %b {axis = 2 : i64, epsilon = "
              "1.0e-3 : f64, groups = 1 : i64} : (" +
                  x + ", " + channel + ", " + channel + ") -> (" + x + ", " +
                  statistics + ", " + statistics + ", " + counts +
                  ")\nreturn %0#0, %0#1, %0#2 : " + x + ", " + statistics +
                  ", " + statistics,
              tolerance);
    cases.add("batch_norm_inference_" + type,
              "%x: " + x + ", %s: " + channel + ", %b: " + channel +
                  ", %m: " + channel,
              x,
              "%v = graph.mul %m, %m : " + channel +
                  "\n%0 = graph.batch_norm_inference %x, %s, %b, %m, %v {axis "
                  "= 2 : i64, epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : "
                  "(" +
                  x + ", " + channel + ", " + channel + ", " + channel + ", " +
                  channel + ") -> " + x + "\nreturn %0 : " + x,
              tolerance);
    // What is dropped is 0, whatever it was; as the generator's bits are.
    cases.add("dropout_" + type, "%x: " + x + ", %s: tensor<i64>", x,
              "%i = graph.iota {dim = 0 : i64} : tensor<48xi64>\n"
              "%r = graph.random_uniform %s rows %i {seed = 7 : i64, dim = 0 : "
              "i64} : (tensor<i64>, tensor<48xi64>) -> tensor<48x10x4xf32>\n"
              "%h = graph.constant dense<0.5> : tensor<48x10x4xf32>\n"
              "%p = graph.compare lt, %r, %h : (tensor<48x10x4xf32>, "
              "tensor<48x10x4xf32>) -> tensor<48x10x4xi1>\n"
              "%c = graph.constant dense<2.0> : " +
                  x + "\n%z = graph.constant dense<0.0> : " + x +
                  "\n%m = graph.mul %x, %c : " + x +
                  "\n%0 = graph.select %p, %m, %z : (tensor<48x10x4xi1>, " + x +
                  ", " + x + ") -> " + x + "\nreturn %0 : " + x,
              0);
  }
  cases.check({}, Numbers::FewEdges);
}

// NaN and infinities reach results beside those that depend on them, but none
// vanishes (GraphBase.td, "An exception that loses nothing").
TEST(Edges, Winograd) {
  LoweringOptions options;
  options.threads = 2;
  options.convolution = "winograd";
  KernelCases cases;
  std::string x = tensor("2x18x18x16", "f32"), w = tensor("16x16x3x3", "f32");
  std::string attributes =
      " {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = "
      "array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, "
      "input_layout = \"N01C\", filter_layout = \"OI01\", output_layout = "
      "\"N01C\"}";
  for (std::string op : {"conv", "conv_input_grad"}) {
    addOp(cases, op, "%x: " + x + ", %w: " + w, op + " %x, %w" + attributes,
          x + ", " + w, x, 1e-4);
    addOp(cases, op + "_filter", "%w: " + w + ", %x: " + x,
          op + " %x, %w" + attributes, x + ", " + w, x, 1e-4);
  }
  addOp(cases, "conv_filter_grad", "%x: " + x + ", %g: " + x,
        "conv_filter_grad %x, %g" + attributes, x + ", " + x, w, 1e-3);
  cases.check(options, Numbers::FewEdges, /*spreads=*/true);
}
