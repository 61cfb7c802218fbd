//===- kernel_cases.cpp - Functions to compile, run and evaluate ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel_cases.h"
#include "dialects/InitAllDialects.h"
#include "dialects/Interfaces/Reference.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lowering/Lowering.h"
#include "runtime/abi/abi.h"
#include "runtime/device/cpu/library_kernel.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include "runtime/device/cpu/library_memory.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::dist;

struct dist_rt_context {
  std::vector<std::unique_ptr<::dist::cpu::LibraryKernel>> kernels;
  const ::dist::manifest::Manifest *manifest;
  void *scratchpad;
};

namespace {

constexpr int64_t minThreads = 2;

int32_t launch(dist_rt_context *, dist_rt_kernel kernel, void **buffers,
               int32_t, int64_t n, int32_t chunks) {
  for (int32_t chunk = 0; chunk < chunks; ++chunk)
    kernel(buffers, n * chunk / chunks, n * (chunk + 1) / chunks, chunk);
  return 0;
}
int32_t copy(dist_rt_context *, void *to, const void *from, int64_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}
int32_t library(dist_rt_context *context, int32_t kernel, void **buffers) {
  // The program's buffers, and the room that all kernels compute in.
  std::vector<void *> all(
      buffers, buffers + context->manifest->kernels(kernel).memories_size());
  all.push_back(context->scratchpad);
  return context->kernels[kernel]->run(all.data()).ok() ? 0 : 1;
}
int32_t collective(dist_rt_context *, int32_t, void **) { return 1; }
int32_t collectiveWait(dist_rt_context *, int32_t) { return 1; }
int32_t fail(dist_rt_context *, int32_t code, int32_t) { return code; }

/// The least positive number of a float type.
double getLeast(FloatType type) {
  llvm::APFloat least = llvm::APFloat::getSmallest(type.getFloatSemantics());
  bool lossy;
  least.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmTowardZero,
                &lossy);
  return least.convertToDouble();
}

HostTensor makeRandom(RankedTensorType type, Numbers numbers,
                      std::mt19937 &random) {
  HostTensor tensor(type);
  bool bothSigns = numbers != Numbers::Tame;
  std::uniform_real_distribution<double> real(bothSigns ? -1.0 : 0.1,
                                              bothSigns ? 1.0 : 2.0);
  std::uniform_int_distribution<int> whole(1, 7), boolean(0, 1), few(0, 60);
  double nan = std::nan(""), inf = INFINITY;
  std::vector<double> edges = {nan, inf, -inf, -0.0};
  if (auto floatType = dyn_cast<FloatType>(type.getElementType());
      floatType && numbers == Numbers::Edges) {
    double least = getLeast(floatType);
    edges.insert(edges.end(), {nan,
                               0,
                               least,
                               -least,
                               1000 * least,
                               1e300,
                               -1e300,
                               3e38,
                               -3e38,
                               65504,
                               2.5,
                               -2.5,
                               1,
                               -1,
                               0.3,
                               -0.7,
                               127.6,
                               128,
                               -128.9,
                               -129,
                               255.5,
                               256,
                               32768,
                               -32769,
                               65536,
                               2147483520,
                               2147483648,
                               -2147483648,
                               4294967296,
                               9223372036854775808.0,
                               -9223372036854775808.0,
                               18446744073709551616.0});
  }
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (tensor.isFloat() &&
        (numbers == Numbers::Edges ||
         (numbers == Numbers::FewEdges && few(random) == 0)))
      tensor.setDouble(i, edges[random() % edges.size()]);
    else if (tensor.isFloat())
      tensor.setDouble(i, real(random));
    else if (numbers == Numbers::Edges)
      tensor.setInt(
          i, int64_t((uint64_t(random()) << 32 | random()) >> random() % 60));
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

} // namespace

std::string mlir::dist::tensor(const std::string &shape,
                               const std::string &type) {
  return "tensor<" + shape + (shape.empty() ? "" : "x") + type + ">";
}

double mlir::dist::toleranceOf(const std::string &type) {
  if (type == "f64")
    return 1e-12;
  if (type == "f16")
    return 2e-3;
  if (type == "bf16")
    return 1.6e-2;
  return 4e-6;
}

void KernelCases::add(const std::string &what, const std::string &arguments,
                      const std::string &result, const std::string &body,
                      double tolerance) {
  std::string name = "case_" + std::to_string(cases.size()) + "_" + what;
  cases.push_back({name,
                   "func.func @" + name + "(" + arguments + ") -> " + result +
                       " {\n" + body + "\n}\n",
                   tolerance});
}

/// A case's results, wanted and computed.
struct KernelCases::Run {
  const Case &test;
  ArrayRef<HostTensor> want, got;
};

