//===- Evaluator.cpp - Runs functions on the host, rank by rank -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Evaluator.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Dist/IR/Portion.h"
#include "llvm/ADT/Sequence.h"
#include <deque>
#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What was sent and not yet received, by sender, receiver and tag.
using Mailbox =
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<RankTensors>>;

/// A collective of ranks that run different programs, each with its portion of
/// the examples: what those that have come to it brought. It is named by its
/// group, and how many of the group were before it.
struct Meeting {
  Operation *first = nullptr; // of those that came
  std::map<int64_t, RankTensors> operands;
  size_t gone = 0;
};
using Meetings = std::map<std::pair<std::vector<int64_t>, int64_t>, Meeting>;

/// What programs have in common.
struct Exchange {
  Mailbox mailbox;
  Meetings meetings;
};

class RankEvaluator {
public:
  RankEvaluator(func::FuncOp function, MeshOp mesh, EvaluationObserver observer)
      : function(function), mesh(mesh), observer(observer),
        numRanks(mesh ? mesh.getNumRanks() : 1) {}
  RankEvaluator(const RankProgram &program, MeshOp mesh,
                EvaluationObserver observer, Exchange &exchange)
      : function(program.function), mesh(mesh), observer(observer),
        firstRank(program.firstRank), numRanks(program.numRanks),
        mailbox(&exchange.mailbox), meetings(&exchange.meetings) {}

  FailureOr<SmallVector<RankTensors>> run(ArrayRef<RankTensors> arguments);

  LogicalResult start(ArrayRef<RankTensors> arguments);
  /// Goes on until the end, or until an op waits for something not yet sent.
  /// Returns whether it came any further.
  FailureOr<bool> advance();
  Operation *getNext() const { return next; }
  bool isDone() const { return next->hasTrait<OpTrait::IsTerminator>(); }
  SmallVector<RankTensors> getResults() { return getOperands(next); }

private:
  bool isHere(int64_t rank) const {
    return rank >= firstRank && rank < firstRank + numRanks;
  }
  FailureOr<bool> isThere(Operation *op);
  /// Whether the op's groups take in ranks of other programs.
  bool meetsOthers(Operation *op);
  Meeting &getMeeting(const SmallVector<int64_t> &group);
  FailureOr<bool> meet(CollectiveOpInterface op);
  /// The ranks at the other end of a transfer between programs, in the order of
  /// their positions.
  SmallVector<int64_t> getPeers(CollectiveOpInterface op, int64_t rank);
  void give(CollectiveOpInterface op);
  void take(CollectiveOpInterface op, SmallVector<RankTensors> &results);
  LogicalResult evaluate(Operation *op);
  LogicalResult evaluateCollective(CollectiveOpInterface op,
                                   SmallVector<RankTensors> &results);
  SmallVector<RankTensors> getOperands(Operation *op);
  void release(Operation *op);

  func::FuncOp function;
  MeshOp mesh;
  EvaluationObserver observer;
  int64_t firstRank = 0, numRanks;
  Mailbox *mailbox = nullptr;
  Meetings *meetings = nullptr;
  /// Of each group that takes in others: how often it has met; and the op with
  /// which this program has come to its next meetings.
  std::map<std::vector<int64_t>, int64_t> met;
  Operation *arrived = nullptr;
  Operation *next = nullptr;
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
    int64_t here =
        llvm::count_if(group, [&](int64_t rank) { return isHere(rank); });
    if (here == 0)
      continue;
    if (here == int64_t(group.size())) {
      for (int64_t rank : group)
        groupOperands.push_back(operands[rank - firstRank]);
    } else if (op.isLocal()) {
      // Each rank needs its own only.
      for (int64_t rank : group)
        groupOperands.push_back(operands[isHere(rank) ? rank - firstRank : 0]);
    } else if (meetsOthers(op)) {
      Meeting &meeting = getMeeting(group);
      for (int64_t rank : group)
        groupOperands.push_back(meeting.operands[rank]);
      meeting.gone += here;
      std::vector<int64_t> name(group.begin(), group.end());
      if (meeting.gone == group.size())
        meetings->erase({name, met[name]});
      ++met[name];
    } else {
      return op->emitOpError() << "takes in ranks that run another program, "
                                  "which never comes to it";
    }
    if (failed(op.evaluateGroup(groupOperands, groupResults)))
      return failure();
    for (auto [rank, tensors] : llvm::zip(group, groupResults))
      if (isHere(rank))
        results[rank - firstRank] = std::move(tensors);
  }
  return success();
}

