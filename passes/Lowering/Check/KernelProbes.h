//===- KernelProbes.h - Each kernel of a program as an entry --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For --check=kernels: a module in which every kernel of a compiled program is
// an entry by itself, to be run on the numbers that the evaluator has for its
// inputs; and the comparison of what it gives.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_CHECK_KERNELPROBES_H
#define PASSES_LOWERING_CHECK_KERNELPROBES_H

#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lowering/Check/EntryCases.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// One kernel of a program.
struct KernelProbe {
  /// Its function in the module of probes.
  func::FuncOp function;
  /// The program's function, and which of its kernels it is, from 0 on.
  std::string program;
  int64_t number = 0;
  /// What it computes, the nodes of the model behind it, and what runs it: the
  /// library's name, or "generated".
  std::string work, nodes, implementation;
  /// The program's values that it takes and gives.
  SmallVector<Value> inputs, results;
  /// How the parts of a result that is kept by chunk are put together; what
  /// each part holds is up to the kernel.
  SmallVector<std::optional<Reduction>> chunks;
  /// Largest difference, relative to the result's largest magnitude.
  double tolerance = 0;
};

struct KernelProbes {
  OwningOpRef<ModuleOp> module;
  std::vector<KernelProbe> probes;
  /// Which probe the kernel's op is.
  DenseMap<Operation *, size_t> numbers;
};

/// Of a module of kernels over tensors (buildKernelsPipeline). Kernels whose
/// results have a layout of their own are parts of those that read them.
KernelProbes makeKernelProbes(ModuleOp kernels, int64_t threads);

/// What a kernel takes, and what it has to give.
struct KernelCase {
  const KernelProbe *probe = nullptr;
  SmallVector<HostTensor> inputs, expected;
};

/// Evaluates the entries of `global` as the programs of `kernels`, on random
/// arguments, and gives each kernel's case of the first rank that runs it, and
/// behind those of an entry its own. Fails, with an error emitted, where
/// something cannot be evaluated, or if `visit` or `visitEntry` fails.
LogicalResult evaluateKernels(
    ModuleOp global, ModuleOp kernels, const KernelProbes &probes,
    uint64_t seed, llvm::function_ref<LogicalResult(KernelCase)> visit,
    llvm::function_ref<LogicalResult(const EntryPrograms &, EntryCase)>
        visitEntry);

/// How far a kernel's results are from what they have to be.
struct KernelDifference {
  /// Relative to the result's largest magnitude.
  double largest = 0;
  bool isAllowed = true;
  /// Where, of the result that is worst.
  unsigned result = 0;
  SmallVector<int64_t> index;
  double expected = 0, actual = 0;
};

/// A difference is allowed within the tolerance; and as far as the element
/// itself moves when the inputs change by their rounding: where ones of
/// opposite sign cancel out, or at a step such as that of a comparison.
FailureOr<KernelDifference> compareKernel(const KernelCase &test,
                                          ArrayRef<HostTensor> actual);

} // namespace mlir::dist

#endif // PASSES_LOWERING_CHECK_KERNELPROBES_H