void KernelCases::compute(const LoweringOptions &given, Numbers numbers,
                          llvm::function_ref<void(const Run &)> inspect) {
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
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
      inputs.back().push_back(makeRandom(
          cast<RankedTensorType>(type),
          numbers == Numbers::FewEdges && i > 0 ? Numbers::BothSigns : numbers,
          random));
    ASSERT_TRUE(succeeded(evaluate(func, inputs.back(), expected.back())))
        << c.name;
  }

  llvm::SmallString<64> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("kernels", folder));
  LoweringOptions options = given;
  options.threads = std::max(given.threads, minThreads);
  ASSERT_TRUE(succeeded(lowerToPackage(*module, options, folder)));

  ::dist::manifest::Manifest manifest;
  std::ifstream file((folder + "/manifest").str(), std::ios::binary);
  ASSERT_TRUE(manifest.ParseFromIstream(&file));
  dist_rt_context runtime;
  ::dist::cpu::LibraryMemory libraryMemory;
  ASSERT_TRUE(
      ::dist::cpu::LibraryMemory::create(manifest, &libraryMemory).ok());
  const ::dist::cpu::LibraryBlock &block = libraryMemory.block(0);
  std::unique_ptr<char, decltype(&std::free)> room(
      static_cast<char *>(
          std::aligned_alloc(64, (block.bytes() + 127) / 64 * 64)),
      std::free);
  std::memset(room.get(), 0x55, block.bytes());
  runtime.manifest = &manifest;
  runtime.scratchpad = room.get() + block.scratchpad;
  for (int i = 0; i < manifest.kernels_size(); ++i) {
    runtime.kernels.emplace_back();
    ASSERT_TRUE(::dist::cpu::LibraryKernel::create(manifest.kernels(), i,
                                                   int(options.threads),
                                                   &runtime.kernels.back())
                    .ok());
  }
  void *handle =
      dlopen((folder + "/program.so").str().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  dist_rt_api api{};
  api.abi_version = DIST_RT_ABI_VERSION;
  api.struct_size = sizeof(api);
  api.launch = launch;
  api.copy = copy;
  api.library = library;
  api.collective = collective;
  api.collective_start = collective;
  api.collective_wait = collectiveWait;
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
    for (int i = 0; i < entry->slots_size(); ++i)
      bindings.push_back(room.get() + block.slots[i]);
    auto *arena = static_cast<char *>(
        std::aligned_alloc(64, (entry->arena_bytes() + 127) / 64 * 64));
    std::memset(arena, 0x55, entry->arena_bytes());
    char *const arenas[DIST_RT_MEMORIES] = {arena, nullptr};
    ASSERT_EQ(function(&runtime, arenas, bindings.data()), 0) << c.name;
    std::free(arena);
    SmallVector<HostTensor> results;
    for (size_t r = 0; r < expected[k].size(); ++r) {
      auto got = HostTensor::fromBytes(expected[k][r].getType(),
                                       memory[inputs[k].size() + r]);
      ASSERT_TRUE(succeeded(got));
      results.push_back(*got);
    }
    inspect({c, expected[k], results});
  }
  dlclose(handle);
  (void)llvm::sys::fs::remove_directories(folder);
}

void KernelCases::check(const LoweringOptions &options, Numbers numbers,
                        bool spreads) {
  compute(options, numbers, [&](const Run &run) {
    for (auto [r, want] : llvm::enumerate(run.want))
      for (int64_t i = 0; i < want.getNumElements(); ++i) {
        double x = want.getDouble(i), y = run.got[r].getDouble(i);
        // Of zeros the sign is free. A number's distance to NaN is NaN.
        bool close = std::isnan(x) ? std::isnan(y)
                     : std::isinf(x)
                         ? x == y
                         : std::abs(x - y) <=
                               run.test.tolerance * std::max(1.0, std::abs(x));
        if (!close && !(spreads && std::isnan(y))) {
          ADD_FAILURE() << run.test.name << " result " << r << " element " << i
                        << ": expected " << x << ", got " << y << "\n"
                        << run.test.text;
          break;
        }
      }
  });
}

std::vector<double> KernelCases::measure(const LoweringOptions &options) {
  std::vector<double> errors;
  compute(options, Numbers::BothSigns, [&](const Run &run) {
    double difference = 0, norm = 0;
    for (auto [want, got] : llvm::zip_equal(run.want, run.got))
      for (int64_t i = 0; i < want.getNumElements(); ++i) {
        double x = want.getDouble(i), y = got.getDouble(i);
        difference += (x - y) * (x - y);
        norm += x * x;
      }
    errors.push_back(std::sqrt(difference / norm));
  });
  return errors;
}
