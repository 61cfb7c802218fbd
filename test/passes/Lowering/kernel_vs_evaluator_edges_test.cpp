//===- kernel_vs_evaluator_edges_test.cpp - NaN, infinities, denormals ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What GraphBase.td says of numbers at the edges of their types: compiled
// kernels, by themselves and fused, give NaN where the evaluator does, and
// nowhere else.
//
//===----------------------------------------------------------------------===//
#include "kernel_cases.h"
#include <gtest/gtest.h>

using namespace mlir::dist;

namespace {

const std::vector<std::string> floats = {"f64", "f32", "f16", "bf16"};

std::string unary(const std::string &op, const std::string &type) {
  return "%0 = graph." + op + " %x : " + type + "\nreturn %0 : " + type;
}
std::string binary(const std::string &op, const std::string &type) {
  return "%0 = graph." + op + " %x, %y : " + type + "\nreturn %0 : " + type;
}

/// A function of one operand by an op that says both types.
void addTyped(KernelCases &cases, const std::string &what,
              const std::string &op, const std::string &from,
              const std::string &to, double tolerance) {
  cases.add(what, "%x: " + from, to,
            "%0 = graph." + op + " : (" + from + ") -> " + to +
                "\nreturn %0 : " + to,
            tolerance);
}

} // namespace

// Ops that round once or not at all are exact, so that no denormal is lost.
TEST(Edges, Elementwise) {
  KernelCases cases;
  for (const std::string &type : floats) {
    std::string t = tensor("17x61", type), b = tensor("17x61", "i1");
    bool narrow = type == "f16" || type == "bf16";
    double once = narrow ? toleranceOf(type) : 0;
    for (std::string op :
         {"neg", "abs", "sign", "relu", "floor", "ceil", "round"})
      cases.add(op + "_" + type, "%x: " + t, t, unary(op, t), 0);
    for (std::string op : {"max", "min"})
      cases.add(op + "_" + type, "%x: " + t + ", %y: " + t, t, binary(op, t),
                0);
    for (std::string op : {"add", "sub", "mul", "div"})
      cases.add(op + "_" + type, "%x: " + t + ", %y: " + t, t, binary(op, t),
                once);
    for (std::string op : {"rem", "pow"})
      cases.add(op + "_" + type, "%x: " + t + ", %y: " + t, t, binary(op, t),
                4 * toleranceOf(type));
    for (std::string op :
         {"exp",      "log",  "log1p", "expm1", "sqrt",  "rsqrt", "tanh",
          "logistic", "erf",  "sin",   "cos",   "tan",   "asin",  "acos",
          "atan",     "sinh", "cosh",  "asinh", "acosh", "atanh"})
      cases.add(op + "_" + type, "%x: " + t, t, unary(op, t),
                4 * toleranceOf(type));
    for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
      cases.add("compare_" + predicate + "_" + type, "%x: " + t + ", %y: " + t,
                b,
                "%0 = graph.compare " + predicate + ", %x, %y : (" + t + ", " +
                    t + ") -> " + b + "\nreturn %0 : " + b,
                0);
    for (std::string op : {"is_nan", "is_inf"})
      addTyped(cases, op + "_" + type, op + " %x", t, b, 0);
    cases.add("select_" + type, "%p: " + b + ", %x: " + t + ", %y: " + t, t,
              "%0 = graph.select %p, %x, %y : (" + b + ", " + t + ", " + t +
                  ") -> " + t + "\nreturn %0 : " + t,
              0);
    // A chain in one loop: a ReLU of both signs, clipped, and its mask.
    cases.add("chain_" + type, "%x: " + t + ", %y: " + t, t,
              "%0 = graph.neg %x : " + t + "\n%1 = graph.relu %0 : " + t +
                  "\n%2 = graph.min %1, %y : " + t + "\n%3 = graph.max %2, %x" +
                  " : " + t + "\n%4 = graph.compare gt, %1, %y : (" + t + ", " +
                  t + ") -> " + b + "\n%5 = graph.select %4, %3, %0 : (" + b +
                  ", " + t + ", " + t + ") -> " + t + "\nreturn %5 : " + t,
              0);
  }
  cases.check({}, Numbers::Edges);
}

