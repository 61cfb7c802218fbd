//===- Recompute.cpp - Activations computed again, not kept -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/ActivationGradients.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/Explain.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include "passes/Graph/RecomputePlan.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Regex.h"
#include <limits>
#include <vector>

namespace mlir::dist {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// Copies chosen ops to where the backward pass reads them.
class Recomputer {
public:
  Recomputer(func::FuncOp entry, const BackwardPass &backward,
             const OpSet &chosen)
      : entry(entry), backward(backward), chosen(chosen) {}
  void run();

private:
  Value recompute(Value value, Operation *reader);
  SmallVector<Operation *> findChosen(Value value);
  void repeat(Operation *op, Operation *reader);
  Value wait(Value value, Operation *reader);
  Value waitForBase(Value base, Operation *reader, OpBuilder &b);
  void runBefore(Operation *op);

  func::FuncOp entry;
  const BackwardPass &backward;
  const OpSet &chosen;
  DenseMap<Value, Value> again, waiting;
};

struct RecomputePass : dist::impl::RecomputePassBase<RecomputePass> {
  using Base::Base;
  void runOnOperation() override;

private:
  bool runTogether(ArrayRef<func::FuncOp> entries, const llvm::Regex *regex);
  OpSet chooseByName(func::FuncOp entry, const BackwardPass &backward,
                     const llvm::Regex &regex);
  OpSet chooseByCost(func::FuncOp entry, const BackwardPass &backward);
};
} // namespace

/// The value, not before the cotangent that `reader` reads is there. Of views
/// and broadcasts, what they are made of waits.
Value Recomputer::wait(Value value, Operation *reader) {
  SmallVector<Operation *> views;
  Value base = value;
  for (Operation *op = base.getDefiningOp();
       op && isRepeatedAnyway(op) && op->getNumOperands() > 0 &&
       !waiting.contains(base);
       op = base.getDefiningOp()) {
    views.push_back(op);
    base = op->getOperand(0);
  }
  OpBuilder b(reader);
  Value result = waiting.lookup(base);
  if (!result)
    result = waiting[base] = waitForBase(base, reader, b);
  for (Operation *op : llvm::reverse(views)) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), result);
    result = waiting[op->getResult(0)] = b.clone(*op, mapping)->getResult(0);
  }
  return result;
}

Value Recomputer::waitForBase(Value base, Operation *reader, OpBuilder &b) {
  if (Operation *op = base.getDefiningOp();
      op && (isRepeatedAnyway(op) || op->hasTrait<OpTrait::ConstantLike>()))
    return base;
  auto after = AfterOp::create(b, base.getLoc(), base.getType(), base,
                               backward.getAnchor(reader));
  // Of the microbatch that reads it.
  if (Attribute number = reader->getAttr(kMicrobatchAttr))
    after->setAttr(kMicrobatchAttr, number);
  if (ShardingAttr sharding = findSharding(base))
    setSharding(after.getResult(), sharding);
  return after;
}

/// The chosen ops that `value` is made of and that were not repeated yet, each
/// behind those that it reads.
SmallVector<Operation *> Recomputer::findChosen(Value value) {
  SmallVector<Operation *> order;
  auto isWanted = [&](Value read) {
    Operation *op = read.getDefiningOp();
    return op && chosen.contains(op) && op->getNumOperands() > 0 &&
           !again.contains(read);
  };
  OpSet seen;
  SmallVector<std::pair<Operation *, unsigned>> path; // and the next operand
  auto enter = [&](Value read) {
    if (isWanted(read) && seen.insert(read.getDefiningOp()).second)
      path.emplace_back(read.getDefiningOp(), 0);
  };
  enter(value);
  while (!path.empty()) {
    auto &[op, next] = path.back();
    if (next < op->getNumOperands()) {
      enter(op->getOperand(next++));
      continue;
    }
    order.push_back(op);
    path.pop_back();
  }
  return order;
}

/// The value as the backward pass computes it for `reader`; itself if it is
/// kept.
Value Recomputer::recompute(Value value, Operation *reader) {
  for (Operation *op : findChosen(value))
    repeat(op, reader);
  return again.lookup_or(value, value);
}

