//===- FlattenKernels.cpp - Kernels of equal elements over one dim --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Passes.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_FLATTENKERNELSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

/// Whether every point of the domain is computed alike, from nothing but its
/// own elements and scalars.
static bool canFlatten(Block &body, const ClusterInfo &info) {
  if (info.domain.size() < 2)
    return false;
  for (Operation &op : body.without_terminator()) {
    auto kind = info.kinds.find(&op);
    if (isa<graph::ConstantOp>(op) && isFloating(&op))
      continue;
    if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
      if (!broadcast.getDims().empty())
        return false;
      continue;
    }
    if (!op.hasTrait<OpTrait::Elementwise>() || kind == info.kinds.end() ||
        kind->second != MemberKind::Full)
      return false;
  }
  return true;
}

static Type flatten(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get({tensor.getNumElements()},
                               tensor.getElementType());
}

/// Gives all ops of a kernel's body their flat types.
static void flattenBody(Block &body, ArrayRef<int64_t> domain) {
  for (BlockArgument argument : body.getArguments())
    if (cast<RankedTensorType>(argument.getType()).getRank() != 0)
      argument.setType(flatten(argument.getType()));
  for (Operation &op : body.without_terminator()) {
    // Shardings are of the dims that were.
    op.removeDiscardableAttr(DistDialect::kShardings);
    for (Value result : op.getResults()) {
      if (cast<RankedTensorType>(result.getType()).getShape() != domain)
        continue;
      auto flat = cast<RankedTensorType>(flatten(result.getType()));
      if (auto constant = dyn_cast<graph::ConstantOp>(op))
        constant.setValueAttr(
            cast<DenseElementsAttr>(constant.getValue()).resizeSplat(flat));
      result.setType(flat);
    }
  }
}

/// The kernel over one dim, between views.
static void flattenKernel(rt::FusedOp kernel, ClusterInfo info,
                          int64_t threads) {
  OpBuilder b(kernel);
  Block &body = kernel.getBody().front();
  SmallVector<int64_t> domain = info.domain;
  info.domain.assign({ShapedType::getNumElements(domain)});
  info.maxRowDims = 1;
  auto [rowDims, chunks] = chooseRows(info, threads);
  flattenBody(body, domain);
  SmallVector<Value> inputs;
  for (auto [input, argument] :
       llvm::zip_equal(kernel.getInputs(), body.getArguments()))
    inputs.push_back(input.getType() == argument.getType()
                         ? input
                         : graph::ReshapeOp::create(b, input.getLoc(),
                                                    argument.getType(), input));
  auto flat = rt::FusedOp::create(
      b, kernel.getLoc(), body.getTerminator()->getOperandTypes(), inputs,
      b.getDenseI64ArrayAttr(info.domain), b.getI64IntegerAttr(rowDims),
      b.getI64IntegerAttr(chunks));
  flat.getBody().takeBody(kernel.getBody());
  for (auto [old, result] :
       llvm::zip_equal(kernel->getResults(), flat->getResults()))
    old.replaceAllUsesWith(
        graph::ReshapeOp::create(b, old.getLoc(), old.getType(), result));
  kernel.erase();
}

namespace {
struct FlattenKernelsPass
    : mlir::dist::impl::FlattenKernelsPassBase<FlattenKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto kernel : llvm::make_early_inc_range(func.getOps<rt::FusedOp>()))
        if (std::optional<ClusterInfo> info =
                analyzeBody(kernel.getBody().front());
            info && canFlatten(kernel.getBody().front(), *info))
          flattenKernel(kernel, std::move(*info), getThreads(func, threads));
  }
};
} // namespace