bool RankEvaluator::meetsOthers(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return meetings && collective && !collective.isLocal() &&
         !collective.crossesPrograms() && findPortion(function);
}

Meeting &RankEvaluator::getMeeting(const SmallVector<int64_t> &group) {
  std::vector<int64_t> name(group.begin(), group.end());
  return (*meetings)[{name, met[name]}];
}

/// Comes to the op's meetings; whether all others have come, too.
FailureOr<bool> RankEvaluator::meet(CollectiveOpInterface op) {
  SmallVector<RankTensors> operands;
  if (arrived != op)
    operands = getOperands(op);
  bool complete = true;
  for (const auto &group : getGroups(mesh, op.getGroupAxes())) {
    int64_t here =
        llvm::count_if(group, [&](int64_t rank) { return isHere(rank); });
    if (here == 0 || here == int64_t(group.size()))
      continue;
    Meeting &meeting = getMeeting(group);
    if (!meeting.first)
      meeting.first = op;
    if (meeting.first->getName() != op->getName() ||
        meeting.first->getOperandTypes() != op->getOperandTypes())
      return op->emitOpError()
             << "meets " << meeting.first->getName() << " of '"
             << getOriginName(meeting.first)
             << "' in another position's program; leave --device-weights out";
    if (arrived != op)
      for (int64_t rank : group)
        if (isHere(rank))
          meeting.operands[rank] = operands[rank - firstRank];
    complete &= meeting.operands.size() == group.size();
  }
  arrived = op;
  return complete;
}

SmallVector<int64_t> RankEvaluator::getPeers(CollectiveOpInterface op,
                                             int64_t rank) {
  if (op.involvesHost()) {
    int64_t host = mesh.getNumRanks();
    return rank == host ? llvm::to_vector(llvm::seq<int64_t>(0, host))
                        : SmallVector<int64_t>{host};
  }
  auto send = dyn_cast<SendOp>(op.getOperation());
  uint64_t position = send ? send.getPeer() : cast<RecvOp>(op).getPeer();
  for (const auto &group : getGroups(mesh, op.getGroupAxes()))
    if (llvm::is_contained(group, rank))
      return {group[position]};
  return {};
}

/// Transfers with one tag pair up in order; those of the host have none.
static int64_t getTag(Operation *op) {
  auto tag = op->getAttrOfType<IntegerAttr>("tag");
  return tag ? tag.getInt() : -1;
}

FailureOr<bool> RankEvaluator::isThere(Operation *op) {
  if (meetsOthers(op))
    return meet(cast<CollectiveOpInterface>(op));
  auto transfer = dyn_cast<CollectiveOpInterface>(op);
  if (!transfer || !transfer.crossesPrograms() || op->getNumResults() == 0 ||
      !mailbox)
    return true;
  for (int64_t rank = firstRank; rank < firstRank + numRanks; ++rank)
    for (int64_t peer : getPeers(transfer, rank)) {
      auto found = mailbox->find({peer, rank, getTag(op)});
      if (found == mailbox->end() || found->second.empty())
        return false;
    }
  return true;
}

void RankEvaluator::give(CollectiveOpInterface op) {
  SmallVector<RankTensors> operands = getOperands(op);
  for (int64_t i = 0; i < numRanks; ++i)
    for (int64_t peer : getPeers(op, firstRank + i))
      (*mailbox)[{firstRank + i, peer, getTag(op)}].push_back(operands[i]);
}

