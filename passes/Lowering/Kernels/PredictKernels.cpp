//===- PredictKernels.cpp - How long kernels take -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Kernels/PredictKernels.h"
#include "passes/Lowering/Memory/PlannedMemory.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Graph/IR/GraphRows.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Analysis/Timeline.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Winograd/WinogradCosts.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What a kernel is made of.
struct KernelWork {
  /// Seconds of one thread that is alone.
  double compute = 0;
  double bytes = 0;
  /// Threads that it can use.
  int64_t threads = 1;
  /// Loops compute while the next elements arrive; a contraction has what it
  /// needs in its cache, and waits while it fetches that.
  bool overlaps = false;
};
} // namespace

/// To start a kernel, and to wake and await each further thread.
static constexpr double startSeconds = 1e-6, threadSeconds = 4e-6;

//===----------------------------------------------------------------------===//
// Kernels of the library
//===----------------------------------------------------------------------===//

/// The figures are of a kernel that runs again and again; in a step others have
/// used the caches in between.
static constexpr double shareInStep = 0.87;
/// Gradients of convolutions that skip pixels write or read with gaps.
static constexpr double stridedShare = 0.65;
/// The library's plain loops, beside its contractions in f32: 0.2 to 0.3
/// billion operations a second where those do 70 (measured; a third of it in
/// bf16).
static constexpr double referenceShare = 1.0 / 300;

static ArrayRef<int64_t> dimsOf(ArrayAttr memories, unsigned index) {
  return cast<DictionaryAttr>(memories[index])
      .getAs<DenseI64ArrayAttr>("dims")
      .asArrayRef();
}

static double productOf(ArrayRef<int64_t> dims) {
  double product = 1;
  for (int64_t size : dims)
    product *= double(size);
  return product;
}

static double getByteSizes(ValueRange values) {
  double bytes = 0;
  for (Value value : values)
    bytes += double(getByteSize(value.getType()));
  return bytes;
}

static KernelWork getWork(rt::LibraryOp op, const MachineModel &machine) {
  DictionaryAttr kernel = op.getKernel();
  auto memories = kernel.getAs<ArrayAttr>("memories");
  rt::LibraryKind kind = rt::getLibraryKind(kernel);
  KernelWork work;
  work.bytes = getByteSizes(op->getOperands()) + getByteSizes(op->getResults());
  work.threads = machine.threads;
  if (kind == rt::LibraryKind::Reorder)
    return work;
  bool half =
      cast<DictionaryAttr>(memories[0]).getAs<StringAttr>("type").getValue() ==
      "bf16";
  double faster =
      half ? machine.bf16FlopsPerSecond / machine.flopsPerSecond : 1;
  // Plain loops are as slow whatever they compute.
  bool isReference = kernel.contains("reference");
  auto rateOf = [&](double rate) {
    return isReference ? machine.flopsPerSecond * referenceShare
                       : rate * faster * shareInStep;
  };
  if (kind == rt::LibraryKind::Matmul) {
    work.compute = 2 * productOf(dimsOf(memories, memories.size() - 1)) *
                   double(dimsOf(memories, 0).back()) /
                   rateOf(machine.flopsPerSecond);
    return work;
  }
  // Which memory has the sizes of the output, which those of the filter, and
  // how fast it is.
  size_t output = memories.size() - 1, filter = 1;
  double rate = machine.convFlopsPerSecond;
  if (kind == rt::LibraryKind::ConvInputGrad) {
    output = 0;
    rate = machine.inputGradFlopsPerSecond;
  } else if (kind == rt::LibraryKind::ConvFilterGrad) {
    output = 1;
    filter = 2;
    rate = machine.filterGradFlopsPerSecond;
  }
  ArrayRef<int64_t> sizes = dimsOf(memories, output);
  ArrayRef<int64_t> window = dimsOf(memories, filter);
  bool strided =
      llvm::any_of(kernel.getAs<DenseI64ArrayAttr>("strides").asArrayRef(),
                   [](int64_t stride) { return stride > 1; });
  if (strided && kind != rt::LibraryKind::Conv)
    rate *= stridedShare;
  work.compute = 2 * double(sizes[0]) * productOf(sizes.drop_front(2)) *
                 productOf(window) / rateOf(rate);
  return work;
}

//===----------------------------------------------------------------------===//
// Generated kernels
//===----------------------------------------------------------------------===//

/// Vector instructions an element, as generated code has them.
static double getInstructions(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || isFloating(op))
    return 0;
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed ? costed.getInstructions() : 1;
}

/// A core adds fewer vectors than it multiplies and adds in a contraction,
/// where each value that is loaded is used many times.
static constexpr double elementShare = 1.0 / 6;

