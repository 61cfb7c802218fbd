//===- kernel_vs_evaluator_test.cpp - Compiled kernels give what ops mean -===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element-wise ops and reductions of every element type, and what fuses.
//
//===----------------------------------------------------------------------===//
#include "kernel_cases.h"
#include <gtest/gtest.h>

using namespace mlir::dist;

static void addElementwise(KernelCases &cases) {
  for (std::string type : {"f64", "f32", "f16", "bf16", "i8", "i16", "i32",
                           "i64", "ui8", "ui16", "ui32", "ui64"}) {
    std::string t = tensor("5x37", type), b = tensor("5x37", "i1");
    double tolerance = toleranceOf(type);
    bool isFloat = type.find('f') != std::string::npos;
    for (std::string op : {"add", "sub", "mul", "div", "max", "min", "rem"})
      cases.add(op + "_" + type, "%x: " + t + ", %y: " + t, t,
                "%0 = graph." + op + " %x, %y : " + t + "\nreturn %0 : " + t,
                tolerance);
    if (type == "i16" || type == "ui16" || type == "ui32")
      continue; // as their neighbours
    for (std::string op : {"neg", "abs", "sign", "relu"})
      cases.add(op + "_" + type, "%x: " + t, t,
                "%0 = graph." + op + " %x : " + t + "\nreturn %0 : " + t,
                tolerance);
    for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
      cases.add("compare_" + predicate + "_" + type, "%x: " + t + ", %y: " + t,
                b,
                "%0 = graph.compare " + predicate + ", %x, %y : (" + t + ", " +
                    t + ") -> " + b + "\nreturn %0 : " + b,
                0);
    cases.add("select_" + type, "%p: " + b + ", %x: " + t + ", %y: " + t, t,
              "%0 = graph.select %p, %x, %y : (" + b + ", " + t + ", " + t +
                  ") -> " + t + "\nreturn %0 : " + t,
              0);
    for (std::string to : {"f32", "i32", "i1"})
      if (to != type)
        cases.add("convert_" + type + "_" + to, "%x: " + t, tensor("5x37", to),
                  "%0 = graph.convert %x : (" + t + ") -> " +
                      tensor("5x37", to) +
                      "\nreturn %0 : " + tensor("5x37", to),
                  1e-6);
    for (std::string kind : {"sum", "max", "min", "product"})
      for (std::string dims : {"0", "1", "1, 2", "0, 1, 2"}) {
        // Types differ in the combiner, dims in the loops.
        if (type != "f32" && dims != "1, 2" && dims != "0")
          continue;
        std::string from = tensor("3x4x5", type);
        bool has[3] = {dims.find('0') != std::string::npos,
                       dims.find('1') != std::string::npos,
                       dims.find('2') != std::string::npos};
        std::string shape;
        for (int d = 0; d < 3; ++d)
          if (!has[d])
            shape += (shape.empty() ? "" : "x") + std::to_string(3 + d);
        std::string to = tensor(shape, type);
        cases.add("reduce_" + kind + "_" + type, "%x: " + from, to,
                  "%0 = graph.reduce " + kind +
                      ", %x {dims = array<i64: " + dims + ">} : (" + from +
                      ") -> " + to + "\nreturn %0 : " + to,
                  tolerance * 4);
      }
    std::string moved = tensor("37x5", type);
    cases.add("transpose_" + type, "%x: " + t, moved,
              "%0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (" +
                  t + ") -> " + moved + "\nreturn %0 : " + moved,
              0);
    if (!isFloat)
      continue;
    for (std::string op :
         {"exp", "log", "sqrt", "rsqrt", "tanh", "logistic", "erf", "log1p",
          "expm1", "sin", "cos", "floor", "ceil", "round", "atan", "asinh"})
      cases.add(op + "_" + type, "%x: " + t, t,
                "%0 = graph." + op + " %x : " + t + "\nreturn %0 : " + t,
                tolerance);
  }
}

