//===- generated_sweep_test.cpp - Random kernels of every generated kind --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random shapes, types, threads and CPUs against the evaluator. Each group of
// cases follows from the seed and its number: SWEEP_SEED=1 SWEEP_FIRST=0
// SWEEP_CASES=60 (24 of them are a group). A failure prints its function.
//
//===----------------------------------------------------------------------===//
#include "kernel_cases.h"
#include "test/runtime/sweep/random.h"
#include "llvm/TargetParser/Host.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir::dist;
using dist::sweep::Random;

namespace {
using Ints = std::vector<int64_t>;
constexpr uint64_t casesOfGroup = 24;

std::string join(const Ints &values, const char *between) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : between) + std::to_string(value);
  return text;
}
std::string array(const std::string &name, const Ints &values) {
  return name + " = array<i64" + (values.empty() ? "" : ": ") +
         join(values, ", ") + ">";
}
std::string tensorOf(const Ints &shape, const std::string &type) {
  return tensor(join(shape, "x"), type);
}

/// What one case is made of.
struct Maker {
  KernelCases &cases;
  Random random;
  std::string type = "f32";

  int64_t between(int64_t low, int64_t high) {
    return random.between(low, high);
  }
  Ints shape(int64_t dims, int64_t most) {
    Ints result;
    for (int64_t d = 0; d < dims; ++d)
      result.push_back(between(1, most));
    return result;
  }
  void one(const std::string &name, const std::string &arguments,
           const std::string &result, const std::string &op, double tolerance) {
    cases.add(name + "_" + type, arguments, result,
              "%0 = " + op + "\nreturn %0 : " + result, tolerance);
  }

