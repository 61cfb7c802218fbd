//===- cost_test.cpp - What ops say they cost -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FLOPs and bytes of ops of each family, counted by hand. Data are f32 unless
// said otherwise.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;

namespace {

struct Row {
  const char *arguments;
  const char *op;
  double flops, bytesRead, bytesWritten;
};

constexpr char window[] =
    "window = array<i64: 1, 3, 2, 1>, strides = array<i64: 1, 1, 2, 1>, "
    "dilations = array<i64: 1, 1, 1, 1>, "
    "pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>";

OpCost costOf(MLIRContext &context, const Row &row) {
  std::string text = std::string("func.func @f(") + row.arguments + ") {\n" +
                     row.op + "\nreturn\n}";
  auto module = parseSourceString<ModuleOp>(text, &context);
  OpCost cost{-1, -1, -1};
  if (module)
    module->walk([&](CostOpInterface op) { cost = op.getCost(); });
  return cost;
}

void check(ArrayRef<Row> rows) {
  MLIRContext context;
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  for (const Row &row : rows) {
    OpCost cost = costOf(context, row);
    EXPECT_EQ(cost.flops, row.flops) << row.op;
    EXPECT_EQ(cost.bytesRead, row.bytesRead) << row.op;
    EXPECT_EQ(cost.bytesWritten, row.bytesWritten) << row.op;
  }
}

TEST(Cost, Elementwise) {
  check({
      {"%x: tensor<4x8xf32>, %y: tensor<4x8xf32>",
       "%0 = graph.add %x, %y : tensor<4x8xf32>", 32, 2 * 128, 128},
      {"%x: tensor<4x8xbf16>", "%0 = graph.exp %x : tensor<4x8xbf16>", 32, 64,
       64},
      // A boolean is a byte.
      {"%x: tensor<10xi64>, %y: tensor<10xi64>",
       "%0 = graph.compare lt, %x, %y : (tensor<10xi64>, tensor<10xi64>) -> "
       "tensor<10xi1>",
       10, 160, 10},
      {"%p: tensor<10xi1>, %x: tensor<10xf64>, %y: tensor<10xf64>",
       "%0 = graph.select %p, %x, %y : (tensor<10xi1>, tensor<10xf64>, "
       "tensor<10xf64>) -> tensor<10xf64>",
       10, 10 + 160, 80},
  });
}

TEST(Cost, Contractions) {
  check({
      {"%x: tensor<32x784xf32>, %w: tensor<784x10xf32>",
       "%0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = "
       "array<i64>, lhs_contract = array<i64: 1>, "
       "rhs_contract = array<i64: 0>} : (tensor<32x784xf32>, "
       "tensor<784x10xf32>) -> tensor<32x10xf32>",
       2.0 * 32 * 784 * 10, 4.0 * (32 * 784 + 784 * 10), 4.0 * 32 * 10},
      // Batch dims multiply once.
      {"%x: tensor<2x3x5xf32>, %y: tensor<2x7x5xf32>",
       "%0 = graph.dot_general %x, %y {lhs_batch = array<i64: 0>, rhs_batch = "
       "array<i64: 0>, lhs_contract = "
       "array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<2x3x5xf32>, "
       "tensor<2x7x5xf32>) -> tensor<2x3x7xf32>",
       2.0 * 2 * 3 * 7 * 5, 4.0 * (30 + 70), 4.0 * 42},
  });
}

TEST(Cost, Convolutions) {
  // Each of 2 x 6 x (4 x 5) results takes 2 channels (of 4, in 2 groups) x 9
  // taps; so do the gradients.
  std::string attributes =
      " {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = "
      "array<i64: 0, 0>, dilations = "
      "array<i64: 1, 1>, groups = 2 : i64, input_layout = \"N01C\", "
      "filter_layout = \"OI01\", output_layout = "
      "\"N01C\"} : ";
  std::string x = "tensor<2x6x7x4xf32>", w = "tensor<6x2x3x3xf32>",
              y = "tensor<2x4x5x6xf32>";
  double flops = 2.0 * 2 * 6 * 20 * 2 * 9, xs = 4 * 336, ws = 4 * 108,
         ys = 4 * 240;
  auto op = [&](const char *name, const std::string &a, const std::string &b,
                const std::string &r) {
    return std::string("%0 = graph.") + name + " %a, %b" + attributes + "(" +
           a + ", " + b + ") -> " + r;
  };
  auto arguments = [](const std::string &a, const std::string &b) {
    return "%a: " + a + ", %b: " + b;
  };
  std::string forward = op("conv", x, w, y),
              input = op("conv_input_grad", y, w, x),
              filter = op("conv_filter_grad", x, y, w);
  std::string xw = arguments(x, w), yw = arguments(y, w), xy = arguments(x, y);
  check({{xw.c_str(), forward.c_str(), flops, xs + ws, ys},
         {yw.c_str(), input.c_str(), flops, ys + ws, xs},
         {xy.c_str(), filter.c_str(), flops, xs + ys, ws}});
}

TEST(Cost, Pools) {
  // 2 x 4 x 3 x 3 results of 6 elements each.
  std::string max =
      std::string("%y, %i = graph.max_pool %x {") + window +
      "} : (tensor<2x6x6x3xf32>) -> (tensor<2x4x3x3xf32>, tensor<2x4x3x3xi32>)";
  std::string mean = std::string("%y = graph.avg_pool %x {") + window +
                     ", count_include_pad = false} : (tensor<2x6x6x3xf32>) -> "
                     "tensor<2x4x3x3xf32>";
  std::string grad = std::string("%y = graph.avg_pool_grad %x {") + window +
                     ", count_include_pad = false} : (tensor<2x4x3x3xf32>) -> "
                     "tensor<2x6x6x3xf32>";
  check({{"%x: tensor<2x6x6x3xf32>", max.c_str(), 72 * 6, 4 * 216, 8 * 72},
         {"%x: tensor<2x6x6x3xf32>", mean.c_str(), 72 * 6, 4 * 216, 4 * 72},
         {"%x: tensor<2x4x3x3xf32>", grad.c_str(), 72 * 6, 4 * 72, 4 * 216}});
}

TEST(Cost, Reductions) {
  check({
      {"%x: tensor<3x4x5xf32>",
       "%0 = graph.reduce sum, %x {dims = array<i64: 1>} : (tensor<3x4x5xf32>) "
       "-> tensor<3x5xf32>",
       60, 240, 60},
      {"%x: tensor<3x4xf32>",
       "%0 = graph.arg_max %x {axis = 1 : i64} : (tensor<3x4xf32>) -> "
       "tensor<3xi64>",
       12, 48, 24},
  });
}

TEST(Cost, IndicesReadWhatTheyChoose) {
  check({
      // 6 rows of 4 of a table of 1000, and their indices.
      {"%x: tensor<1000x4xf32>, %i: tensor<6xi64>",
       "%0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<1000x4xf32>, "
       "tensor<6xi64>) -> tensor<6x4xf32>",
       24, 96 + 48, 96},
      // The same in rows of which one number is read.
      {"%x: tensor<1000x4xf32>, %i: tensor<6xi64>, %n: tensor<1000xi32>",
       "%0 = graph.gather_rows %x, %i, %n {num_rows = 2000 : i64} : "
       "(tensor<1000x4xf32>, tensor<6xi64>, tensor<1000xi32>) -> "
       "tensor<6x4xf32>",
       24, 96 + 48, 96},
      {"%x: tensor<100x4xf32>",
       "%0 = graph.slice %x {starts = array<i64: 0, 0>, limits = array<i64: "
       "10, 4>, strides = array<i64: 1, 1>} : "
       "(tensor<100x4xf32>) -> tensor<10x4xf32>",
       40, 160, 160},
  });
}

TEST(Cost, Composites) {
  check({
      {"%x: tensor<6x10xf32>",
       "%0 = graph.softmax %x {axis = 1 : i64} : tensor<6x10xf32>", 300, 240,
       240},
      {"%x: tensor<6x10xf32>, %l: tensor<6xi64>",
       "%0 = graph.cross_entropy %x, %l : (tensor<6x10xf32>, tensor<6xi64>) -> "
       "tensor<6xf32>",
       300, 240 + 48, 24},
      {"%x: tensor<8x6xbf16>, %s: tensor<6xf32>, %b: tensor<6xf32>",
       "%0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : "
       "f64} : (tensor<8x6xbf16>, "
       "tensor<6xf32>, tensor<6xf32>) -> (tensor<8x6xbf16>, tensor<8xf32>, "
       "tensor<8xf32>)",
       8 * 48, 96 + 48, 96 + 64},
  });
}

} // namespace
