//===- WinogradPlan.cpp - Whether and how to use Winograd -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Winograd/WinogradPlan.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Winograd/WinogradCosts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;

/// So many bytes stay in a core's caches from one reading to the next.
static constexpr double cachedBytes = 4 << 20;

static double getReadFlops(double bytes, double flops) {
  return std::max(0.0, bytes - cachedBytes) * flops;
}

namespace {

/// What a plan costs: the time of the thread that has the most to do, as FLOPs
/// (see WinogradCosts.h).
class Costs {
public:
  Costs(const WinogradPlan &plan, int64_t threads)
      : plan(plan), threads(threads),
        channels(double(plan.inputs) * plan.outputs) {}

  double get(WinogradUse use, bool inPanels) const {
    return use == WinogradUse::FilterGrad ? ofFilterGrad(inPanels)
                                          : ofConvolution(use, inPanels);
  }

private:
  double ofConvolution(WinogradUse use, bool inPanels) const;
  double ofFilterGrad(bool inPanels) const;
  double ofProducts(int64_t tiles) const {
    return winograd::getProductFlops(double(llvm::alignTo(tiles, 4)),
                                     double(plan.inputs), double(plan.outputs));
  }
  /// A block's products, and the transforms of its tiles.
  double ofBlock() const {
    return ofProducts(plan.blockTiles) +
           winograd::tileFlops * plan.blockTiles * (plan.inputs + plan.outputs);
  }
  double getFactors() const { return 36 * channels; }
  double getFactorBytes() const { return 4 * getFactors(); }
  /// Blocks of tiles that a thread has.
  double getShare() const {
    return double(llvm::divideCeil(plan.getBlocks(), threads));
  }

  const WinogradPlan &plan;
  int64_t threads;
  double channels;
};

} // namespace

double Costs::ofConvolution(WinogradUse use, bool inPanels) const {
  if (inPanels)
    return getShare() * (ofBlock() + getFactors() * winograd::makeFlops);
  double flops = getShare() * (ofBlock() + getReadFlops(getFactorBytes(),
                                                        winograd::readFlops));
  return use == WinogradUse::Prepared
             ? flops
             : flops + getFactors() * winograd::turnFlops / threads;
}

double Costs::ofFilterGrad(bool inPanels) const {
  if (!inPanels)
    return getShare() * (ofBlock() + 2 * getReadFlops(getFactorBytes(),
                                                      winograd::readFlops)) +
           getFactors() * winograd::turnFlops / threads;
  // Of the panels of input channels that a thread has.
  double rows = double(llvm::divideCeil(plan.inputs / plan.depth, threads));
  double part = rows * plan.depth / plan.inputs;
  double grads = 36.0 * 4 * plan.tiles * plan.outputs;
  return part * (ofProducts(plan.tiles) + getFactors() * winograd::makeFlops) +
         winograd::tileFlops * plan.tiles *
             (part * plan.inputs + plan.outputs) +
         rows * getReadFlops(grads, winograd::streamFlops);
}

static double getDirectSpeed(Type element, const ConvolutionTarget &target) {
  if (element.isF32())
    return 1;
  return target.narrowSpeed
             ? target.narrowSpeed
             : ::dist::cpu::getMultiplySpeed(getDataType(element));
}

static double ofDirect(RankedTensorType input, RankedTensorType output,
                       const ConvolutionTarget &target) {
  double weights = 9.0 * input.getDimSize(3) * output.getDimSize(3);
  double pixels = double(output.getNumElements()) / output.getDimSize(3);
  double flops = 2 * weights * pixels;
  return (winograd::smallProduct * flops /
              getDirectSpeed(input.getElementType(), target) +
          4 * weights * output.getDimSize(0) * winograd::directReadFlops) /
         target.threads;
}

static std::optional<WinogradPlan> makePlan(RankedTensorType input,
                                            RankedTensorType output,
                                            const ConvolutionTarget &target) {
  if (output.getNumElements() == 0 || input.getNumElements() == 0)
    return std::nullopt;
  WinogradPlan plan;
  plan.inputs = input.getDimSize(3);
  plan.outputs = output.getDimSize(3);
  plan.lanes = target.vectorBits / 32;
  // AVX2 has 16 registers, the others 32.
  int64_t vectors = target.vectorBits == 256 ? 2 : 4;
  while (vectors > 1 && plan.outputs % (vectors * plan.lanes) != 0)
    vectors /= 2;
  plan.columns = vectors * plan.lanes;
  if (plan.inputs % plan.lanes != 0 || plan.outputs % plan.columns != 0)
    return std::nullopt;
  // A panel, and the products of a block of tiles, stay in a core's cache.
  plan.depth = plan.lanes * (plan.inputs % (2 * plan.lanes) == 0 ? 2 : 1);
  plan.tiles = rt::WinogradOp::countTiles(output);
  // Measured at 64 to 512 channels: a block's matrices stay in 1 to 2 MiB of
  // cache; from 256 channels on the filter's don't, and more tiles share what
  // is read of them.
  plan.blockTiles = plan.inputs < 256 ? 32 : 64;
  int64_t share = llvm::divideCeil(plan.tiles, target.threads);
  plan.blockTiles = std::min<int64_t>(plan.blockTiles, llvm::alignTo(share, 4));
  return plan;
}

std::optional<WinogradPlan>
mlir::dist::planWinograd(RankedTensorType input, RankedTensorType output,
                         WinogradUse use, const ConvolutionTarget &target) {
  if (target.kernel == ConvolutionKernel::Direct)
    return std::nullopt;
  std::optional<WinogradPlan> plan = makePlan(input, output, target);
  if (!plan)
    return std::nullopt;
  Costs costs(*plan, target.threads);
  double flops = costs.get(use, /*inPanels=*/false);
  // Panels of a vector have 4 channels at least, as many as are added at once.
  if (use != WinogradUse::Prepared && plan->depth % 4 == 0) {
    double inPanels = costs.get(use, /*inPanels=*/true);
    plan->hasPanels = inPanels < flops;
    flops = std::min(flops, inPanels);
  }
  if (target.kernel == ConvolutionKernel::Winograd)
    return plan;
  // What is gained must be worth the rounding, which narrow results exceed by
  // far: 2^-9 of bf16 against some 1e-6.
  double worth = input.getElementType().isF32() ? 0.8 : 0.9;
  // Convolutions whose factors are prepared were measured (32 to 96 channels, 1
  // and 16 images) to take at least a fifth less than is said here, so that
  // equal figures are that gain.
  if (use == WinogradUse::Prepared && input.getElementType().isF32())
    worth = 1;
  // Measured with AVX-512 and from 32 channels on only.
  if (target.vectorBits == 512 && plan->inputs >= 32 && plan->columns >= 32 &&
      flops < worth * ofDirect(input, output, target))
    return plan;
  return std::nullopt;
}