TEST(Edges, Conversions) {
  KernelCases cases;
  std::vector<std::string> integers = {"i8",  "i16",  "i32",  "i64", "i1",
                                       "ui8", "ui16", "ui32", "ui64"};
  for (const std::string &from : floats) {
    for (const std::string &to : integers)
      addTyped(cases, "convert_" + from + "_" + to, "convert %x",
               tensor("7x61", from), tensor("7x61", to), 0);
    for (const std::string &to : floats)
      if (from != to)
        addTyped(cases, "convert_" + from + "_" + to, "convert %x",
                 tensor("7x61", from), tensor("7x61", to), 0);
  }
  for (const std::string &from : integers) {
    for (const std::string &to : integers)
      if (from != to)
        addTyped(cases, "convert_" + from + "_" + to, "convert %x",
                 tensor("7x61", from), tensor("7x61", to), 0);
    for (const std::string &to : floats)
      addTyped(cases, "convert_" + from + "_" + to, "convert %x",
               tensor("7x61", from), tensor("7x61", to), toleranceOf(to));
  }
  cases.check({}, Numbers::Edges);
}

TEST(Edges, Selections) {
  KernelCases cases;
  for (const std::string &type : floats) {
    std::string t = tensor("40x12", type);
    for (std::string kind : {"max", "min"})
      for (std::string dims : {"0", "1"})
        addTyped(cases, "reduce_" + kind + dims + "_" + type,
                 "reduce " + kind + ", %x {dims = array<i64: " + dims + ">}", t,
                 tensor(dims == "0" ? "12" : "40", type), 0);
    for (std::string op : {"arg_max", "arg_min"})
      for (std::string last : {"false", "true"})
        addTyped(cases, op + "_" + last + "_" + type,
                 op + " %x {axis = 1 : i64, select_last = " + last + "}", t,
                 tensor("40", "i64"), 0);
    for (std::string largest : {"true", "false"}) {
      std::string values = tensor("40x9", type), at = tensor("40x9", "i64");
      cases.add("top_k_" + largest + "_" + type, "%x: " + t,
                "(" + values + ", " + at + ")",
                "%0:2 = graph.top_k %x {k = 9 : i64, largest = " + largest +
                    "} : (" + t + ") -> (" + values + ", " + at +
                    ")\nreturn %0#0, %0#1 : " + values + ", " + at,
                0);
    }
    std::string image = tensor("2x9x8x5", type),
                pooled = tensor("2x4x4x5", type), at = tensor("2x4x4x5", "i32");
    std::string window =
        "{window = array<i64: 1, 3, 2, 1>, strides = array<i64: 1, 2, 2, 1>, "
        "dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, "
        "pad_high = array<i64: 0, 0, 0, 0>}";
    // A ReLU before and behind a pool, and where each maximum was.
    cases.add(
        "max_pool_" + type, "%x: " + image, "(" + pooled + ", " + at + ")",
        "%0 = graph.relu %x : " + image + "\n%y, %i = graph.max_pool %0 " +
            window + " : (" + image + ") -> (" + pooled + ", " + at +
            ")\n%1 = graph.relu %y : " + pooled +
            "\nreturn %1, %i : " + pooled + ", " + at,
        0);
  }
  cases.check({}, Numbers::Edges);
}

// Rows that threads share, whose keys fit the stack or not, with many equal
// elements; all of a row, and one of it; as bits of all widths.
TEST(Edges, TopK) {
  KernelCases cases;
  auto add = [&](const std::string &type, const std::string &rows, int64_t size,
                 int64_t k, const std::string &attributes) {
    std::string t = tensor(rows + std::to_string(size), type),
                values = tensor(rows + std::to_string(k), type),
                at = tensor(rows + std::to_string(k), "i64");
    std::string name =
        "top_" + std::to_string(k) + "_of_" + std::to_string(size) + "_" + type;
    for (char c : attributes)
      if (std::isalpha(c))
        name += c;
    cases.add(name, "%x: " + t, "(" + values + ", " + at + ")",
              "%0:2 = graph.top_k %x {k = " + std::to_string(k) + " : i64" +
                  attributes + "} : (" + t + ") -> (" + values + ", " + at +
                  ")\nreturn %0#0, %0#1 : " + values + ", " + at,
              0);
  };
  for (const std::string &type : floats)
    for (std::string largest : {"", ", largest = false"})
      for (std::string sorted : {"", ", sorted = false"})
        for (std::string by : {"", ", magnitude = true"}) {
          add(type, "37x", 100, 11, largest + sorted + by);
          add(type, "3x", 1000, 10, largest + sorted + by); // few may be taken
          add(type, "", 20001, 33, largest + sorted + by);
        }
  for (std::string type :
       {"i1", "i8", "ui8", "i16", "i32", "ui32", "i64", "ui64", "f32", "f64"})
    for (int64_t k : {1, 2, 64, 77})
      for (std::string largest : {"", ", largest = false"})
        add(type, "2x3x", 77, k, largest);
  cases.check({}, Numbers::Edges);
}

