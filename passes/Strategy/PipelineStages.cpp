//===- PipelineStages.cpp - Cuts the model into a pipeline's stages -*- C++
//-*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/Explain.h"
#include "passes/Analysis/StageAssignment.h"
#include "passes/Strategy/Passes.h"
#include <limits>

namespace mlir::dist {
#define GEN_PASS_DEF_PIPELINESTAGESPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The forward ops from the first use of a parameter to the next one's: what is
/// never cut.
struct Segment {
  SmallVector<graph::VariableOp> variables;
  double seconds = 0;
  /// Of the values that come from before and are read here or later.
  double bytesBefore = 0;
};

struct PipelineStagesPass
    : mlir::dist::impl::PipelineStagesPassBase<PipelineStagesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  func::FuncOp findReference();
  void setStage(graph::VariableOp variable, int64_t stage) {
    variable->setAttr(kStageAttr,
                      Builder(&getContext()).getI64IntegerAttr(stage));
  }
  SmallVector<Segment> findSegments(func::FuncOp function);
  void placeOthers();
};
} // namespace

/// The entry that says most of the step: training before prediction.
func::FuncOp PipelineStagesPass::findReference() {
  for (StringRef name : {"train_step", "train_step_partial", "gradients",
                         "gradients_partial", "predict"})
    if (auto function = getOperation().lookupSymbol<func::FuncOp>(name))
      return function;
  auto functions = getOperation().getOps<func::FuncOp>();
  return functions.empty() ? func::FuncOp() : *functions.begin();
}

