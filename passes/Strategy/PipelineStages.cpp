//===- PipelineStages.cpp - Cuts the model into a pipeline's stages -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Analysis/Explain.h"
#include "passes/Analysis/StageAssignment.h"
#include "passes/Strategy/Passes.h"
#include <limits>
#include <tuple>

namespace mlir::dist {
#define GEN_PASS_DEF_PIPELINESTAGESPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The ops from the first use of a parameter to the next one's, and what
/// follows from them: what is never cut.
struct Segment {
  SmallVector<graph::VariableOp> variables;
  double seconds = 0;
  /// Of the values that come from before and are read here or later.
  double bytesBefore = 0;
  /// It begins with what a kernel does behind a product: a bias, a norm.
  bool followsProduct = false;
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
  void addCosts(func::FuncOp function, SmallVector<Segment> &segments);
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

/// Whether a kernel that reads the only result computes it, too: nothing is
/// written.
static bool isFused(Operation *op) {
  if (op->getNumResults() != 1 || !op->hasOneUse() || sumsProducts(op))
    return false;
  Operation *user = *op->user_begin();
  return !user->hasTrait<OpTrait::IsTerminator>() && !sumsProducts(user);
}

/// Whether an op is what a kernel does behind a product that nothing else
/// reads.
static bool followsProduct(Operation *op, const StageAssignment &assignment) {
  return !sumsProducts(op) && llvm::any_of(op->getOperands(), [&](Value v) {
    Operation *product = v.getDefiningOp();
    return product && sumsProducts(product) &&
           llvm::count_if(v.getUsers(), [&](Operation *user) {
             return assignment.forward.contains(user);
           }) == 1;
  });
}

/// Forward ops that read no input, but parameters and constants alone: weights
/// in another type, a bias as rows. Where such an op stands says nothing.
static DenseSet<Operation *> findPreparations(func::FuncOp function,
                                              PortVariables &ports) {
  DenseSet<Operation *> found;
  for (Operation &op : function.front().without_terminator())
    if (llvm::all_of(op.getOperands(), [&](Value operand) {
          if (auto argument = dyn_cast<BlockArgument>(operand))
            return bool(ports.ofArgument(argument.getArgNumber()));
          return found.contains(operand.getDefiningOp());
        }))
      found.insert(&op);
  return found;
}

SmallVector<Segment> PipelineStagesPass::findSegments(func::FuncOp function) {
  // As if there were no stages yet: this only finds the forward ops.
  StageAssignment assignment = assignStages(function);
  PortVariables ports(function);
  DenseSet<Operation *> preparations = findPreparations(function, ports);
  SmallVector<Segment> segments;
  DenseSet<Operation *> seen;
  for (Operation &op : function.front().without_terminator()) {
    if (!assignment.forward.contains(&op) || preparations.contains(&op))
      continue;
    SmallVector<graph::VariableOp> variables;
    // The op, and what first prepares parameters for it.
    SmallVector<Operation *> ops{&op};
    for (size_t i = 0; i < ops.size(); ++i)
      for (Value operand : ops[i]->getOperands()) {
        auto argument = dyn_cast<BlockArgument>(operand);
        if (!argument) {
          Operation *definition = operand.getDefiningOp();
          if (preparations.contains(definition) &&
              seen.insert(definition).second)
            ops.push_back(definition);
        } else if (auto variable = ports.ofArgument(argument.getArgNumber())) {
          if (variable.getGroup() == "parameter" && !isKeptByAll(variable) &&
              seen.insert(variable).second)
            variables.push_back(variable);
        }
      }
    if (variables.empty())
      continue;
    segments.emplace_back();
    segments.back().variables = variables;
    segments.back().followsProduct = followsProduct(&op, assignment);
  }
  if (!segments.empty())
    addCosts(function, segments);
  return segments;
}

/// Leaves biases and norms with their products.
static SmallVector<Segment> joinProducts(ArrayRef<Segment> segments) {
  SmallVector<Segment> joined;
  for (const Segment &segment : segments) {
    if (joined.empty() || !segment.followsProduct) {
      joined.push_back(segment);
      continue;
    }
    joined.back().variables.append(segment.variables);
    joined.back().seconds += segment.seconds;
  }
  return joined;
}

/// What each segment takes and receives as a stage of its own, with its part of
/// the backward pass and of the update.
void PipelineStagesPass::addCosts(func::FuncOp function,
                                  SmallVector<Segment> &segments) {
  for (auto [i, segment] : llvm::enumerate(segments))
    for (graph::VariableOp variable : segment.variables)
      setStage(variable, i);
  placeOthers();
  StageAssignment assignment = assignStages(function);
  for (Operation &op : function.front().without_terminator()) {
    int64_t home = assignment.home.lookup(&op);
    if (home < 0)
      continue;
    if (!isFused(&op))
      segments[home].seconds += predictSeconds(&op, MachineModel());
    if (!assignment.forward.contains(&op))
      continue;
    // A value is carried over every cut between where it is made and its last
    // use.
    for (Value result : op.getResults()) {
      int64_t last = home;
      for (Operation *user : result.getUsers())
        if (assignment.forward.contains(user))
          last = std::max(last, assignment.home.lookup(user));
      for (int64_t i = home + 1; i <= last; ++i)
        segments[i].bytesBefore += getByteSize(result.getType());
    }
  }
  for (auto variable : getOperation().getOps<graph::VariableOp>())
    variable->removeAttr(kStageAttr);
}

namespace {
/// Cuts segments into chunks that follow one another.
class Cutter {
public:
  Cutter(ArrayRef<Segment> segments, int64_t chunks)
      : segments(segments), chunks(chunks), sum(segments.size() + 1, 0) {
    for (size_t i = 0; i < segments.size(); ++i)
      sum[i + 1] = sum[i] + segments[i].seconds;
  }
  /// The first segment of each chunk.
  SmallVector<size_t> run();

private:
  /// Of the first segments in some chunks: the slowest, and what is moved.
  struct Cost {
    double seconds = std::numeric_limits<double>::infinity(), bytes = seconds;
  };
  using IsBetter = llvm::function_ref<bool(const Cost &, const Cost &)>;
  Cost solve(double limit, IsBetter isBetter, SmallVector<size_t> &starts);
  double getSeconds(size_t begin, size_t end) const;