// What compression takes out of rows, of which few or many are wanted, with and
// without less than a vector at the end; and rows that are made of zeros and
// what was sent, several times to one index.
TEST(Edges, TakeTopK) {
  KernelCases cases;
  auto add = [&](const std::string &type, const std::string &rows, int64_t size,
                 int64_t k) {
    std::string t = tensor(rows + std::to_string(size), type),
                values = tensor(rows + std::to_string(k), type),
                at = tensor(rows + std::to_string(k), "i16");
    cases.add("take_" + std::to_string(k) + "_of_" + std::to_string(size) +
                  "_" + type,
              "%x: " + t + ", %left: " + t,
              "(" + values + ", " + at + ", " + t + ")",
              "%0:3 = graph.take_top_k %x, %left {k = " + std::to_string(k) +
                  " : i64} : (" + t + ", " + t + ") -> (" + values + ", " + at +
                  ", " + t + ")\nreturn %0#0, %0#1, %0#2 : " + values + ", " +
                  at + ", " + t,
              0);
  };
  for (std::string type : {"f32", "f64"}) {
    for (int64_t k : {1, 10, 16, 17, 64, 102, 300, 1024})
      add(type, "37x", 1024, k);
    add(type, "5x", 1003, 10);
    add(type, "2x3x", 130, 2);
    add(type, "7x", 10, 1);
    add(type, "", 20001, 20);
    std::string t = tensor("37x200", type), u = tensor("37x300", type);
    cases.add("rows_" + type, "%u: " + u + ", %i: tensor<37x300xui8>, %w: " + t,
              "(" + t + ", " + t + ")",
              "%c = graph.constant dense<200> : tensor<37x300xui8>\n"
              "%1 = graph.rem %i, %c : tensor<37x300xui8>\n"
              "%0 = graph.scatter_rows %u, %1 {size = 200 : i64} : (" +
                  u + ", tensor<37x300xui8>) -> " + t +
                  "\n%2 = graph.sub %w, %0 : " + t +
                  "\n%3 = graph.mul %0, %0 : " + t + "\nreturn %2, %3 : " + t +
                  ", " + t,
              16 * toleranceOf(type));
  }
  cases.check({}, Numbers::Edges);
}

// Many equal ones, above all others or below them: the first are taken.
TEST(Edges, TakeTopKOfEquals) {
  KernelCases cases;
  auto add = [&](const std::string &type, double bound, bool above) {
    std::string t = tensor("9x1024", type), values = tensor("9x10", type),
                at = tensor("9x10", "i16"), b = tensor("9x1024", "i1"),
                three = "(" + values + ", " + at + ", " + t + ")";
    cases.add(
        "equals_" + std::to_string(int(1000 * bound)) + "_" + type +
            (above ? "_above" : "_below"),
        "%x: " + t, three,
        "%c = graph.constant dense<" + std::to_string(bound) + "> : " + t +
            "\n%e = graph.constant dense<" + (above ? "-1.0" : "0.0") +
            "> : " + t + "\n%m = graph.abs %x : " + t +
            "\n%b = graph.compare lt, %m, %c : (" + t + ", " + t + ") -> " + b +
            "\n%l = graph.select %b, " + (above ? "%x, %e" : "%e, %x") +
            " : (" + b + ", " + t + ", " + t + ") -> " + t +
            "\n%z = graph.constant dense<0.0> : " + t +
            "\n%0:3 = graph.take_top_k %z, %l {k = 10 : i64} : (" + t + ", " +
            t + ") -> " + three + "\nreturn %0#0, %0#1, %0#2 : " + values +
            ", " + at + ", " + t,
        0);
  };
  for (std::string type : {"f32", "f64"})
    for (double bound : {0.0, 0.5, 0.997, 2.0})
      for (bool above : {true, false})
        add(type, bound, above);
  cases.check({}, Numbers::BothSigns);
}

