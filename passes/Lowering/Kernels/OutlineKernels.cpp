//===- OutlineKernels.cpp - One kernel for equal bodies -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bodies are equal when their ops are, without locations and without the names
// of what they were.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Kernels/KernelEdits.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Memory/MemoryLayout.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Program/Bindings.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

/// Attributes that say where an op came from, not what it computes.
static void dropDiscardableAttributes(Operation *op) {
  // At once: each change makes a dictionary.
  op->walk([none = DictionaryAttr::get(op->getContext())](Operation *inner) {
    inner->setDiscardableAttrs(none);
  });
}

/// All that an op is but its place: ops of equal keys do the same. Attributes
/// and types are one object each.
static void appendKey(Operation *op, llvm::DenseMap<Value, int64_t> &numbers,
                      std::vector<int64_t> &key) {
  auto addObject = [&](auto object) {
    key.push_back(reinterpret_cast<int64_t>(object.getAsOpaquePointer()));
  };
  auto define = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    addObject(value.getType());
  };
  addObject(op->getName().getIdentifier());
  addObject(op->getAttrDictionary());
  key.push_back(op->getNumOperands());
  for (Value operand : op->getOperands())
    key.push_back(numbers.at(operand));
  key.push_back(op->getNumResults());
  for (Value result : op->getResults())
    define(result);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      key.push_back(block.getNumArguments());
      for (BlockArgument argument : block.getArguments())
        define(argument);
      for (Operation &inner : block)
        appendKey(&inner, numbers, key);
      key.push_back(-1);
    }
}

/// In how many parts threads run the op's rows.
static int64_t chooseChunks(Operation *op, int64_t rows, int64_t threads) {
  double work = 0;
  for (Type type : op->getOperandTypes())
    work = std::max(work, double(cast<ShapedType>(type).getNumElements()));
  if (auto costed = dyn_cast<CostOpInterface>(op))
    work *= costed.getInstructions() + 4;
  return rows < threads || work <= kLeastParallelWork ? 1 : threads;
}

/// A non-elemental op alone is a kernel of one call, or of some of its rows
/// each.
static rt::FusedOp wrap(Operation *op, int64_t threads) {
  OpBuilder builder(op);
  int64_t rows = cast<LoopedOpInterface>(op).getLoopRows();
  SmallVector<int64_t, 1> domain;
  if (rows != 1)
    domain.push_back(rows);
  auto fused = rt::FusedOp::create(
      builder, op->getLoc(), op->getResultTypes(), op->getOperands(),
      builder.getDenseI64ArrayAttr(domain),
      builder.getI64IntegerAttr(domain.size()),
      builder.getI64IntegerAttr(chooseChunks(op, rows, threads)));
  Block *block = new Block;
  fused.getBody().push_back(block);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, block->addArgument(operand.getType(), op->getLoc()));
  fused.getInputsMutable().clear();
  llvm::SmallPtrSet<void *, 8> seen;
  for (Value operand : op->getOperands())
    if (seen.insert(operand.getAsOpaquePointer()).second)
      fused.getInputsMutable().append(operand);
  builder.setInsertionPointToEnd(block);
  Operation *copy = builder.clone(*op, mapping);
  rt::YieldOp::create(builder, op->getLoc(), copy->getResults());
  op->replaceAllUsesWith(fused.getResults());
  op->erase();
  return fused;
}

/// Whether the kernel's input is memory that a piece of may be read in place:
/// data, or what a kernel computes. Variables are written where they lie.
static bool isPlainMemory(Value input, rt::FusedOp kernel) {
  Value memory = getReshaped(input);
  if (auto library = memory.getDefiningOp<rt::LibraryOp>())
    return !getPackedResult(library.getKernel());
  if (Operation *def = memory.getDefiningOp())
    return isa<rt::FusedOp, rt::CallOp>(def);
  auto function = cast<func::FuncOp>(kernel->getParentOp());
  return !function.getArgAttr(cast<BlockArgument>(memory).getArgNumber(),
                              kVariableAttr);
}