/// Copies the op to `reader`, unless it reads only what is kept.
void Recomputer::repeat(Operation *op, Operation *reader) {
  bool repeated = isRepeatedAnyway(op);
  IRMapping mapping;
  bool changed = false;
  SmallVector<Value> kept;
  for (Value operand : op->getOperands()) {
    Value copy = again.lookup_or(operand, operand);
    mapping.map(operand, copy);
    changed |= copy != operand;
    if (copy == operand)
      kept.push_back(operand);
  }
  // A view on what is kept is read where it is.
  if (!repeated)
    for (Value operand : kept) {
      // Variables and inputs are there at any time; one operand that has to be
      // waited for is enough.
      if (isa<BlockArgument>(operand) && changed)
        continue;
      Value waits = wait(operand, reader);
      changed |= waits != operand;
      mapping.map(operand, waits);
    }
  if (!changed) {
    for (Value result : op->getResults())
      again[result] = result;
    return;
  }
  OpBuilder b(reader);
  Operation *copy = b.clone(*op, mapping);
  if (!repeated && !backward.isOnlyFor(op))
    copy->setAttr(kRecomputed, b.getUnitAttr());
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
    again[from] = to;
}

/// What the backward pass alone wants, but is kept: it is computed before, so
/// that its operands need not be kept.
void Recomputer::runBefore(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp())
      if (!last || last->isBeforeInBlock(def))
        last = def;
  if (last)
    op->moveAfter(last);
}

void Recomputer::run() {
  Block &block = entry.front();
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (backward.isOnlyFor(&op) && !chosen.contains(&op) &&
        backward.getFirst()->isBeforeInBlock(&op) && canRecompute(&op) &&
        !op.hasAttr(kMicrobatchAttr))
      runBefore(&op);
  SmallVector<Operation *> readers;
  for (Operation &op : block.without_terminator())
    if (backward.contains(&op) && backward.getAnchor(&op))
      readers.push_back(&op);
  for (Operation *reader : readers)
    for (OpOperand &operand : reader->getOpOperands())
      if (Operation *def = operand.get().getDefiningOp();
          def && !backward.contains(def))
        operand.set(recompute(operand.get(), reader));
  eraseDeadOps(entry);
}

static double countFlops(func::FuncOp entry) {
  double flops = 0;
  entry.walk([&](CostOpInterface op) { flops += op.getCost().flops; });
  return flops;
}

OpSet RecomputePass::chooseByName(func::FuncOp entry,
                                  const BackwardPass &backward,
                                  const llvm::Regex &regex) {
  OpSet chosen;
  for (Operation &op : entry.front().without_terminator())
    if (!backward.contains(&op) &&
        (isRepeatedAnyway(&op) ||
         (canRecompute(&op) && regex.match(getLocationName(op.getLoc())))))
      chosen.insert(&op);
  return chosen;
}

/// The ops of `copy` that stand where the chosen ones of `entry` do.
static OpSet findSame(func::FuncOp entry, func::FuncOp copy,
                      const OpSet &chosen) {
  OpSet same;
  for (auto [from, to] : llvm::zip_equal(entry.front(), copy.front()))
    if (chosen.contains(&from))
      same.insert(&to);
  return same;
}

/// Each choice is tried on a copy: what the peak is only the whole step shows.
/// It is an estimate, before kernels are formed: what they will allocate only
/// the lowering tells (MemoryLayout), which takes longer than all of this for
/// each of up to 17 choices. A limit is held all the same: the plan is compared
/// with it once it is made.
OpSet RecomputePass::chooseByCost(func::FuncOp entry,
                                  const BackwardPass &backward) {
  MachineModel machine;
  double move = 1 / machine.memoryBytesPerSecond;
  int64_t before = explainMemory(entry).peak;
  if (memoryLimit > 0 && before <= memoryLimit)
    return {};
  SmallVector<RecomputeChoice> choices;
  if (memoryLimit > 0) {
    for (bool contractions : {false, true})
      for (double times : {1. / 16, 1. / 4, 1., 4., 16., 256.})
        choices.push_back({times * move, contractions});
    for (int64_t segments : {32, 16, 8, 4, 2})
      choices.push_back(
          {1e6 * move, true, segments, std::numeric_limits<int64_t>::max()});
  } else {
    // A byte that need not be kept is worth a chain of ops on it.
    for (int64_t chain : {64, 16, 4})
      choices.push_back({16 * move, false, 1, chain});
  }
  OpSet best;
  int64_t bestPeak = before;
  double bestFlops = std::numeric_limits<double>::infinity();
  for (const RecomputeChoice &choice : choices) {
    OpSet chosen = chooseRecomputed(entry, backward, choice);
    func::FuncOp copy = entry.clone();
    entry->getBlock()->getOperations().insert(std::next(entry->getIterator()),
                                              copy);
    Recomputer(copy, BackwardPass(copy), findSame(entry, copy, chosen)).run();
    int64_t peak = explainMemory(copy).peak;
    double flops = countFlops(copy);
    copy.erase();
    bool fits = memoryLimit > 0 && peak <= memoryLimit;
    bool bestFits = memoryLimit > 0 && bestPeak <= memoryLimit;
    bool better = fits != bestFits ? fits
                  : fits           ? flops < bestFlops
                                   : peak < bestPeak;
    if (!better)
      continue;
    best = std::move(chosen);
    bestPeak = peak;
    bestFlops = flops;
  }
  return best;
}

