//===- library_sweep_test.cpp - The library's kernels, by the thousand ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions, their gradients and products of random shapes, types, layouts
// and threads against plain loops. In half of the cases all sums are exact in
// any order: results must be equal. In the others they must be as near as sums
// of f32 are, and each run's like the one before; some have NaN, infinities and
// denormals. Nothing beside the results may be written.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/team.h"
#include "test/runtime/sweep/problem.h"
#include "test/runtime/sweep/runner.h"

namespace dist::sweep {
namespace {

using cpu::KernelTable;
using cpu::LibraryKernel;
using cpu::LibraryKernelInfo;

/// Runs a kernel twice over guarded buffers; empty if all was well.
std::string runKernel(const KernelTable &table, int index, int threads,
                      const std::vector<Guarded *> &buffers,
                      std::string *implementation) {
  std::unique_ptr<LibraryKernel> kernel;
  Status status = LibraryKernel::create(table, index, threads, &kernel);
  if (!status.ok())
    return "described, but not created: " + status.message();
  *implementation = kernel->implementation();
  cpu::TeamScope team(threads); // as a device's thread has it
  Guarded scratch(kernel->scratchpadBytes());
  std::vector<void *> pointers;
  for (Guarded *buffer : buffers)
    pointers.push_back(buffer->data());
  pointers.push_back(scratch.data());
  status = kernel->run(pointers.data());
  if (!status.ok())
    return status.message();
  for (size_t i = 0; i < buffers.size(); ++i)
    if (std::string wrong = buffers[i]->inspect("memory " + std::to_string(i));
        !wrong.empty())
      return wrong;
  return scratch.inspect("scratch memory");
}

/// Whether NaN and infinities may reach results that do not depend on them:
/// convolutions multiply the zeros of pads and gaps, too (GraphBase.td).
bool maySpread(const Problem &problem) {
  if (problem.spec.kind() == Spec::MATMUL)
    return false;
  for (const Values &input : problem.inputs)
    for (double number : input.numbers)
      if (!std::isfinite(number))
        return true;
  return false;
}

std::string compare(const Problem &problem, const Values &got) {
  bool spreads = maySpread(problem);
  const Values &want = problem.results[0];
  int64_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < want.numbers.size(); ++i) {
    double x = want.numbers[i], y = got.numbers[i];
    bool mayBeNan = std::isnan(x) || spreads || problem.mayBeNan[i];
    if (x == y || (std::isnan(y) && mayBeNan) ||
        std::fabs(x - y) <= problem.bounds[0][i])
      continue;
    if (wrong++ == 0) {
      char line[200];
      std::snprintf(line, sizeof(line),
                    "element %zu: expected %.9g, got %.9g, bound %.2g", i, x, y,
                    problem.bounds[0][i]);
      first = line;
    }
  }
  return wrong ? first + ", " + std::to_string(wrong) + " of " +
                     std::to_string(want.numbers.size()) + " wrong"
               : "";
}

/// The results with so many threads, packing what the library wants packed; the
/// error, or nothing.
std::string solve(const Problem &problem, int threads, Values *got,
                  std::string *implementation) {
  KernelTable table;
  *table.Add() = problem.spec;
  LibraryKernelInfo info;
  Status status = describe(table, 0, threads, &info);
  if (!status.ok())
    return status.message();
  *implementation = info.implementation;
  std::vector<Guarded> buffers;
  int count = problem.spec.memories_size(), packed = -1;
  buffers.reserve(count + 1);
  std::vector<Guarded *> pointers;
  for (int i = 0; i < count; ++i) {
    const Spec::Memory &memory = problem.spec.memories(i);
    buffers.emplace_back(info.memories[i].bytes);
    pointers.push_back(&buffers.back());
    if (memory.strides_size() == 0)
      packed = i;
    else if (i + 1 < count)
      Values(problem.inputs[i])
          .store(problem.strides[i], buffers.back().data());
  }
  Guarded plain(packed < 0
                    ? 0
                    : int64_t(Values(packed + 1 < count ? problem.inputs[packed]
                                                        : problem.results[0])
                                  .numbers.size()) *
                          byteSize(problem.spec.memories(0).type()));
  std::string packing;
  if (packed >= 0) { // a reorder between it and the plain tensor
    Spec &reorder = *table.Add();
    reorder.set_kind(Spec::REORDER);
    Spec::Memory plainMemory = problem.spec.memories(packed);
    plainMemory.mutable_strides()->Add(problem.strides[packed].begin(),
                                       problem.strides[packed].end());
    bool isResult = packed + 1 == count;
    *reorder.add_memories() =
        isResult ? problem.spec.memories(packed) : plainMemory;
    *reorder.add_memories() =
        isResult ? plainMemory : problem.spec.memories(packed);
    reorder.set_packed_kernel(0);
    reorder.set_packed_memory(packed);
    if (!isResult) {
      Values(problem.inputs[packed])
          .store(problem.strides[packed], plain.data());
      std::string wrong =
          runKernel(table, 1, threads, {&plain, pointers[packed]}, &packing);
      if (!wrong.empty())
        return "reorder (" + packing + "): " + wrong;
    }
  }
  auto runOnce = [&]() -> std::string {
    std::string wrong = runKernel(table, 0, threads, pointers, implementation);
    if (!wrong.empty() || packed + 1 != count)
      return wrong;
    return runKernel(table, 1, threads, {pointers[packed], &plain}, &packing);
  };
  auto read = [&](Values *to) {
    to->load(problem.strides.back(),
             packed + 1 == count ? plain.data() : buffers.back().data());
  };
  *got = problem.results[0];
  if (std::string wrong = runOnce(); !wrong.empty())
    return wrong;
  read(got);
  Values second = *got;
  if (std::string wrong = runOnce(); !wrong.empty())
    return wrong;
  read(&second);
  if (std::string wrong = compare(problem, *got); !wrong.empty())
    return wrong;
  if (std::memcmp(second.numbers.data(), got->numbers.data(),
                  got->numbers.size() * sizeof(double)) != 0) {
    size_t at = 0;
    while (std::memcmp(&second.numbers[at], &got->numbers[at],
                       sizeof(double)) == 0)
      ++at;
    return "another result when run again: " +
           std::to_string(got->numbers[at]) + " and " +
           std::to_string(second.numbers[at]) + " at " + std::to_string(at);
  }
  return "";
}

Outcome runCase(uint64_t seed, uint64_t index,
                const std::function<void(std::string)> &begin) {
  Random random(seed, index);
  Problem problem;
  Spec::Kind kind = random.pick({Spec::CONV, Spec::CONV_INPUT_GRAD,
                                 Spec::CONV_FILTER_GRAD, Spec::MATMUL});
  DataType type = random.pick(
      {manifest::F32, manifest::F32, manifest::BF16, manifest::F16});
  Numbers numbers = random.oneIn(2)
                        ? Numbers::Exact
                        : random.pick({Numbers::Real, Numbers::Real,
                                       Numbers::Edges, Numbers::Denormal});
  problem.threads = int(random.between(1, 4));
  problem.spec.set_kind(kind);
  auto makeProblem = kind == Spec::MATMUL ? makeProduct : makeConvolution;
  std::function<void()> solveProblem =
      makeProblem(&problem, random, type, numbers);
  static const char *const names[] = {" exact", " real", " edges", " denormal"};
  Outcome outcome;
  outcome.description =
      manifest::LibraryKernel_Kind_Name(kind) + " " +
      manifest::DataType_Name(type) + (problem.spec.bias() ? " bias" : "") +
      (problem.spec.relu() ? " relu" : "") + names[int(numbers)] + " threads " +
      std::to_string(problem.threads) + problem.what;
  begin(outcome.description);
  LibraryKernelInfo info;
  if (!describe(problem.spec, problem.threads, &info).ok()) {
    outcome.ran = false;
    if (type == manifest::F32)
      outcome.failure = "the library has no such kernel";
    return outcome;
  }
  solveProblem();
  Values got(problem.results[0]);
  for (int threads : {problem.threads, 1}) {
    std::string implementation;
    outcome.failure = solve(problem, threads, &got, &implementation);
    if (outcome.failure.empty())
      continue;
    outcome.failure = implementation + ", " + std::to_string(threads) +
                      " threads: " + outcome.failure;
    break;
  }
  return outcome;
}

TEST(Sweep, LibraryKernels) { sweep(runCase, 300); }

} // namespace
} // namespace dist::sweep
