//===- KernelEmitter.cpp - Loops of a kernel -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Kernels/KernelEmitter.h"
#include "passes/Lowering/Kernels/RowEmitter.h"
#include "passes/Lowering/Winograd/WinogradEmitter.h"

using namespace mlir;
using namespace mlir::dist;

static Type getMemoryType(Type type, bool bytesForBools) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = getStorageType(tensor.getElementType());
  if (bytesForBools && element.isInteger(1))
    element = IntegerType::get(type.getContext(), 8);
  // No loop touches an empty tensor; upstream converts no memref without
  // elements to a pointer.
  SmallVector<int64_t> shape(tensor.getShape());
  llvm::replace(shape, 0, 1);
  return MemRefType::get(shape, element);
}

/// The kernel's function without a body, and its arguments.
static func::FuncOp createFunction(rt::KernelOp kernel, bool bytesForBools,
                                   KernelBuffers &buffers, OpBuilder &b) {
  Block &body = kernel.getBody().front();
  SmallVector<Type> types;
  for (Type type : body.getArgumentTypes())
    types.push_back(getMemoryType(type, bytesForBools));
  for (Type type : kernel.getOutputs().getAsValueRange<TypeAttr>())
    types.push_back(getMemoryType(type, bytesForBools));
  types.append(3, b.getIndexType());
  auto func = func::FuncOp::create(b, kernel.getLoc(), kernel.getSymName(),
                                   b.getFunctionType(types, {}));
  func.setPrivate();
  // Distinct buffers, but for an update in place: its element is read before
  // it is written, since what is written depends on it.
  for (unsigned i = 0; i + 3 < types.size(); ++i)
    func.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, kernel.getLoc());
  b.setInsertionPoint(entry->getTerminator());
  auto arguments = ValueRange(entry->getArguments());
  ValueRange memory = arguments.drop_back(3);
  buffers.inputs = memory.take_front(body.getNumArguments());
  buffers.outputs = memory.drop_front(body.getNumArguments());
  buffers.lo = arguments[memory.size()];
  buffers.hi = arguments[memory.size() + 1];
  buffers.chunk = arguments[memory.size() + 2];
  return func;
}

static Value getMemory(Value operand, const KernelBuffers &buffers) {
  return buffers.inputs[cast<BlockArgument>(operand).getArgNumber()];
}

/// The loops of an op that is alone in its kernel, and makes its own.
static LogicalResult emitAlone(LoopedOpInterface op, ValueRange outputs,
                               const KernelBuffers &buffers, OpBuilder &b) {
  Location loc = op.getLoc();
  SmallVector<Value> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(getMemory(operand, buffers));
  for (Value result : op->getResults()) {
    auto it = llvm::find(outputs, result);
    if (it != outputs.end()) {
      results.push_back(buffers.outputs[it - outputs.begin()]);
      continue;
    }
    // It is not read, but the loops write it.
    results.push_back(memref::AllocOp::create(
        b, loc, cast<MemRefType>(getMemoryType(result.getType(), false))));
  }
  if (failed(op.emitLoops(b, loc, operands, results, buffers.lo, buffers.hi)))
    return op->emitOpError("no kernel can be generated for it; rewrite the "
                           "model without this op");
  for (Value result : results)
    if (result.getDefiningOp<memref::AllocOp>())
      memref::DeallocOp::create(b, loc, result);
  return success();
}

FailureOr<func::FuncOp> mlir::dist::emitKernel(rt::KernelOp kernel,
                                               OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  Block &body = kernel.getBody().front();
  Operation *first = body.empty() ? nullptr : &body.front();
  auto alone = dyn_cast_or_null<LoopedOpInterface>(first);
  KernelBuffers buffers;
  func::FuncOp func = createFunction(kernel, !alone, buffers, builder);
  if (isWinograd(first)) {
    KernelBuffers own = buffers;
    own.inputs.clear();
    for (Value operand : first->getOperands())
      own.inputs.push_back(getMemory(operand, buffers));
    emitWinograd(first, own, builder);
    return func;
  }
  if (alone) {
    if (failed(emitAlone(alone, body.getTerminator()->getOperands(), buffers,
                         builder)))
      return failure();
    return func;
  }
  std::optional<ClusterInfo> info = analyzeBody(body);
  if (!info)
    return kernel.emitOpError("its ops make no single kernel");
  RowEmitter(kernel, func, buffers, builder).emit(*info);
  return func;
}