/// Inputs that nothing in the kernel reads any more go.
static void dropUnreadInputs(rt::FusedOp kernel) {
  Block &body = kernel.getBody().front();
  for (unsigned i = body.getNumArguments(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      kernel.getInputsMutable().erase(i);
    }
}

/// A piece of memory (one microbatch of the batch, one step of a sequence) is
/// read where it lies, not by index: then kernels are equal that differ in
/// their piece alone. Null if the kernel did nothing but copy it.
static rt::FusedOp takePiecesOut(rt::FusedOp kernel) {
  Block &body = kernel.getBody().front();
  OpBuilder b(kernel);
  // Slices, and reshapes of them.
  llvm::MapVector<Operation *, Value> views;
  for (Operation &op : body.without_terminator()) {
    Value whole;
    if (auto slice = dyn_cast<graph::SliceOp>(op)) {
      auto argument = dyn_cast<BlockArgument>(slice.getOperand());
      if (argument && findPieceOffset(slice) &&
          isPlainMemory(kernel.getInputs()[argument.getArgNumber()], kernel))
        whole = kernel.getInputs()[argument.getArgNumber()];
    } else if (isa<graph::ReshapeOp>(op)) {
      whole = views.lookup(op.getOperand(0).getDefiningOp());
    }
    if (!whole)
      continue;
    Operation *view = b.clone(op);
    view->setOperand(0, whole);
    views[&op] = view->getResult(0);
  }
  if (views.empty())
    return kernel;
  for (auto [op, view] : llvm::reverse(views)) {
    if (!op->use_empty()) {
      for (OpOperand &use : op->getUses())
        if (use.getOwner() == body.getTerminator())
          kernel->getResult(use.getOperandNumber()).replaceAllUsesWith(view);
      op->getResult(0).replaceAllUsesWith(
          body.addArgument(view.getType(), view.getLoc()));
      kernel.getInputsMutable().append(view);
    }
    op->erase();
  }
  dropUnreadInputs(kernel);
  return dropUnread(kernel);
}

namespace {
struct OutlineKernelsPass
    : mlir::dist::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<Operation *> alone;
    for (auto func : module.getOps<func::FuncOp>()) {
      WalkResult result = func.walk([&](Operation *op) -> WalkResult {
        if (isa<DecomposableOpInterface>(op))
          return op->emitOpError("is a composite, which no kernel is made of; "
                                 "run graph-decompose-composites before");
        if (isa<LoopedOpInterface>(op) && isa<func::FuncOp>(op->getParentOp()))
          alone.push_back(op);
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    for (Operation *op : alone)
      wrap(op, getThreads(op->getParentOfType<func::FuncOp>(), threads));
    SmallVector<rt::FusedOp> fusions;
    module.walk([&](rt::FusedOp op) { fusions.push_back(op); });
    std::map<std::vector<int64_t>, rt::KernelOp> kernels;
    OpBuilder builder(module.getContext());
    for (rt::FusedOp fused : fusions) {
      fused = takePiecesOut(fused);
      if (!fused)
        continue;
      dropDiscardableAttributes(fused);
      SmallVector<Attribute> outputs;
      for (Type type : fused.getResultTypes())
        outputs.push_back(TypeAttr::get(type));
      builder.setInsertionPoint(fused);
      auto kernel = rt::KernelOp::create(
          builder, fused.getLoc(), "kernel", fused.getDomain(),
          fused.getRowDims(), fused.getChunks(), builder.getArrayAttr(outputs));
      kernel.getBody().takeBody(fused.getBody());
      std::vector<int64_t> key;
      llvm::DenseMap<Value, int64_t> numbers;
      appendKey(kernel, numbers, key);
      auto [it, added] = kernels.try_emplace(std::move(key), kernel);
      if (added) {
        kernel->moveBefore(&module.getBody()->front());
        kernel.setSymName(("kernel_" + Twine(kernels.size() - 1)).str());
        while (symbols.lookup(kernel.getSymName()))
          kernel.setSymName((kernel.getSymName() + "_").str());
        symbols.insert(kernel, module.getBody()->begin());
      } else {
        kernel.erase();
      }
      auto call = rt::CallOp::create(
          builder, fused.getLoc(), fused.getResultTypes(),
          FlatSymbolRefAttr::get(it->second.getSymNameAttr()),
          fused.getInputs());
      fused->replaceAllUsesWith(call);
      fused.erase();
    }
  }
};
} // namespace
