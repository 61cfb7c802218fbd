//===- KernelEdits.cpp - Kernels with other inputs and results ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Kernels/KernelEdits.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

ValueRange mlir::dist::getYielded(rt::FusedOp kernel) {
  return kernel.getBody().front().getTerminator()->getOperands();
}

void mlir::dist::collectReaders(Value value,
                                SmallVectorImpl<OpOperand *> &readers) {
  for (OpOperand &use : value.getUses())
    if (auto view = dyn_cast<graph::ReshapeOp>(use.getOwner()))
      collectReaders(view.getResult(), readers);
    else
      readers.push_back(&use);
}

/// The kernel's body in one with other inputs and results, right before it.
static rt::FusedOp moveBody(rt::FusedOp kernel, TypeRange types,
                            ValueRange inputs) {
  OpBuilder b(kernel);
  auto moved = rt::FusedOp::create(
      b, kernel.getLoc(), types, inputs, kernel.getDomainAttr(),
      kernel.getRowDimsAttr(), kernel.getChunksAttr());
  moved.getBody().takeBody(kernel.getBody());
  return moved;
}

rt::FusedOp mlir::dist::addResults(rt::FusedOp kernel, ArrayRef<Value> values) {
  if (values.empty())
    return kernel;
  Operation *yield = kernel.getBody().front().getTerminator();
  yield->insertOperands(yield->getNumOperands(), values);
  SmallVector<Type> types(kernel->getResultTypes());
  llvm::append_range(types, ValueRange(values).getTypes());
  rt::FusedOp grown = moveBody(kernel, types, kernel.getInputs());
  kernel->replaceAllUsesWith(
      grown->getResults().take_front(kernel->getNumResults()));
  kernel.erase();
  return grown;
}

static void eraseUnreadViews(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
    if (auto view = dyn_cast<graph::ReshapeOp>(user)) {
      eraseUnreadViews(view.getResult());
      if (view.use_empty())
        view.erase();
    }
}

rt::FusedOp mlir::dist::dropUnread(rt::FusedOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Value> yielded, results;
  for (auto [result, value] :
       llvm::zip_equal(kernel->getResults(), getYielded(kernel))) {
    eraseUnreadViews(result);
    if (result.use_empty())
      continue;
    yielded.push_back(value);
    results.push_back(result);
  }
  if (results.size() == kernel->getNumResults())
    return kernel;
  if (results.empty()) {
    kernel.erase();
    return {};
  }
  body.getTerminator()->setOperands(yielded);
  SmallVector<Operation *> ops(
      llvm::make_pointer_range(body.without_terminator()));
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  SmallVector<Value> inputs;
  llvm::BitVector unread(body.getNumArguments());
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), kernel.getInputs()))
    if (argument.use_empty())
      unread.set(argument.getArgNumber());
    else
      inputs.push_back(input);
  body.eraseArguments(unread);
  rt::FusedOp smaller =
      moveBody(kernel, ValueRange(results).getTypes(), inputs);
  for (auto [result, replacement] :
       llvm::zip_equal(results, smaller->getResults()))
    result.replaceAllUsesWith(replacement);
  kernel.erase();
  return smaller;
}