static bool haveSameOps(func::FuncOp a, func::FuncOp b) {
  auto name = [](Operation &op) { return op.getName(); };
  return llvm::equal(llvm::map_range(a.front(), name),
                     llvm::map_range(b.front(), name));
}

/// Whether anything is computed again. Programs of unequal devices are of one
/// mind: their collectives must stay in one order, and the largest one needs
/// the memory.
bool RecomputePass::runTogether(ArrayRef<func::FuncOp> entries,
                                const llvm::Regex *regex) {
  struct Program {
    func::FuncOp entry;
    BackwardPass backward;
    OpSet chosen;
  };
  std::vector<Program> programs;
  for (func::FuncOp entry : entries)
    programs.push_back({entry, BackwardPass(entry), {}});
  Program *largest = &programs.front();
  if (!regex && programs.size() > 1) {
    auto peak = [](const Program &one) {
      return explainMemory(one.entry).peak;
    };
    largest = &*llvm::max_element(
        programs, [&](auto &a, auto &b) { return peak(a) < peak(b); });
  }
  if (!regex)
    largest->chosen = chooseByCost(largest->entry, largest->backward);
  for (Program &one : programs) {
    if (regex)
      one.chosen = chooseByName(one.entry, one.backward, *regex);
    else if (&one == largest)
      continue;
    else if (haveSameOps(largest->entry, one.entry))
      one.chosen = findSame(largest->entry, one.entry, largest->chosen);
    else
      one.chosen = chooseByCost(one.entry, one.backward);
  }
  bool matched = false;
  for (Program &one : programs) {
    matched |= llvm::any_of(
        one.chosen, [](Operation *op) { return !isRepeatedAnyway(op); });
    if (!one.chosen.empty())
      Recomputer(one.entry, one.backward, one.chosen).run();
    one.entry.walk(
        [](Operation *op) { op->removeDiscardableAttr(kCotangent); });
  }
  return matched;
}

void RecomputePass::runOnOperation() {
  bool automatic = ops == "auto";
  llvm::Regex regex(automatic ? StringRef() : StringRef(ops));
  std::string error;
  if (!automatic && (ops.empty() || !regex.isValid(error))) {
    getOperation().emitError()
        << "--recompute: expected auto or a regular expression of ops' names, "
           "but got '"
        << ops << "'" << (error.empty() ? "" : ": ") << error;
    return signalPassFailure();
  }
  bool trains = false, matched = false;
  llvm::MapVector<Attribute, SmallVector<func::FuncOp, 1>> groups;
  for (auto entry : getOperation().getOps<func::FuncOp>()) {
    if (entry.isExternal() || !BackwardPass(entry).isThere())
      continue;
    if (failed(checkByteSizes(entry)))
      return signalPassFailure();
    trains = true;
    // As kernels will read them: what masks need not is not there to be freed.
    simplifyActivationGradients(entry);
    eraseDeadOps(entry);
    // Their masks went before them, so they are not what they were.
    entry.walk([](MaxPoolGradOp op) {
      op->removeDiscardableAttr(DistDialect::kOrigin);
    });
    groups[findPortion(entry) ? entry->getAttr(kEntryAttr)
                              : Attribute(entry.getSymNameAttr())]
        .push_back(entry);
  }
  for (auto &[name, entries] : groups)
    matched |= runTogether(entries, automatic ? nullptr : &regex);
  if (trains && !automatic && !matched) {
    getOperation().emitError()
        << "--recompute: no op of the forward pass that can be computed again "
           "has a name that matches '"
        << ops << "'; names are those of the model's nodes";
    return signalPassFailure();
  }
}
