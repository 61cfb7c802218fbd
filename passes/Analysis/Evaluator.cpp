//===- Evaluator.cpp - Runs functions on the host, rank by rank -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Evaluator.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class RankEvaluator {
public:
  RankEvaluator(func::FuncOp function, MeshOp mesh, EvaluationObserver observer)
      : function(function), mesh(mesh), observer(observer),
        numRanks(mesh ? mesh.getNumRanks() : 1) {}

  FailureOr<SmallVector<RankTensors>> run(ArrayRef<RankTensors> arguments);

private:
  LogicalResult evaluate(Operation *op);
  LogicalResult evaluateCollective(CollectiveOpInterface op,
                                   SmallVector<RankTensors> &results);
  SmallVector<RankTensors> getOperands(Operation *op);
  void release(Operation *op);

  func::FuncOp function;
  MeshOp mesh;
  EvaluationObserver observer;
  int64_t numRanks;
  /// One tensor a rank. A token has all results of its collective.
  DenseMap<Value, SmallVector<RankTensors>> values;
};
} // namespace

SmallVector<RankTensors> RankEvaluator::getOperands(Operation *op) {
  SmallVector<RankTensors> operands(numRanks);
  for (Value operand : op->getOperands())
    for (int64_t rank = 0; rank < numRanks; ++rank)
      llvm::append_range(operands[rank], values[operand][rank]);
  return operands;
}

LogicalResult
RankEvaluator::evaluateCollective(CollectiveOpInterface op,
                                  SmallVector<RankTensors> &results) {
  if (!mesh)
    return op->emitOpError() << "cannot be evaluated without a mesh";
  SmallVector<RankTensors> operands = getOperands(op);
  results.resize(numRanks);
  for (const auto &group : getGroups(mesh, op.getGroupAxes())) {
    SmallVector<RankTensors> groupOperands, groupResults;
    for (int64_t rank : group)
      groupOperands.push_back(operands[rank]);
    if (failed(op.evaluateGroup(groupOperands, groupResults)))
      return failure();
    for (auto [rank, tensors] : llvm::zip(group, groupResults))
      results[rank] = std::move(tensors);
  }
  return success();
}

/// Drops values that `op` was the last to use.
void RankEvaluator::release(Operation *op) {
  for (Value operand : op->getOperands()) {
    bool last = llvm::all_of(operand.getUsers(), [&](Operation *user) {
      return user == op || user->isBeforeInBlock(op);
    });
    if (last)
      values.erase(operand);
  }
}

LogicalResult RankEvaluator::evaluate(Operation *op) {
  SmallVector<RankTensors> results(numRanks);
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    if (failed(evaluateCollective(collective, results)))
      return failure();
  } else if (isa<ReshardOp, WaitOp>(op)) {
    // A reshard changes no global value; a wait gives what was started.
    results = getOperands(op);
  } else if (auto reference = dyn_cast<ReferenceOpInterface>(op)) {
    SmallVector<RankTensors> operands = getOperands(op);
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      if (failed(reference.evaluate(operands[rank], results[rank])))
        return failure();
      if (results[rank].size() != op->getNumResults())
        return op->emitOpError() << "did not evaluate to one tensor a result";
    }
  } else {
    return op->emitOpError() << "cannot be evaluated";
  }
  if (op->getNumResults() == 1 && isa<TokenType>(op->getResult(0).getType())) {
    values[op->getResult(0)] = results;
  } else {
    for (OpResult result : op->getResults()) {
      auto &list = values[result];
      for (RankTensors &tensors : results)
        list.push_back({tensors[result.getResultNumber()]});
    }
  }
  if (observer && failed(observer(op, results)))
    return failure();
  release(op);
  return success();
}

FailureOr<SmallVector<RankTensors>>
RankEvaluator::run(ArrayRef<RankTensors> arguments) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError() << "cannot be evaluated: expected one block";
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      const HostTensor &tensor = arguments[rank][argument.getArgNumber()];
      if (tensor.getType() != argument.getType())
        return function.emitOpError()
               << "expected argument " << argument.getArgNumber()
               << " to have type " << argument.getType() << ", but got "
               << tensor.getType();
      values[argument].push_back({tensor});
    }
  for (Operation &op : block.without_terminator())
    if (failed(evaluate(&op)))
      return failure();
  return getOperands(block.getTerminator());
}

FailureOr<SmallVector<RankTensors>>
mlir::dist::evaluateRanks(func::FuncOp function, MeshOp mesh,
                          ArrayRef<RankTensors> arguments,
                          EvaluationObserver observer) {
  return RankEvaluator(function, mesh, observer).run(arguments);
}

FailureOr<RankTensors>
mlir::dist::evaluateFunction(func::FuncOp function,
                             ArrayRef<HostTensor> arguments,
                             EvaluationObserver observer) {
  auto results = evaluateRanks(function, MeshOp(),
                               {RankTensors(arguments)}, observer);
  if (failed(results))
    return failure();
  return results->front();
}
