//===- EmitKernels.cpp - Kernel bodies become loops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lowering/Kernels/KernelEmitter.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_EMITKERNELSPASS
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

/// Sums of reductions, whose order is free, are left to LLVM.
static bool isReduction(arith::FastMathFlags flags) {
  return arith::bitEnumContainsAll(flags, arith::FastMathFlags::reassoc);
}

/// x * y + z with one rounding, wherever an expression has it: LLVM would look
/// at what else uses the product, and compute a value that two loops need in
/// two ways.
static void fuseProducts(func::FuncOp func) {
  auto fuse = [](Operation *op, Value sum, arith::FastMathFlags flags,
                 bool subtracts) {
    if (isReduction(flags))
      return;
    OpBuilder b(op);
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    auto negate = [&](Value value) -> Value {
      return subtracts ? arith::NegFOp::create(b, op->getLoc(), value) : value;
    };
    Value fused;
    if (auto product = lhs.getDefiningOp<arith::MulFOp>())
      fused = math::FmaOp::create(b, op->getLoc(), product.getLhs(),
                                  product.getRhs(), negate(rhs));
    else if (auto product = rhs.getDefiningOp<arith::MulFOp>())
      fused = math::FmaOp::create(b, op->getLoc(), negate(product.getLhs()),
                                  product.getRhs(), lhs);
    else
      return;
    sum.replaceAllUsesWith(fused);
    op->erase();
  };
  func.walk([&](Operation *op) {
    if (auto add = dyn_cast<arith::AddFOp>(op))
      fuse(op, add.getResult(), add.getFastmath(), false);
    else if (auto sub = dyn_cast<arith::SubFOp>(op))
      fuse(op, sub.getResult(), sub.getFastmath(), true);
  });
}

/// The sign of zero does not matter, and what reductions add may be a product;
/// anything more would change what carefully written expressions compute.
static void setFastMath(func::FuncOp func) {
  func.walk([](Operation *op) {
    auto iface = dyn_cast<arith::ArithFastMathInterface>(op);
    // Conversions have flags only where they were set.
    if (!iface || !iface.getFastMathFlagsAttr() || isa<arith::CmpFOp>(op))
      return;
    auto flags =
        iface.getFastMathFlagsAttr().getValue() | arith::FastMathFlags::nsz;
    if (isa<arith::MulFOp>(op))
      flags = flags | arith::FastMathFlags::contract;
    op->setAttr(iface.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(), flags));
  });
}

/// Trip counts from which an inner loop is worth vectors.
static constexpr int64_t vectorTrips = 16;

/// LLVM unrolls short loops as a whole before it vectorises, and then takes the
/// loop around them, whose accesses are far apart (gathers and scatters). So
/// innermost loops that fill vectors stay loops until they are vectorised.
static void keepInnermostLoops(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
      {});
  auto annotation = LLVM::LoopAnnotationAttr::get(
      context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  func.walk([&](scf::ForOp loop) {
    auto walked = loop.getBody()->walk(
        [](scf::ForOp) { return WalkResult::interrupt(); });
    std::optional<llvm::APInt> trips = loop.getStaticTripCount();
    if (!walked.wasInterrupted() && trips && trips->sge(vectorTrips))
      loop->setAttr("loop_annotation", annotation);
  });
}

namespace {

struct EmitKernelsPass
    : mlir::dist::impl::EmitKernelsPassBase<EmitKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<rt::KernelOp>())) {
      builder.setInsertionPoint(kernel);
      FailureOr<func::FuncOp> func = emitKernel(kernel, builder);
      if (failed(func))
        return signalPassFailure();
      fuseProducts(*func);
      setFastMath(*func);
      keepInnermostLoops(*func);
      kernel.erase();
    }
  }
};

/// A conversion of integers to bf16, which canonicalization makes of one to f32
/// and a rounding of that, in two steps again.
template <typename ConvertOp>
struct ConvertThroughF32 : OpRewritePattern<ConvertOp> {
  using OpRewritePattern<ConvertOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isBF16())
      return failure();
    Type wide = rewriter.getF32Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      wide = shaped.clone(wide);
    Value number =
        ConvertOp::create(rewriter, op.getLoc(), wide, op->getOperands());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, number);
    return success();
  }
};

struct ApproximateMathPass
    : mlir::dist::impl::ApproximateMathPassBase<ApproximateMathPass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // Each has a relative error of some 5e-7 or less; the others' upstream
    // polynomials are too rough, and go to the C library.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == "math.exp" || name == "math.log" || name == "math.tanh" ||
             name == "math.erf";
    });
    // Few machines round to bf16 themselves; the others would call a function.
    arith::populateExpandBFloat16Patterns(patterns);
    patterns.add<ConvertThroughF32<arith::SIToFPOp>,
                 ConvertThroughF32<arith::UIToFPOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