  ArrayRef<Segment> segments;
  int64_t chunks;
  SmallVector<double> sum;
};
} // namespace

/// Of a chunk: its ops, and the values that it receives.
double Cutter::getSeconds(size_t begin, size_t end) const {
  MachineModel machine;
  double moved =
      begin == 0 ? 0 : machine.link.getSeconds(segments[begin].bytesBefore, 1);
  return sum[end] - sum[begin] + moved;
}

/// The best cut without a chunk slower than `limit`.
Cutter::Cost Cutter::solve(double limit, IsBetter isBetter,
                           SmallVector<size_t> &starts) {
  size_t n = segments.size();
  std::vector<std::vector<Cost>> best(chunks + 1, std::vector<Cost>(n + 1));
  std::vector<std::vector<size_t>> from(chunks + 1,
                                        std::vector<size_t>(n + 1, 0));
  best[0][0] = {0, 0};
  for (int64_t k = 1; k <= chunks; ++k)
    for (size_t end = k; end <= n; ++end)
      for (size_t begin = k - 1; begin < end; ++begin) {
        const Cost &before = best[k - 1][begin];
        Cost cost{std::max(before.seconds, getSeconds(begin, end)),
                  before.bytes + (begin ? segments[begin].bytesBefore : 0)};
        if (cost.seconds <= limit && isBetter(cost, best[k][end])) {
          best[k][end] = cost;
          from[k][end] = begin;
        }
      }
  starts.resize(chunks);
  size_t end = n;
  for (int64_t k = chunks; k > 0; --k)
    end = starts[k - 1] = from[k][end];
  return best[chunks][n];
}

SmallVector<size_t> Cutter::run() {
  // What two predictions of time differ by less than says nothing; what is
  // moved is certain.
  constexpr double kNearly = 1.02;
  SmallVector<size_t> starts;
  Cost fastest = solve(
      std::numeric_limits<double>::max(),
      [](const Cost &a, const Cost &b) { return a.seconds < b.seconds; },
      starts);
  solve(
      kNearly * fastest.seconds,
      [](const Cost &a, const Cost &b) {
        return std::tie(a.bytes, a.seconds) < std::tie(b.bytes, b.seconds);
      },
      starts);
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
  if (stages < 1 || chunks < 1) {
    module.emitError() << "dist-pipeline-stages: expected at least one stage "
                          "and one chunk, but got "
                       << stages.getValue() << " and " << chunks.getValue();
    return signalPassFailure();
  }
  // More than 64 bits hold are too many, whatever the model has.
  int64_t count =
      std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(stages, chunks),
                         std::numeric_limits<int64_t>::max());
  setProgramReason(module, kStageAxis,
                   "--strategy=pipeline:stages=" + Twine(stages));
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
  if (auto joined = joinProducts(segments); int64_t(joined.size()) >= count)
    segments = joined;
  SmallVector<size_t> starts = Cutter(segments, count).run();
  int64_t chunk = 0;
  for (auto [i, segment] : llvm::enumerate(segments)) {
    if (chunk + 1 < count && starts[chunk + 1] == i)
      ++chunk;
    for (graph::VariableOp variable : segment.variables)
      setStage(variable, chunk);
  }
  placeOthers();
}
