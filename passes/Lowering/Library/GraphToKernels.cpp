//===- GraphToKernels.cpp - Contractions become library kernels -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/ActivationGradients.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Library/KernelConverter.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Library/Widening.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace mlir::dist {
#define GEN_PASS_DEF_GRAPHTOKERNELSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

Epilogue KernelConverter::findEpilogue(Value contraction, int64_t channelDim) {
  Epilogue epilogue;
  epilogue.result = contraction;
  ArrayRef<int64_t> shape = getTensorType(contraction).getShape();
  if (contraction.hasOneUse()) {
    auto add = dyn_cast<AddOp>(*contraction.user_begin());
    if (add) {
      Value other = add.getLhs() == contraction ? add.getRhs() : add.getLhs();
      auto broadcast = other.getDefiningOp<BroadcastOp>();
      if (broadcast && getTensorType(broadcast.getOperand()).getRank() == 1 &&
          broadcast.getDims()[0] == channelDim &&
          getTensorType(broadcast.getOperand()).getDimSize(0) ==
              shape[channelDim]) {
        epilogue.bias = broadcast.getOperand();
        epilogue.result = add.getResult();
      }
    }
  }
  if (epilogue.result.hasOneUse())
    if (auto relu = dyn_cast<ReluOp>(*epilogue.result.user_begin())) {
      epilogue.relu = true;
      epilogue.result = relu.getResult();
    }
  return epilogue;
}

DictionaryAttr KernelConverter::makeKernel(rt::LibraryKind kind,
                                           ArrayRef<Attribute> memories,
                                           ArrayRef<NamedAttribute> extra) {
  NamedAttrList list(extra);
  list.set("kind", b.getStringAttr(rt::stringifyLibraryKind(kind)));
  list.set("memories", b.getArrayAttr(memories));
  return list.getDictionary(b.getContext());
}

DictionaryAttr KernelConverter::markReference(DictionaryAttr kernel) {
  NamedAttrList list(kernel);
  list.set("reference", b.getUnitAttr());
  return list.getDictionary(b.getContext());
}

bool KernelConverter::widenIfNarrow(Operation *op) {
  if (!widen || !isNarrow(op->getResult(0).getType()))
    return false;
  widenContraction(op);
  return true;
}

/// `plain` in the layout that the library chose for a memory of `kernel`.
Value KernelConverter::reorderTo(Value plain, DictionaryAttr plainMemory,
                                 DictionaryAttr kernel, unsigned memory,
                                 int64_t bytes) {
  auto packed = kernel.getAs<ArrayAttr>("memories")[memory];
  DictionaryAttr reorder = makeKernel(
      rt::LibraryKind::Reorder, {plainMemory, packed},
      {b.getNamedAttr("packed_kernel", kernel),
       b.getNamedAttr("packed_memory", b.getI64IntegerAttr(memory))});
  auto type = RankedTensorType::get({bytes}, b.getI8Type());
  return rt::LibraryOp::create(b, plain.getLoc(), type, ValueRange{plain},
                               reorder);
}

bool mlir::dist::isPlain(const ::dist::cpu::LibraryKernelInfo::Memory &memory,
                         DictionaryAttr plain) {
  return !memory.strides.empty() &&
         ArrayRef<int64_t>(memory.strides) ==
             plain.getAs<DenseI64ArrayAttr>("strides").asArrayRef();
}

/// `depth`: how many ops are looked through; two ops may read one value, so
/// that paths may be many.
static bool isPreparable(Value value, int depth) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isUnchangedWeight(argument);
  Operation *op = value.getDefiningOp();
  if (isa<ConstantOp>(op))
    return true;
  // What is converted is not: kernels of narrow types convert as they read.
  return depth > 0 && op->getNumResults() == 1 &&
         (op->hasTrait<OpTrait::Elementwise>() || isa<BroadcastOp>(op)) &&
         !isa<ConvertOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isPreparable(operand, depth - 1);
         });
}

bool mlir::dist::isPreparable(Value value) { return ::isPreparable(value, 8); }

LogicalResult KernelConverter::run() {
  // Composites that an earlier pass left are simpler ops from here on.
  SmallVector<Operation *> composites;
  func.walk([&](DecomposableOpInterface op) { composites.push_back(op); });
  while (!composites.empty()) {
    Operation *op = composites.pop_back_val();
    b.setInsertionPoint(op);
    SmallVector<Value> replacements;
    if (failed(cast<DecomposableOpInterface>(op).decompose(b, replacements)))
      return op->emitOpError("cannot be decomposed for code generation");
    op->replaceAllUsesWith(replacements);
    op->erase();
    if (composites.empty())
      func.walk([&](DecomposableOpInterface op) { composites.push_back(op); });
  }
  simplifyActivationGradients(func);
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      convertDot(dot);
    else if (auto conv = dyn_cast<ConvOp>(op))
      convertConv(conv);
    else if (auto grad = dyn_cast<ConvInputGradOp>(op))
      convertInputGrad(grad);
    else if (auto grad = dyn_cast<ConvFilterGradOp>(op))
      convertFilterGrad(grad);
  }
  // What the kernels took over has no use any more.
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  return success();
}

namespace {
struct GraphToKernelsPass
    : mlir::dist::impl::GraphToKernelsPassBase<GraphToKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    ConvolutionTarget target;
    std::optional<ConvolutionKernel> kernel =
        parseConvolutionKernel(convolution);
    if (!kernel) {
      getOperation().emitError("expected convolution to be auto, direct or "
                               "winograd, but got ")
          << convolution;
      return signalPassFailure();
    }
    if (!llvm::is_contained({0, 128, 256, 512}, vectorBits)) {
      getOperation().emitError("expected vector-bits to be 0, 128, 256 or 512, "
                               "but got ")
          << vectorBits.getValue();
      return signalPassFailure();
    }
    if (threads < 1) {
      getOperation().emitError("expected at least one of threads, but got ")
          << threads.getValue();
      return signalPassFailure();
    }
    target.kernel = *kernel;
    target.threads = threads;
    target.vectorBits = vectorBits ? vectorBits : getHostVectorBits();
    target.narrowSpeed = narrowSpeed;
    LibraryAnswers answers;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration()) {
        // The host has all devices' threads.
        target.threads = getThreads(func, threads);
        if (failed(KernelConverter(func, target, widen, answers).run()))
          return signalPassFailure();
      }
  }
};
} // namespace
