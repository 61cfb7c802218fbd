//===- kernel_vs_evaluator_test.cpp - Compiled kernels give what ops mean -===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of every kind of op and element type are compiled into one package,
// run, and compared with the reference evaluation of the same functions.
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "dialects/Interfaces/Reference.h"
#include "passes/Lowering/Lowering.h"
#include "runtime/abi/abi.h"
#include "runtime/device/cpu/library_kernel.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::dist;

struct dist_rt_context {
  std::vector<std::unique_ptr<::dist::cpu::LibraryKernel>> kernels;
};

namespace {

constexpr int numThreads = 2;

int32_t parallelFor(dist_rt_context *, dist_rt_kernel kernel, void **buffers,
                    int64_t n, int32_t chunks) {
  for (int32_t chunk = 0; chunk < chunks; ++chunk)
    kernel(buffers, n * chunk / chunks, n * (chunk + 1) / chunks, chunk);
  return 0;
}
int32_t library(dist_rt_context *context, int32_t kernel, void **buffers) {
  return context->kernels[kernel]->run(buffers).ok() ? 0 : 1;
}
int32_t collective(dist_rt_context *, const dist_rt_collective *, void **) {
  return 1;
}
int32_t fail(dist_rt_context *, int32_t code, int32_t) { return code; }

struct Case {
  std::string name;
  std::string text; // of the function, named as the case
  double tolerance; // of each element, relative to max(1, |expected|)
};

std::vector<Case> cases;

std::string tensor(const std::string &shape, const std::string &type) {
  return "tensor<" + shape + (shape.empty() ? "" : "x") + type + ">";
}

double toleranceOf(const std::string &type) {
  if (type == "f64")
    return 1e-12;
  if (type == "f16")
    return 2e-3;
  if (type == "bf16")
    return 1.6e-2;
  return 4e-6;
}

void add(const std::string &what, const std::string &arguments,
         const std::string &result, const std::string &body,
         double tolerance) {
  std::string name = "case_" + std::to_string(cases.size()) + "_" + what;
  cases.push_back({name,
                   "func.func @" + name + "(" + arguments + ") -> " + result +
                       " {\n" + body + "\n}\n",
                   tolerance});
}

void addElementwise() {
  for (std::string type :
       {"f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8", "ui16",
        "ui32", "ui64"}) {
    std::string t = tensor("5x37", type), b = tensor("5x37", "i1");
    double tolerance = toleranceOf(type);
    bool isFloat = type.find('f') != std::string::npos;
    for (std::string op : {"add", "sub", "mul", "div", "max", "min", "rem"})
      add(op + "_" + type, "%x: " + t + ", %y: " + t, t,
          "%0 = graph." + op + " %x, %y : " + t + "\nreturn %0 : " + t,
          tolerance);
    if (type == "i16" || type == "ui16" || type == "ui32")
      continue; // as their neighbours
    for (std::string op : {"neg", "abs", "sign", "relu"})
      add(op + "_" + type, "%x: " + t, t,
          "%0 = graph." + op + " %x : " + t + "\nreturn %0 : " + t, tolerance);
    for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
      add("compare_" + predicate + "_" + type, "%x: " + t + ", %y: " + t, b,
          "%0 = graph.compare " + predicate + ", %x, %y : (" + t + ", " + t +
              ") -> " + b + "\nreturn %0 : " + b,
          0);
    add("select_" + type, "%p: " + b + ", %x: " + t + ", %y: " + t, t,
        "%0 = graph.select %p, %x, %y : (" + b + ", " + t + ", " + t +
            ") -> " + t + "\nreturn %0 : " + t,
        0);
    for (std::string to : {"f32", "i32", "i1"})
      if (to != type)
        add("convert_" + type + "_" + to, "%x: " + t, tensor("5x37", to),
            "%0 = graph.convert %x : (" + t + ") -> " + tensor("5x37", to) +
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
        add("reduce_" + kind + "_" + type, "%x: " + from, to,
            "%0 = graph.reduce " + kind + ", %x {dims = array<i64: " + dims +
                ">} : (" + from + ") -> " + to + "\nreturn %0 : " + to,
            tolerance * 4);
      }
    std::string moved = tensor("37x5", type);
    add("transpose_" + type, "%x: " + t, moved,
        "%0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (" + t +
            ") -> " + moved + "\nreturn %0 : " + moved,
        0);
    if (!isFloat)
      continue;
    for (std::string op :
         {"exp", "log", "sqrt", "rsqrt", "tanh", "logistic", "erf", "log1p",
          "expm1", "sin", "cos", "floor", "ceil", "round", "atan", "asinh"})
      add(op + "_" + type, "%x: " + t, t,
          "%0 = graph." + op + " %x : " + t + "\nreturn %0 : " + t, tolerance);
  }
}

void addFused() {
  std::string t = "tensor<64x48xf32>", r = "tensor<64xf32>";
  // Softmax, its log-sum, its column sums and a scalar: rows, phases, partial
  // results of chunks.
  for (std::string shape : {"64", "512"}) {
    t = "tensor<" + shape + "x148xf32>";
    r = "tensor<" + shape + "xf32>";
    add("softmax_rows_" + shape, "%x: " + t, "(" + t + ", " + r +
            ", tensor<148xf32>, tensor<f32>)",
        "%m = graph.reduce max, %x {dims = array<i64: 1>} : (" + t + ") -> " +
            r + "\n%mb = graph.broadcast %m {dims = array<i64: 0>} : (" + r +
            ") -> " + t + "\n%d = graph.sub %x, %mb : " + t +
            "\n%e = graph.exp %d : " + t +
            "\n%s = graph.reduce sum, %e {dims = array<i64: 1>} : (" + t +
            ") -> " + r + "\n%sb = graph.broadcast %s {dims = array<i64: 0>} : (" +
            r + ") -> " + t + "\n%p = graph.div %e, %sb : " + t +
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
  add("relu_grad_bias", "%y: " + a + ", %g: " + a,
      "(" + a + ", tensor<32xf32>)",
      "%z = graph.constant dense<0.0> : " + a +
          "\n%p = graph.compare gt, %y, %z : (" + a + ", " + a +
          ") -> tensor<8x13x13x32xi1>\n" +
          "%d = graph.select %p, %g, %z : (tensor<8x13x13x32xi1>, " + a +
          ", " + a + ") -> " + a +
          "\n%b = graph.reduce sum, %d {dims = array<i64: 0, 1, 2>} : (" + a +
          ") -> tensor<32xf32>\nreturn %d, %b : " + a + ", tensor<32xf32>",
      1e-5);
  // Sums of bf16 are kept in f32 between chunks.
  add("column_sum_bf16", "%x: tensor<4096x8xbf16>", "tensor<8xbf16>",
      "%b = graph.reduce sum, %x {dims = array<i64: 0>} : "
      "(tensor<4096x8xbf16>) -> tensor<8xbf16>\nreturn %b : tensor<8xbf16>",
      2e-2);
  // Reshapes, transposes and slices between element-wise ops.
  add("views", "%x: tensor<4x6x10xf32>", "tensor<10x12xf32>",
      "%0 = graph.reshape %x : (tensor<4x6x10xf32>) -> tensor<24x10xf32>\n"
      "%1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : "
      "(tensor<24x10xf32>) -> tensor<10x24xf32>\n"
      "%2 = graph.slice %1 {starts = array<i64: 0, 1>, limits = array<i64: "
      "10, 24>, strides = array<i64: 1, 2>} : (tensor<10x24xf32>) -> "
      "tensor<10x12xf32>\n%3 = graph.add %2, %2 : tensor<10x12xf32>\n"
      "return %3 : tensor<10x12xf32>",
      0);
  // A matmul with bias and relu, and one whose operands are transposed.
  add("dense_layer", "%x: tensor<16x40xf32>, %w: tensor<24x40xf32>, %b: "
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
    add("batched_product_" + type,
        "%x: tensor<2x3x5x" + type + ">, %y: tensor<2x7x5x" + type + ">",
        "tensor<2x3x7x" + type + ">",
        "%0 = graph.dot_general %x, %y {lhs_batch = array<i64: 0>, rhs_batch "
        "= array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = "
        "array<i64: 2>} : (tensor<2x3x5x" + type + ">, tensor<2x7x5x" + type +
            ">) -> tensor<2x3x7x" + type + ">\nreturn %0 : tensor<2x3x7x" +
            type + ">",
        1e-5);
}

/// Whole numbers for integers, others in a range where functions are tame.
HostTensor makeRandom(RankedTensorType type, std::mt19937 &random) {
  HostTensor tensor(type);
  std::uniform_real_distribution<double> real(0.1, 2.0);
  std::uniform_int_distribution<int> whole(1, 7), boolean(0, 1);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (tensor.isFloat())
      tensor.setDouble(i, real(random));
    else if (type.getElementType().isInteger(1))
      tensor.setInt(i, boolean(random));
    else
      tensor.setInt(i, whole(random));
  }
  return tensor;
}

LogicalResult evaluate(func::FuncOp func, ArrayRef<HostTensor> inputs,
                       SmallVectorImpl<HostTensor> &outputs) {
  llvm::DenseMap<Value, HostTensor> values;
  for (auto [argument, input] : llvm::zip(func.getArguments(), inputs))
    values[argument] = input;
  for (Operation &op : func.getBody().front()) {
    SmallVector<HostTensor> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    if (isa<func::ReturnOp>(op)) {
      outputs.append(operands.begin(), operands.end());
      return success();
    }
    if (failed(cast<ReferenceOpInterface>(op).evaluate(operands, results)))
      return failure();
    for (auto [result, value] : llvm::zip(op.getResults(), results))
      values[result] = value;
  }
  return failure();
}

TEST(KernelVsEvaluator, AllOps) {
  addElementwise();
  addFused();
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string text;
  for (const Case &c : cases)
    text += c.text;
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);

  std::mt19937 random(7);
  std::vector<SmallVector<HostTensor>> inputs, expected;
  for (const Case &c : cases) {
    auto func = module->lookupSymbol<func::FuncOp>(c.name);
    inputs.emplace_back();
    expected.emplace_back();
    for (Type type : func.getArgumentTypes())
      inputs.back().push_back(
          makeRandom(cast<RankedTensorType>(type), random));
    ASSERT_TRUE(succeeded(evaluate(func, inputs.back(), expected.back())))
        << c.name;
  }

  llvm::SmallString<64> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("kernels", folder));
  LoweringOptions options;
  options.threads = numThreads;
  ASSERT_TRUE(succeeded(lowerToPackage(*module, options, folder)));

  ::dist::manifest::Manifest manifest;
  std::ifstream file((folder + "/manifest").str(), std::ios::binary);
  ASSERT_TRUE(manifest.ParseFromIstream(&file));
  dist_rt_context runtime;
  for (int i = 0; i < manifest.kernels_size(); ++i) {
    runtime.kernels.emplace_back();
    ASSERT_TRUE(::dist::cpu::LibraryKernel::create(
                    manifest.kernels(), i, numThreads, &runtime.kernels.back())
                    .ok());
  }
  void *handle =
      dlopen((folder + "/program.so").str().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  dist_rt_api api{};
  api.abi_version = DIST_RT_ABI_VERSION;
  api.struct_size = sizeof(api);
  api.parallel_for = parallelFor;
  api.library = library;
  api.collective = collective;
  api.fail = fail;
  auto init = reinterpret_cast<dist_program_init_fn>(
      dlsym(handle, "dist_program_init"));
  ASSERT_TRUE(init);
  ASSERT_EQ(init(&api), 0);

  for (size_t k = 0; k < cases.size(); ++k) {
    const Case &c = cases[k];
    const ::dist::manifest::Entry *entry = nullptr;
    for (const auto &candidate : manifest.programs(0).entries())
      if (candidate.name() == c.name)
        entry = &candidate;
    ASSERT_TRUE(entry) << c.name;
    auto function =
        reinterpret_cast<dist_program_entry_fn>(dlsym(handle, c.name.c_str()));
    ASSERT_TRUE(function) << c.name;
    std::vector<std::vector<char>> memory;
    for (const HostTensor &input : inputs[k])
      memory.push_back(input.toBytes());
    for (const HostTensor &output : expected[k])
      memory.emplace_back(getByteSize(output.getType()), char(0x55));
    std::vector<void *> bindings;
    for (auto &bytes : memory)
      bindings.push_back(bytes.data());
    auto *arena = static_cast<char *>(
        std::aligned_alloc(64, (entry->arena_bytes() + 127) / 64 * 64));
    std::memset(arena, 0x55, entry->arena_bytes());
    ASSERT_EQ(function(&runtime, arena, bindings.data()), 0) << c.name;
    std::free(arena);
    for (size_t r = 0; r < expected[k].size(); ++r) {
      const HostTensor &want = expected[k][r];
      auto got = HostTensor::fromBytes(want.getType(),
                                       memory[inputs[k].size() + r]);
      ASSERT_TRUE(succeeded(got));
      for (int64_t i = 0; i < want.getNumElements(); ++i) {
        double x = want.getDouble(i), y = got->getDouble(i);
        bool close = std::isnan(x) ? std::isnan(y)
                     : std::isinf(x)
                         ? x == y
                         : std::abs(x - y) <=
                               c.tolerance * std::max(1.0, std::abs(x));
        if (!close) {
          ADD_FAILURE() << c.name << " result " << r << " element " << i
                        << ": expected " << x << ", got " << y;
          break;
        }
      }
    }
  }
  dlclose(handle);
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