static void addFused(KernelCases &cases) {
  std::string t = "tensor<64x48xf32>", r = "tensor<64xf32>";
  // Softmax, its log-sum, its column sums and a scalar: rows, phases, partial
  // results of chunks.
  for (std::string shape : {"64", "512"}) {
    t = "tensor<" + shape + "x148xf32>";
    r = "tensor<" + shape + "xf32>";
    cases.add("softmax_rows_" + shape, "%x: " + t,
              "(" + t + ", " + r + ", tensor<148xf32>, tensor<f32>)",
              "%m = graph.reduce max, %x {dims = array<i64: 1>} : (" + t +
                  ") -> " + r +
                  "\n%mb = graph.broadcast %m {dims = array<i64: 0>} : (" + r +
                  ") -> " + t + "\n%d = graph.sub %x, %mb : " + t +
                  "\n%e = graph.exp %d : " + t +
                  "\n%s = graph.reduce sum, %e {dims = array<i64: 1>} : (" + t +
                  ") -> " + r +
                  "\n%sb = graph.broadcast %s {dims = array<i64: 0>} : (" + r +
                  ") -> " + t + "\n%p = graph.div %e, %sb : " + t +
                  "\n%l = graph.log %s : " + r +
                  "\n%c = graph.reduce sum, %p {dims = array<i64: 0>} : (" + t +
                  ") -> tensor<148xf32>\n" +
                  "%z = graph.reduce sum, %l {dims = array<i64: 0>} : (" + r +
                  ") -> tensor<f32>\nreturn %p, %l, %c, %z : " + t + ", " + r +
                  ", tensor<148xf32>, tensor<f32>",
              1e-5);
  }
  // A relu's derivative with the bias gradient behind it, channels last.
  std::string a = "tensor<8x13x13x32xf32>";
  cases.add("relu_grad_bias", "%y: " + a + ", %g: " + a,
            "(" + a + ", tensor<32xf32>)",
            "%z = graph.constant dense<0.0> : " + a +
                "\n%p = graph.compare gt, %y, %z : (" + a + ", " + a +
                ") -> tensor<8x13x13x32xi1>\n" +
                "%d = graph.select %p, %g, %z : (tensor<8x13x13x32xi1>, " + a +
                ", " + a + ") -> " + a +
                "\n%b = graph.reduce sum, %d {dims = array<i64: 0, 1, 2>} : (" +
                a + ") -> tensor<32xf32>\nreturn %d, %b : " + a +
                ", tensor<32xf32>",
            1e-5);
  // Sums of bf16 are kept in f32 between chunks.
  cases.add(
      "column_sum_bf16", "%x: tensor<4096x8xbf16>", "tensor<8xbf16>",
      "%b = graph.reduce sum, %x {dims = array<i64: 0>} : "
      "(tensor<4096x8xbf16>) -> tensor<8xbf16>\nreturn %b : tensor<8xbf16>",
      2e-2);
  // Reshapes, transposes and slices between element-wise ops.
  cases.add(
      "views", "%x: tensor<4x6x10xf32>", "tensor<10x12xf32>",
      "%0 = graph.reshape %x : (tensor<4x6x10xf32>) -> tensor<24x10xf32>\n"
      "%1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : "
      "(tensor<24x10xf32>) -> tensor<10x24xf32>\n"
      "%2 = graph.slice %1 {starts = array<i64: 0, 1>, limits = array<i64: "
      "10, 24>, strides = array<i64: 1, 2>} : (tensor<10x24xf32>) -> "
      "tensor<10x12xf32>\n%3 = graph.add %2, %2 : tensor<10x12xf32>\n"
      "return %3 : tensor<10x12xf32>",
      0);
  // A matmul with bias and relu, and one whose operands are transposed.
  cases.add(
      "dense_layer",
      "%x: tensor<16x40xf32>, %w: tensor<24x40xf32>, %b: "
      "tensor<24xf32>",
      "tensor<16x24xf32>",
      "%t = graph.transpose %w {permutation = array<i64: 1, 0>} : "
      "(tensor<24x40xf32>) -> tensor<40x24xf32>\n"
      "%0 = graph.dot_general %x, %t {lhs_batch = array<i64>, rhs_batch = "
      "array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>}"
      " : (tensor<16x40xf32>, tensor<40x24xf32>) -> tensor<16x24xf32>\n"
      "%1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<24xf32>) -> "
      "tensor<16x24xf32>\n%2 = graph.add %0, %1 : tensor<16x24xf32>\n"
      "%3 = graph.relu %2 : tensor<16x24xf32>\nreturn %3 : tensor<16x24xf32>",
      1e-5);
  for (std::string type : {"f64", "f32", "i32"})
    cases.add(
        "batched_product_" + type,
        "%x: tensor<2x3x5x" + type + ">, %y: tensor<2x7x5x" + type + ">",
        "tensor<2x3x7x" + type + ">",
        "%0 = graph.dot_general %x, %y {lhs_batch = array<i64: 0>, rhs_batch "
        "= array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = "
        "array<i64: 2>} : (tensor<2x3x5x" +
            type + ">, tensor<2x7x5x" + type + ">) -> tensor<2x3x7x" + type +
            ">\nreturn %0 : tensor<2x3x7x" + type + ">",
        1e-5);
}

