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

/// Whether an op makes one number of all elements of the domain.
static bool reducesAll(Operation &op, ArrayRef<int64_t> domain) {
  auto reduce = dyn_cast<graph::ReduceOp>(op);
  return reduce && reduce.getDims().size() == domain.size() &&
         cast<RankedTensorType>(reduce.getOperand().getType()).getShape() ==
             domain;
}

/// Over how many dims the kernel can be: one, where every point of the domain
/// is computed alike, from nothing but its own elements and scalars; two, where
/// sums over all of them, whose rows are a chunk's, are made besides; none.
static unsigned getFlatDims(rt::FusedOp kernel, const ClusterInfo &info) {
  Block &body = kernel.getBody().front();
  unsigned dims = 1;
  for (Operation &op : body.without_terminator()) {
    if (reducesAll(op, info.domain)) {
      dims = 2;
      continue;
    }
    auto kind = info.kinds.find(&op);
    if (isa<graph::ConstantOp>(op) && isFloating(&op))
      continue;
    if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
      if (!broadcast.getDims().empty())
        return 0;
      continue;
    }
    if (!op.hasTrait<OpTrait::Elementwise>() || kind == info.kinds.end() ||
        kind->second != MemberKind::Full)
      return 0;
  }
  if (dims == 2 &&
      static_cast<int64_t>(kernel.getChunks()) > info.domain.front())
    return 0;
  return info.domain.size() > dims ? dims : 0;
}

/// Over one dim, or over the first and one of all the others.
static Type flatten(Type type, unsigned dims) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape{tensor.getNumElements()};
  if (dims == 2) {
    int64_t rows = tensor.getDimSize(0);
    shape = {rows, ShapedType::getNumElements(tensor.getShape().drop_front())};
  }
  return RankedTensorType::get(shape, tensor.getElementType());
}

/// Gives all ops of a kernel's body their flat types.
static void flattenBody(Block &body, ArrayRef<int64_t> domain, unsigned dims) {
  for (Operation &op : body.without_terminator())
    if (reducesAll(op, domain))
      cast<graph::ReduceOp>(op).setDims(
          llvm::to_vector(llvm::seq<int64_t>(0, dims)));
  for (BlockArgument argument : body.getArguments())
    if (cast<RankedTensorType>(argument.getType()).getRank() != 0)
      argument.setType(flatten(argument.getType(), dims));
  for (Operation &op : body.without_terminator()) {
    // Shardings are of the dims that were.
    op.removeDiscardableAttr(DistDialect::kShardings);
    for (Value result : op.getResults()) {
      if (cast<RankedTensorType>(result.getType()).getShape() != domain)
        continue;
      auto flat = cast<RankedTensorType>(flatten(result.getType(), dims));
      if (auto constant = dyn_cast<graph::ConstantOp>(op))
        constant.setValueAttr(
            cast<DenseElementsAttr>(constant.getValue()).resizeSplat(flat));
      result.setType(flat);
    }
  }
}

/// The kernel over so many dims, between views.
static void flattenKernel(rt::FusedOp kernel, ClusterInfo info, unsigned dims,
                          int64_t threads) {
  OpBuilder b(kernel);
  Block &body = kernel.getBody().front();
  // Sums have a part for each chunk: there stay as many.
  SmallVector<Type> results(body.getTerminator()->getNumOperands());
  for (auto [i, result] : llvm::enumerate(kernel->getResults()))
    results[i] =
        dims == 1 || cast<RankedTensorType>(result.getType()).getShape() ==
                         ArrayRef(info.domain)
            ? flatten(result.getType(), dims)
            : result.getType();
  int64_t rowDims = std::min<int64_t>(kernel.getRowDims(), 1);
  int64_t chunks = kernel.getChunks();
  flattenBody(body, info.domain, dims);
  if (dims == 1) {
    info.domain.assign({ShapedType::getNumElements(info.domain)});
    info.maxRowDims = 1;
    std::tie(rowDims, chunks) = chooseRows(info, threads);
  } else {
    info.domain = {info.domain[0], ShapedType::getNumElements(
                                       ArrayRef(info.domain).drop_front())};
  }
  SmallVector<Value> inputs;
  for (auto [input, argument] :
       llvm::zip_equal(kernel.getInputs(), body.getArguments()))
    inputs.push_back(input.getType() == argument.getType()
                         ? input
                         : graph::ReshapeOp::create(b, input.getLoc(),
                                                    argument.getType(), input));
  auto flat = rt::FusedOp::create(
      b, kernel.getLoc(), results, inputs, b.getDenseI64ArrayAttr(info.domain),
      b.getI64IntegerAttr(rowDims), b.getI64IntegerAttr(chunks));
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
            info)
          if (unsigned dims = getFlatDims(kernel, *info))
            flattenKernel(kernel, std::move(*info), dims,
                          getThreads(func, threads));
  }
};
} // namespace