  void elementwise() {
    std::string t = tensorOf(shape(between(1, 4), 33), type);
    std::string op =
        random.pick<const char *>({"add", "sub", "mul", "div", "max", "min"});
    std::string next =
        random.pick<const char *>({"relu", "neg", "abs", "sign"});
    cases.add(op + "_" + next + "_" + type, "%x: " + t + ", %y: " + t, t,
              "%a = graph." + op + " %x, %y : " + t + "\n%0 = graph." + next +
                  " %a : " + t + "\nreturn %0 : " + t,
              toleranceOf(type));
  }
  void reduce() {
    Ints from = shape(between(1, 4), 33), dims, to;
    for (size_t d = 0; d < from.size(); ++d)
      (random.oneIn(2) ? dims : to).push_back(int64_t(d));
    if (dims.empty())
      std::swap(dims, to);
    for (int64_t &d : to)
      d = from[d];
    std::string x = tensorOf(from, type), y = tensorOf(to, type);
    std::string kind = random.pick<const char *>({"sum", "max", "min"});
    one("reduce_" + kind, "%x: " + x, y,
        "graph.reduce " + kind + ", %x {" + array("dims", dims) + "} : (" + x +
            ") -> " + y,
        toleranceOf(type) * 64);
  }
  void transpose() {
    Ints from = shape(between(2, 4), 21), order(from.size()), to;
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[between(0, int64_t(i))]);
    for (int64_t d : order)
      to.push_back(from[d]);
    std::string x = tensorOf(from, type), y = tensorOf(to, type);
    one("transpose", "%x: " + x, y,
        "graph.transpose %x {" + array("permutation", order) + "} : (" + x +
            ") -> " + y,
        0);
  }
  void slice() {
    Ints from = shape(between(1, 3), 33), starts, limits, strides, to;
    for (int64_t size : from) {
      starts.push_back(between(0, size - 1));
      limits.push_back(between(starts.back() + 1, size));
      strides.push_back(between(1, 3));
      to.push_back((limits.back() - starts.back() - 1) / strides.back() + 1);
    }
    std::string x = tensorOf(from, type), y = tensorOf(to, type);
    one("slice", "%x: " + x, y,
        "graph.slice %x {" + array("starts", starts) + ", " +
            array("limits", limits) + ", " + array("strides", strides) +
            "} : (" + x + ") -> " + y,
        0);
  }
  void gather() {
    Ints from = {between(8, 40), between(1, 33)}, at = {between(1, 20)};
    std::string x = tensorOf(from, type), i = tensorOf(at, "i64");
    std::string y = tensorOf({at[0], from[1]}, type);
    one("gather", "%x: " + x + ", %i: " + i, y,
        "graph.gather %x, %i {axis = 0 : i64} : (" + x + ", " + i + ") -> " + y,
        0);
    one("scatter_add", "%x: " + x + ", %i: " + i + ", %u: " + y, x,
        "graph.scatter_add %x, %i, %u {axis = 0 : i64} : (" + x + ", " + i +
            ", " + y + ") -> " + x,
        32 * toleranceOf(type));
  }
  void softmax() {
    Ints sizes = shape(between(1, 3), 70);
    std::string x = tensorOf(sizes, type);
    std::string op = random.pick<const char *>({"softmax", "log_softmax"});
    one(op, "%x: " + x, x,
        "graph." + op + " %x {axis = " +
            std::to_string(between(0, int64_t(sizes.size()) - 1)) +
            " : i64} : " + x,
        16 * toleranceOf(type));
  }
  void pool() {
    Ints in = {between(1, 3), between(1, 20), between(1, 20), between(1, 33)};
    Ints window = {1, between(1, std::min<int64_t>(in[1], 4)),
                   between(1, std::min<int64_t>(in[2], 4)), 1};
    Ints strides = {1, between(1, 3), between(1, 3), 1}, none = {0, 0, 0, 0};
    Ints low = {0, between(0, window[1] - 1), between(0, window[2] - 1), 0};
    Ints out = in;
    for (int d : {1, 2})
      out[d] = (in[d] + low[d] - window[d]) / strides[d] + 1;
    std::string x = tensorOf(in, type), y = tensorOf(out, type);
    std::string attributes =
        array("window", window) + ", " + array("strides", strides) + ", " +
        array("dilations", {1, 1, 1, 1}) + ", " + array("pad_low", low) + ", " +
        array("pad_high", none);
    cases.add("avg_pool_" + type, "%x: " + x + ", %g: " + y,
              "(" + y + ", " + x + ")",
              "%y = graph.avg_pool %x {" + attributes +
                  ", count_include_pad = false} : (" + x + ") -> " + y +
                  "\n%dx = graph.avg_pool_grad %g {" + attributes +
                  ", count_include_pad = false} : (" + y + ") -> " + x +
                  "\nreturn %y, %dx : " + y + ", " + x,
              16 * toleranceOf(type));
    std::string at = tensorOf(out, "i32");
    cases.add(
        "max_pool_" + type, "%x: " + x + ", %g: " + y, "(" + y + ", " + x + ")",
        "%y, %i = graph.max_pool %x {" + attributes + "} : (" + x + ") -> (" +
            y + ", " + at + ")\n%dx = graph.max_pool_grad %g, %i {" +
            attributes + "} : (" + y + ", " + at + ") -> " + x +
            "\nreturn %y, %dx : " + y + ", " + x,
        16 * toleranceOf(type));
  }
  void product() {
    int64_t batch = between(1, 3), m = between(1, 33), k = between(1, 40),
            n = between(1, 33);
    std::string x = tensorOf({batch, m, k}, type);
    std::string y = tensorOf({batch, k, n}, type);
    std::string r = tensorOf({batch, m, n}, type);
    one("product", "%x: " + x + ", %y: " + y, r,
        "graph.dot_general %x, %y {lhs_batch = array<i64: 0>, rhs_batch = "
        "array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = "
        "array<i64: 1>} : (" +
            x + ", " + y + ") -> " + r,
        64 * toleranceOf(type));
  }
  void convolution() {
    int64_t groups = random.pick<int64_t>({1, 1, 1, 2, 4});
    int64_t images = between(1, 3), size = between(1, 14);
    int64_t inputs = groups * between(1, groups > 1 ? 5 : 20);
    int64_t outputs = groups * between(1, groups > 1 ? 5 : 20);
    int64_t window = random.pick<int64_t>({1, 1, 2, 3, 3, 5});
    int64_t stride = random.pick<int64_t>({1, 1, 2, 3});
    int64_t dilation = random.oneIn(4) ? 2 : 1, pad = between(0, window / 2);
    int64_t room = size + 2 * pad - dilation * (window - 1) - 1;
    if (room < 0)
      return product();
    int64_t out = room / stride + 1;
    std::string x = tensorOf({images, size, size, inputs}, type);
    std::string w = tensorOf({outputs, inputs / groups, window, window}, type);
    std::string y = tensorOf({images, out, out, outputs}, type);
    std::string attributes =
        " {" + array("strides", {stride, stride}) + ", " +
        array("pad_low", {pad, pad}) + ", " + array("pad_high", {pad, pad}) +
        ", " + array("dilations", {dilation, dilation}) +
        ", groups = " + std::to_string(groups) +
        " : i64, input_layout = \"N01C\", filter_layout = \"OI01\", "
        "output_layout = \"N01C\"} : (";
    auto add = [&](const std::string &op, const std::string &a,
                   const std::string &b, const std::string &r) {
      one(op, "%a: " + a + ", %b: " + b, r,
          "graph." + op + " %a, %b" + attributes + a + ", " + b + ") -> " + r,
          64 * toleranceOf(type));
    };
    add("conv", x, w, y);
    add("conv_input_grad", y, w, x);
    add("conv_filter_grad", x, y, w);
  }

  void any() {
    type = random.pick<const char *>({"f32", "f32", "f64", "bf16", "f16"});
    switch (between(0, 10)) {
    case 0:
      return softmax();
    case 1:
      return pool();
    case 2:
    case 3:
      return convolution();
    case 4:
      return product();
    default:
      break;
    }
    if (random.oneIn(3))
      type = random.pick<const char *>({"i8", "i32", "i64"});
    switch (between(0, 4)) {
    case 0:
      return elementwise();
    case 1:
      return reduce();
    case 2:
      return transpose();
    case 3:
      return slice();
    default:
      return gather();
    }
  }
};

uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Sweep, GeneratedKernels) {
  uint64_t seed = setting("SWEEP_SEED", 1), first = setting("SWEEP_FIRST", 0);
  uint64_t end = first + setting("SWEEP_CASES", 72);
  for (uint64_t group = first; group < end && !HasFailure();
       group += casesOfGroup) {
    Random random(seed, group);
    KernelCases cases;
    for (uint64_t i = group; i < std::min(end, group + casesOfGroup); ++i)
      Maker{cases, Random(seed + 1000, i)}.any();
    LoweringOptions options;
    options.threads = random.between(1, 4);
    options.fuse = !random.oneIn(4);
    // Code for half the registers, too.
    options.vectorBits = random.pick<int64_t>({0, 256, 128});
    if (random.oneIn(3) && llvm::sys::getHostCPUFeatures().lookup("avx2"))
      options.cpu = "x86-64-v3";
    SCOPED_TRACE("again: SWEEP_SEED=" + std::to_string(seed) +
                 " SWEEP_FIRST=" + std::to_string(group) +
                 " SWEEP_CASES=" + std::to_string(casesOfGroup) + " (threads " +
                 std::to_string(options.threads) + ", " +
                 (options.cpu.empty() ? "this CPU" : options.cpu) + ")");
    cases.check(options);
  }
}
} // namespace