/// What a value is compared with may have been computed from it in another loop
/// or kernel: it must be the same number.
static void addEquals(KernelCases &cases) {
  std::string t = "tensor<64x3x5xf32>", m = "tensor<64x3xf32>";
  cases.add(
      "equals_maximum",
      "%x: " + t + ", %s: tensor<3x5xf32>, %b: tensor<5xf32>, %c: " +
          "tensor<3xf32>, %y: " + m,
      "(" + m + ", " + t + ", " + t + ", tensor<5xf32>)",
      "%0 = graph.tanh %x : " + t +
          "\n%1 = graph.broadcast %s {dims = array<i64: 1, 2>} : "
          "(tensor<3x5xf32>) -> " +
          t + "\n%2 = graph.mul %0, %1 : " + t +
          "\n%3 = graph.broadcast %b {dims = array<i64: 2>} : (tensor<5xf32>) "
          "-> " +
          t + "\n%4 = graph.add %2, %3 : " + t +
          "\n%5 = graph.broadcast %c {dims = array<i64: 1>} : (tensor<3xf32>) "
          "-> " +
          t + "\n%6 = graph.add %4, %5 : " + t +
          "\n%7 = graph.reduce max, %6 {dims = array<i64: 2>} : (" + t +
          ") -> " + m + "\n%8 = graph.sub %7, %y : " + m +
          "\n%9 = graph.broadcast %7 {dims = array<i64: 0, 1>} : (" + m +
          ") -> " + t + "\n%10 = graph.compare eq, %6, %9 : (" + t + ", " + t +
          ") -> tensor<64x3x5xi1>\n%11 = graph.convert %10 : "
          "(tensor<64x3x5xi1>) -> " +
          t + "\n%12 = graph.reduce sum, %11 {dims = array<i64: 2>} : (" + t +
          ") -> " + m + "\n%13 = graph.div %8, %12 : " + m +
          "\n%14 = graph.broadcast %13 {dims = array<i64: 0, 1>} : (" + m +
          ") -> " + t + "\n%15 = graph.mul %11, %14 : " + t +
          "\n%16 = graph.mul %15, %0 : " + t +
          "\n%17 = graph.reduce sum, %15 {dims = array<i64: 0, 1>} : (" + t +
          ") -> tensor<5xf32>\nreturn %8, %15, %16, %17 : " + m + ", " + t +
          ", " + t + ", tensor<5xf32>",
      1e-5);
  // A bf16 sum is read as it is by one kernel, and widened by another.
  std::string n = "tensor<64x5xbf16>", w = "tensor<64x5xf32>";
  cases.add(
      "equals_widened", "%x: " + n + ", %y: " + n, "tensor<64xf32>",
      "%a = graph.add %x, %y : " + n + "\n%w = graph.convert %a : (" + n +
          ") -> " + w + "\n%i = graph.arg_max %w {axis = 1 : i64} : (" + w +
          ") -> tensor<64xi64>\n"
          "%k = graph.broadcast %i {dims = array<i64: 0>} : (tensor<64xi64>) "
          "-> tensor<64x5xi64>\n"
          "%j = graph.iota {dim = 1 : i64} : tensor<64x5xi64>\n"
          "%e = graph.compare eq, %j, %k : (tensor<64x5xi64>, "
          "tensor<64x5xi64>) -> tensor<64x5xi1>\n"
          "%z = graph.constant dense<0.0> : " +
          n + "\n%s = graph.select %e, %a, %z : (tensor<64x5xi1>, " + n + ", " +
          n + ") -> " + n + "\n%f = graph.convert %s : (" + n + ") -> " + w +
          "\n%m = graph.reduce sum, %f {dims = array<i64: 1>} : (" + w +
          ") -> tensor<64xf32>\n"
          "%b = graph.broadcast %m {dims = array<i64: 0>} : (tensor<64xf32>) "
          "-> " +
          w + "\n%g = graph.compare gt, %w, %b : (" + w + ", " + w +
          ") -> tensor<64x5xi1>\n"
          "%h = graph.convert %g : (tensor<64x5xi1>) -> " +
          w + "\n%c = graph.reduce sum, %h {dims = array<i64: 1>} : (" + w +
          ") -> tensor<64xf32>\nreturn %c : tensor<64xf32>",
      0);
  // A maximum is stored, what it was taken of is not.
  std::string r = "tensor<64xbf16>";
  cases.add("equals_maximum", "%x: " + n + ", %y: " + n,
            "(tensor<64xf32>, " + r + ")",
            "%a = graph.add %x, %y : " + n +
                "\n%m = graph.reduce max, %a {dims = array<i64: 1>} : (" + n +
                ") -> " + r +
                "\n%b = graph.broadcast %m {dims = array<i64: 0>} : (" + r +
                ") -> " + n + "\n%e = graph.compare eq, %a, %b : (" + n + ", " +
                n +
                ") -> tensor<64x5xi1>\n%f = graph.convert %e : "
                "(tensor<64x5xi1>) -> " +
                w + "\n%c = graph.reduce sum, %f {dims = array<i64: 1>} : (" +
                w + ") -> tensor<64xf32>\nreturn %c, %m : tensor<64xf32>, " + r,
            0);
}

TEST(KernelVsEvaluator, ElementwiseAndFused) {
  KernelCases cases;
  addElementwise(cases);
  addFused(cases);
  addEquals(cases);
  cases.check();
}