TEST(Edges, SumsAndNorms) {
  KernelCases cases;
  for (const std::string &type : floats) {
    std::string t = tensor("48x20", type);
    double tolerance = 16 * toleranceOf(type);
    for (std::string kind : {"sum", "product"})
      for (std::string dims : {"0", "1"})
        addTyped(cases, "reduce_" + kind + dims + "_" + type,
                 "reduce " + kind + ", %x {dims = array<i64: " + dims + ">}", t,
                 tensor(dims == "0" ? "20" : "48", type), tolerance);
    cases.add("cumsum_" + type, "%x: " + t, t,
              "%0 = graph.cumsum %x {axis = 1 : i64} : " + t +
                  "\nreturn %0 : " + t,
              tolerance);
    if (type == "f16")
      continue; // as bf16
    for (std::string op : {"softmax", "log_softmax"})
      cases.add(op + "_" + type, "%x: " + t, t,
                "%0 = graph." + op + " %x {axis = 1 : i64} : " + t +
                    "\nreturn %0 : " + t,
                tolerance);
    std::string wide = type == "f64" ? "f64" : "f32", loss = tensor("48", wide);
    cases.add("cross_entropy_" + type, "%x: " + t + ", %l: tensor<48xi64>",
              loss,
              "%0 = graph.cross_entropy %x, %l : (" + t +
                  ", tensor<48xi64>) -> " + loss + "\nreturn %0 : " + loss,
              tolerance);
  }
  cases.check({}, Numbers::FewEdges);
}

// By the library where it has the type, small and large, with one thread and
// with two.
TEST(Edges, FusedRelu) {
  KernelCases cases;
  for (std::string type : {"f32", "bf16", "f64"}) {
    auto product = [&](const std::string &m, const std::string &n) {
      std::string x = tensor(m + "x24", type), w = tensor("24x" + n, type),
                  b = tensor(n, type), y = tensor(m + "x" + n, type);
      cases.add("product_" + m + "_" + type,
                "%x: " + x + ", %w: " + w + ", %b: " + b, y,
                "%0 = graph.dot_general %x, %w {lhs_batch = array<i64>, "
                "rhs_batch = array<i64>, lhs_contract = array<i64: 1>, "
                "rhs_contract = array<i64: 0>} : (" +
                    x + ", " + w + ") -> " + y +
                    "\n%1 = graph.broadcast %b {dims = array<i64: 1>} : (" + b +
                    ") -> " + y + "\n%2 = graph.add %0, %1 : " + y +
                    "\n%3 = graph.relu %2 : " + y + "\nreturn %3 : " + y,
                16 * toleranceOf(type));
    };
    product("8", "32");
    product("160", "64");
    auto conv = [&](const std::string &size, const std::string &filter,
                    const std::string &result, const std::string &strides) {
      std::string x = tensor("2x" + size + "x8", type),
                  w = tensor("16x8x" + filter, type),
                  y = tensor("2x" + result + "x16", type);
      cases.add("conv_" + filter + "_" + type, "%x: " + x + ", %w: " + w, y,
                "%0 = graph.conv %x, %w {strides = array<i64: " + strides +
                    ">, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, "
                    "0>, dilations = array<i64: 1, 1>, groups = 1 : i64, "
                    "input_layout = \"N01C\", filter_layout = \"OI01\", "
                    "output_layout = \"N01C\"} : (" +
                    x + ", " + w + ") -> " + y + "\n%1 = graph.relu %0 : " + y +
                    "\nreturn %1 : " + y,
                16 * toleranceOf(type));
    };
    conv("8x8", "5x5", "4x4", "1, 1");
    conv("23x23", "3x2", "21x22", "1, 1");
    conv("20x20", "1x1", "20x20", "1, 1");
    conv("39x39", "1x1", "20x20", "2, 2");
  }
  cases.check({}, Numbers::FewEdges);
}