SmallVector<Segment> PipelineStagesPass::findSegments(func::FuncOp function) {
  // As if there were no stages yet: this only finds the forward ops.
  StageAssignment assignment = assignStages(function);
  PortVariables ports(function);
  SmallVector<Segment> segments;
  DenseSet<Operation *> seen;
  DenseMap<Operation *, size_t> segmentOf;
  for (Operation &op : function.front().without_terminator()) {
    if (!assignment.forward.contains(&op))
      continue;
    SmallVector<graph::VariableOp> variables;
    for (Value operand : op.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        if (auto variable = ports.ofArgument(argument.getArgNumber()))
          if (variable.getGroup() == "parameter" && !isKeptByAll(variable) &&
              seen.insert(variable).second)
            variables.push_back(variable);
    if (!variables.empty() || segments.empty())
      segments.emplace_back();
    segments.back().variables.append(variables);
    segments.back().seconds += predictSeconds(&op, MachineModel());
    segmentOf[&op] = segments.size() - 1;
  }
  // A value is carried over every cut between where it is made and its last
  // use.
  for (auto &[op, segment] : segmentOf)
    for (Value result : op->getResults()) {
      size_t last = segment;
      for (Operation *user : result.getUsers())
        if (auto found = segmentOf.find(user); found != segmentOf.end())
          last = std::max(last, found->second);
      for (size_t i = segment + 1; i <= last; ++i)
        segments[i].bytesBefore += getByteSize(result.getType());
    }
  // What comes before the first parameter belongs to its stage.
  if (segments.size() > 1 && segments.front().variables.empty()) {
    segments[1].seconds += segments.front().seconds;
    segments.erase(segments.begin());
  }
  return segments;
}

/// The first segment of each chunk, so that the slowest chunk is fastest:
/// its ops, and the values that it receives.
static SmallVector<size_t> cut(ArrayRef<Segment> segments, int64_t chunks) {
  MachineModel machine;
  constexpr double never = std::numeric_limits<double>::infinity();
  size_t n = segments.size();
  SmallVector<double> sum(n + 1, 0);
  for (size_t i = 0; i < n; ++i)
    sum[i + 1] = sum[i] + segments[i].seconds;
  auto getCost = [&](size_t begin, size_t end) {
    double moved = begin == 0 ? 0
                              : machine.transferLatency +
                                    segments[begin].bytesBefore /
                                        machine.transferBytesPerSecond;
    return sum[end] - sum[begin] + moved;
  };
  // best[k][i]: the slowest of k chunks of the first i segments; of equals the
  // one with the least sum of what is moved.
  using Cost = std::pair<double, double>;
  std::vector<std::vector<Cost>> best(chunks + 1,
                                      std::vector<Cost>(n + 1, {never, never}));
  std::vector<std::vector<size_t>> from(chunks + 1,
                                        std::vector<size_t>(n + 1, 0));
  best[0][0] = {0, 0};
  for (int64_t k = 1; k <= chunks; ++k)
    for (size_t end = k; end <= n; ++end)
      for (size_t begin = k - 1; begin < end; ++begin) {
        Cost cost = {std::max(best[k - 1][begin].first, getCost(begin, end)),
                     best[k - 1][begin].second +
                         (begin ? segments[begin].bytesBefore : 0)};
        if (cost < best[k][end]) {
          best[k][end] = cost;
          from[k][end] = begin;
        }
      }
  SmallVector<size_t> starts(chunks);
  size_t end = n;
  for (int64_t k = chunks; k > 0; --k)
    end = starts[k - 1] = from[k][end];
  return starts;
}

/// Slots go with their variable; the others with what computes or first reads
/// them.
void PipelineStagesPass::placeOthers() {
  SymbolTable symbols(getOperation());
  for (auto variable : getOperation().getOps<graph::VariableOp>())
    if (auto owner = variable.getSlotOf())
      if (auto of = symbols.lookup<graph::VariableOp>(*owner))
        if (int64_t stage = getStage(of); stage >= 0)
          setStage(variable, stage);
  auto isOpen = [](graph::VariableOp variable) {
    return variable && getStage(variable) < 0 && !isKeptByAll(variable);
  };
  func::FuncOp reference = findReference();
  SmallVector<func::FuncOp> functions{reference};
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (function != reference && !function.isExternal())
      functions.push_back(function);
  for (func::FuncOp function : functions) {
    StageAssignment assignment = assignStages(function);
    PortVariables ports(function);
    auto terminator = function.front().getTerminator();
    for (OpOperand &use : terminator->getOpOperands()) {
      auto variable = ports.ofResult(use.getOperandNumber());
      int64_t home = assignment.getHome(use.get());
      if (isOpen(variable) && home >= 0)
        setStage(variable, home);
    }
    for (BlockArgument argument : function.getArguments()) {
      auto variable = ports.ofArgument(argument.getArgNumber());
      if (!isOpen(variable))
        continue;
      Operation *first = nullptr;
      for (Operation *user : argument.getUsers())
        if (auto home = assignment.home.find(user);
            home != assignment.home.end() && home->second >= 0 &&
            (!first || user->isBeforeInBlock(first)))
          first = user;
      if (first)
        setStage(variable, assignment.home.lookup(first));
    }
  }
  // Read by nothing that has a stage.
  for (auto variable : getOperation().getOps<graph::VariableOp>())
    if (isOpen(variable))
      setStage(variable, 0);
}

void PipelineStagesPass::runOnOperation() {
  ModuleOp module = getOperation();
  int64_t count = stages * chunks;
  if (stages < 1 || chunks < 1) {
    module.emitError() << "dist-pipeline-stages: expected at least one stage "
                          "and one chunk, but got "
                       << stages.getValue() << " and " << chunks.getValue();
    return signalPassFailure();
  }
  func::FuncOp reference = findReference();
  if (!reference)
    return;
  SmallVector<Segment> segments = findSegments(reference);
  if (int64_t(segments.size()) < count) {
    reference.emitError() << "a pipeline of " << count
                          << (chunks > 1 ? " chunks" : " stages")
                          << " needs as many ops with parameters (a layer's "
                             "weight and its bias are of two), but the model "
                             "has "
                          << segments.size() << "; use fewer";
    return signalPassFailure();
  }
  SmallVector<size_t> starts = cut(segments, count);
  int64_t chunk = 0;
  for (auto [i, segment] : llvm::enumerate(segments)) {
    if (chunk + 1 < count && starts[chunk + 1] == i)
      ++chunk;
    for (graph::VariableOp variable : segment.variables)
      setStage(variable, chunk);
  }
  placeOthers();
}