void RankEvaluator::take(CollectiveOpInterface op,
                         SmallVector<RankTensors> &results) {
  for (int64_t i = 0; i < numRanks; ++i) {
    SmallVector<RankTensors> came;
    for (int64_t peer : getPeers(op, firstRank + i)) {
      auto found = mailbox->find({peer, firstRank + i, getTag(op)});
      came.push_back(std::move(found->second.front()));
      found->second.pop_front();
      if (found->second.empty())
        mailbox->erase(found);
    }
    results[i] = came.front();
    if (auto reduce = dyn_cast<HostReduceOp>(op.getOperation()))
      for (auto [k, result] : llvm::enumerate(results[i])) {
        SmallVector<HostTensor> parts;
        for (const RankTensors &tensors : came)
          if (k < tensors.size())
            parts.push_back(tensors[k]);
        result = combine(parts, reduce.getReduction());
      }
  }
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
  auto transfer = dyn_cast<CollectiveOpInterface>(op);
  if (transfer && transfer.crossesPrograms()) {
    if (!mailbox)
      return op->emitOpError()
             << "cannot be evaluated: no other program is there";
    if (op->getNumResults() == 0)
      give(transfer);
    else
      take(transfer, results);
    for (auto [rank, tensors] : llvm::enumerate(results))
      if (tensors.size() == op->getNumResults())
        for (auto [tensor, type] : llvm::zip(tensors, op->getResultTypes()))
          if (tensor.getType() == type)
            continue;
          else
            return op->emitOpError() << "expected " << type << ", but "
                                     << tensor.getType() << " was sent";
      else
        return op->emitOpError()
               << "expected " << op->getNumResults() << " tensors, but "
               << tensors.size() << " were sent";
  } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
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
  if (isStart(op)) {
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

LogicalResult RankEvaluator::start(ArrayRef<RankTensors> arguments) {
  if (failed(verifyUnrolled(function)) || failed(verifyShowsAll(function)))
    return failure();
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
  next = &block.front();
  return success();
}

FailureOr<bool> RankEvaluator::advance() {
  Operation *first = next;
  while (!isDone()) {
    auto there = isThere(next);
    if (failed(there))
      return failure();
    if (!*there)
      break;
    if (failed(evaluate(next)))
      return failure();
    next = next->getNextNode();
  }
  return next != first;
}

SmallVector<HostTensor> mlir::dist::collectShards(ArrayRef<RankTensors> ranks,
                                                  unsigned number) {
  return llvm::map_to_vector(
      ranks, [&](const RankTensors &tensors) { return tensors[number]; });
}

FailureOr<SmallVector<RankTensors>>
RankEvaluator::run(ArrayRef<RankTensors> arguments) {
  if (failed(start(arguments)) || failed(advance()))
    return failure();
  return getResults();
}

FailureOr<SmallVector<SmallVector<RankTensors>>>
mlir::dist::evaluatePrograms(ArrayRef<RankProgram> programs, MeshOp mesh,
                             EvaluationObserver observer) {
  Exchange exchange;
  Mailbox &mailbox = exchange.mailbox;
  std::vector<RankEvaluator> evaluators;
  for (const RankProgram &program : programs) {
    evaluators.emplace_back(program, mesh, observer, exchange);
    if (failed(evaluators.back().start(program.arguments)))
      return failure();
  }
  bool moved = true;
  while (moved) {
    moved = false;
    for (RankEvaluator &evaluator : evaluators) {
      auto came = evaluator.advance();
      if (failed(came))
        return failure();
      moved |= *came;
    }
  }
  SmallVector<SmallVector<RankTensors>> results;
  for (RankEvaluator &evaluator : evaluators) {
    if (!evaluator.isDone())
      return evaluator.getNext()->emitOpError()
             << "waits for something that no rank sends";
    results.push_back(evaluator.getResults());
  }
  if (!mailbox.empty()) {
    auto [from, to, tag] = mailbox.begin()->first;
    func::FuncOp function = programs.front().function;
    return function.emitError() << "rank " << to << " never receives what rank "
                                << from << " sends with tag " << tag;
  }
  return results;
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
  auto results =
      evaluateRanks(function, MeshOp(), {RankTensors(arguments)}, observer);
  if (failed(results))
    return failure();
  return results->front();
}