static KernelWork getWork(rt::FusedOp op, const MachineModel &machine) {
  KernelWork work;
  work.overlaps = true;
  work.threads = std::min<int64_t>(op.getChunks(), machine.threads);
  Block &body = op.getBody().front();
  // Of what only parts are read of, only those are.
  for (BlockArgument argument : body.getArguments()) {
    double bytes = double(getByteSize(argument.getType())), parts = 0;
    bool all = false;
    for (Operation *user : argument.getUsers())
      if (readsPart(user))
        parts += getByteSizes(user->getResults());
      else
        all = true;
    work.bytes += all ? bytes : std::min(bytes, parts);
  }
  double instructions = 0;
  for (Operation &inner : body.without_terminator()) {
    double elements = 0;
    for (Value value : inner.getOperands())
      elements = std::max(
          elements, productOf(cast<ShapedType>(value.getType()).getShape()));
    for (Value value : inner.getResults())
      elements = std::max(
          elements, productOf(cast<ShapedType>(value.getType()).getShape()));
    instructions += getInstructions(&inner) * elements;
  }
  work.compute = instructions / (machine.flopsPerSecond * elementShare);
  work.bytes += getByteSizes(op->getResults());
  return work;
}

/// The work of the one op that the kernel is, if it is a part of Winograd's
/// convolution.
static std::optional<double> getWinogradWork(Operation *op) {
  auto shapeOf = [](Value value) {
    return cast<ShapedType>(value.getType()).getShape();
  };
  auto countTiles = [](Value images) {
    return double(
        rt::WinogradOp::countTiles(cast<RankedTensorType>(images.getType())));
  };
  /// Of the products; a filter's factors are made in the cache so many times.
  /// To transform tiles takes as long as it takes to move them, which their
  /// bytes say: products wait for it (measured at 32 to 512 channels).
  auto getFlops = [&](Value input, Value output, double panels) {
    double inputs = double(shapeOf(input).back());
    double outputs = double(shapeOf(output).back());
    double tiles = countTiles(output);
    return winograd::getProductFlops(tiles, inputs, outputs) +
           panels * winograd::makeFlops * 36 * inputs * outputs;
  };
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case<rt::WinogradOp>([&](auto conv) {
        return getFlops(conv.getInput(), conv.getOutput(), 0);
      })
      .Case<rt::WinogradPanelsOp>([&](auto conv) {
        double blocks =
            std::ceil(countTiles(conv.getOutput()) / double(conv.getTiles()));
        return getFlops(conv.getInput(), conv.getOutput(), blocks);
      })
      .Case<rt::WinogradProductsOp>([&](auto products) {
        return getFlops(products.getInput(), products.getGrad(), 0);
      })
      .Case<rt::WinogradPanelsGradOp>([&](auto grad) {
        return getFlops(grad.getInput(), grad.getGrad(), 1);
      })
      .Case<rt::WinogradFilterOp>([&](auto filter) {
        return winograd::turnFlops * productOf(shapeOf(filter.getOutput()));
      })
      .Case<rt::WinogradFilterGradOp>([&](auto grad) {
        return winograd::turnFlops * productOf(shapeOf(grad.getSums()));
      })
      .Default(std::nullopt);
}

static KernelWork getKernelWork(rt::FusedOp op, const MachineModel &machine) {
  Operation &first = op.getBody().front().front();
  std::optional<double> flops = getWinogradWork(&first);
  if (!flops)
    return getWork(op, machine);
  KernelWork work;
  work.overlaps = isa<rt::WinogradFilterOp, rt::WinogradFilterGradOp>(first);
  work.compute = *flops / machine.flopsPerSecond;
  work.threads = std::min<int64_t>(op.getChunks(), machine.threads);
  work.bytes = getByteSizes(op->getOperands()) + getByteSizes(op->getResult(0));
  return work;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

double mlir::dist::predictKernelSeconds(Operation *op,
                                        const MachineModel &machine,
                                        int64_t ranks) {
  KernelWork work;
  if (auto library = dyn_cast<rt::LibraryOp>(op))
    work = getWork(library, machine);
  else if (auto fused = dyn_cast<rt::FusedOp>(op))
    work = getKernelWork(fused, machine);
  else // A view, or a constant.
    return 0;
  double compute =
      work.compute /
      machine.getSpeedup(ranks, machine.threadEfficiency, work.threads);
  double memory =
      work.bytes /
      (machine.getBytesPerSecond(work.bytes, ranks) *
       machine.getSpeedup(ranks, machine.memoryThreadEfficiency, work.threads));
  return (work.overlaps ? std::max(compute, memory) : compute + memory) +
         startSeconds + threadSeconds * double(work.threads - 1);
}

/// Passes of what is only looked at; no code is made of it.
static LogicalResult
runUnverified(ModuleOp module, const LoweringOptions &options,
              void (*build)(OpPassManager &, const LoweringOptions &)) {
  PassManager pm(module->getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(false);
  build(pm, options);
  return pm.run(module);
}

LogicalResult mlir::dist::predictByKernels(ModuleOp module, ModuleOp few,
                                           const LoweringOptions &options,
                                           const MachineModel &machine,
                                           ExplainReport &report,
                                           bool details) {
  OwningOpRef<ModuleOp> lowered = few ? few.clone() : module.clone();
  if (failed(runUnverified(*lowered, options, buildKernelsPipeline)))
    return failure();
  if (showsFew(*lowered)) {
    lowered = module.clone();
    if (failed(runUnverified(*lowered, options, buildKernelsPipeline)))
      return failure();
  }
  predictTimes(*lowered, machine, report, predictKernelSeconds, details);
  if (failed(runUnverified(*lowered, options, buildProgramsPipeline)))
    return failure();
  return addPlannedMemory(*lowered, options, report);
}
