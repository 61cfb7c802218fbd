//===- SequenceParallel.cpp - Norms on parts of the tokens -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequence parallelism (Korthikanti et al., 2022) as annotations: what
// contractions with split weights give as partial sums is asked for in parts
// along the tokens, what they take is asked for whole. Propagation fills what
// lies between with the parts: residual sums, norms, dropout, biases. It knows
// no op by name, and goes forward and backward alike.
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Analysis/BatchRows.h"
#include "passes/Strategy/Passes.h"
#include "passes/Strategy/SplitPatterns.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SEQUENCEPARALLELPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Values where the layout of the tokens changes, each with the dims that could
/// be the tokens', major to minor.
using TokenDims = llvm::MapVector<Value, SmallVector<unsigned, 2>>;

/// One function's boundaries.
class Boundaries {
public:
  Boundaries(func::FuncOp function, const VariableTable &table, StringAttr axis)
      : table(table), axis(axis) {
    for (Operation &op : function.front()) {
      visitContraction(&op);
      visitSum(&op);
    }
  }
  /// Whether one of the values taken depends on a norm.
  bool hasNorm() const;

  /// Activations that contractions with split weights take whole.
  TokenDims taken;
  /// Partial sums that such contractions give, added up where they meet.
  TokenDims given;
  /// Contractions that compute on parts, with whole tokens.
  llvm::SmallPtrSet<Operation *, 16> contractions;

private:
  bool isSplit(Value value) const {
    ShardingAttr sharding = findSharding(value);
    return sharding && sharding.splitsOver(axis);
  }
  void visitContraction(Operation *op);
  void visitGradient(Operation *op, const ShardingRule &rule);
  void visitSum(Operation *op);

  const VariableTable &table;
  StringAttr axis;
};

struct SequenceParallelPass
    : mlir::dist::impl::SequenceParallelPassBase<SequenceParallelPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  ShardingAttr split(Value value, ArrayRef<unsigned> dims, bool minor) const;
  /// The dim of a value that is split, and how.
  struct Cut {
    Value value;
    unsigned dim;
    int64_t size, parts;
    std::string axes;

    /// How many times as large equal parts make it together.
    double getGrowth() const {
      return double(getPaddedSize(size, parts)) / size;
    }
  };
  /// The one that takes the most padding.
  Cut findWorst(ArrayRef<Boundaries> all, bool minor) const;
  LogicalResult check(ArrayRef<Cut> cuts) const;
  void annotate(const Boundaries &boundaries, bool minor);

  MeshOp mesh;
  StringAttr axisName;
};
} // namespace

/// The contraction's rule: a sum over a dim that tensors share, without
/// windows. A lookup in a table's rows is one, and so is its gradient.
static std::optional<ShardingRule> findContraction(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumOperands() < 2 || op->getNumResults() != 1)
    return std::nullopt;
  ShardingRule rule = sharded.getShardingRule();
  bool sums = false;
  for (const Factor &factor : rule.factors) {
    if (factor.kind == FactorKind::Permutation)
      return std::nullopt;
    sums |= factor.kind == FactorKind::Reduction &&
            factor.reduction == Reduction::Sum;
  }
  return sums ? std::optional(rule) : std::nullopt;
}

/// Where in a tensor a factor is; none if nowhere.
static std::optional<unsigned> findDim(const TensorFactors &tensor,
                                       unsigned factor) {
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (llvm::is_contained(factors, factor))
      return dim;
  return std::nullopt;
}

void Boundaries::visitContraction(Operation *op) {
  std::optional<ShardingRule> rule = findContraction(op);
  if (!rule)
    return;
  // The split factor, by the weight's dim; and which operand is the weight.
  std::optional<unsigned> split;
  unsigned weight = 0;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value operand = op->getOperand(i);
    if (!isSplit(operand) || !findVariableOf(operand, table))
      continue;
    ShardingAttr sharding = findSharding(operand);
    for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim)
      if (llvm::is_contained(sharding.getAxes(dim), axis) &&
          !rule->operands[i][dim].empty())
        split = rule->operands[i][dim].front();
    weight = i;
    break;
  }
  if (!split) {
    // Of two activations, such as a weight's gradient.
    if (llvm::any_of(op->getOperands(), [&](Value v) { return isSplit(v); }))
      contractions.insert(op);
    visitGradient(op, *rule);
    return;
  }
  // Tokens: what only an activation and the result have.
  SmallVector<unsigned, 2> inResult;
  SmallVector<std::pair<Value, SmallVector<unsigned, 2>>, 1> activations;
  for (unsigned other = 0; other < op->getNumOperands(); ++other) {
    if (other == weight)
      continue;
    SmallVector<unsigned, 2> inOperand;
    for (auto [dim, factors] : llvm::enumerate(rule->operands[other])) {
      if (factors.size() != 1 ||
          rule->factors[factors[0]].kind != FactorKind::PassThrough ||
          findDim(rule->operands[weight], factors[0]))
        continue;
      std::optional<unsigned> result = findDim(rule->results[0], factors[0]);
      if (!result || llvm::is_contained(inResult, *result))
        continue;
      inOperand.push_back(dim);
      inResult.push_back(*result);
    }
    if (!inOperand.empty())
      activations.push_back({op->getOperand(other), inOperand});
  }
  if (activations.empty())
    return;
  contractions.insert(op);
  if (rule->factors[*split].kind == FactorKind::Reduction) {
    // What is split otherwise already stays so.
    if (!isSplit(op->getResult(0)))
      given[op->getResult(0)] = inResult;
    return;
  }
  // Inputs are whole anyway.
  for (auto &[activation, inOperand] : activations)
    if (activation.getDefiningOp() && !isSplit(activation))
      taken.insert({activation, inOperand});
}

/// The gradient of a split table sums over the tokens' cotangents, which
/// nothing else takes whole. (A weight's takes what the layer itself takes.)
void Boundaries::visitGradient(Operation *op, const ShardingRule &rule) {
  if (op->getNumOperands() == 2 || !isSplit(op->getResult(0)))
    return;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
    if (!operand.getDefiningOp() || isSplit(operand) ||
        !isa<FloatType>(getElementTypeOrSelf(operand)))
      continue;
    SmallVector<unsigned, 2> tokens;
    for (auto [dim, factors] : llvm::enumerate(tensor))
      if (factors.size() == 1 &&
          rule.factors[factors[0]].kind == FactorKind::Reduction)
        tokens.push_back(dim);
    if (!tokens.empty())
      taken.insert({operand, tokens});
  }
}

/// Partial sums that only meet one another are added before they are
/// scattered.
void Boundaries::visitSum(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumResults() != 1 || op->getNumOperands() < 2 ||
      !llvm::all_of(op->getOperands(), [&](Value operand) {
        return given.contains(operand) && operand.hasOneUse();
      }))
    return;
  bool isSum = llvm::any_of(sharded.getShardingRule().linear,
                            [&](ArrayRef<unsigned> set) {
                              return set.size() == op->getNumOperands();
                            });
  if (!isSum || isSplit(op->getResult(0)))
    return;
  SmallVector<unsigned, 2> dims = given[op->getOperand(0)];
  for (Value operand : op->getOperands())
    given.erase(operand);
  given[op->getResult(0)] = dims;
}

/// Whether an op relates elements along a dim that it keeps, or sums
/// activations along one: so do norms, whole or in parts.
static bool isNormLike(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumOperands() == 0 ||
      !isa<FloatType>(getElementTypeOrSelf(op->getOperand(0))))
    return false;
  ShardingRule rule = sharded.getShardingRule();
  for (const DimFactors &dim : rule.operands[0])
    for (unsigned factor : dim) {
      const Factor &own = rule.factors[factor];
      if (own.size > 1 &&
          ((own.kind == FactorKind::NeedReplication &&
            findDim(rule.results[0], factor)) ||
           (own.kind == FactorKind::Reduction && op->getNumOperands() == 1)))
        return true;
    }
  return false;
}

bool Boundaries::hasNorm() const {
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Operation *> work;
  auto add = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !given.contains(value) && seen.insert(op).second)
      work.push_back(op);
  };
  for (auto &[value, dims] : taken)
    add(value);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isNormLike(op))
      return true;
    llvm::for_each(op->getOperands(), add);
  }
  return false;
}

/// The dim of the tokens: their minor one (the sequence), or their major one
/// (the batch).
static unsigned choose(ArrayRef<unsigned> dims, bool minor) {
  return minor ? dims.back() : dims.front();
}

ShardingAttr SequenceParallelPass::split(Value value, ArrayRef<unsigned> dims,
                                         bool minor) const {
  ShardingAttr sharding = findSharding(value);
  unsigned dim = choose(dims, minor);
  SmallVector<StringAttr> axes(sharding.getAxes(dim));
  axes.push_back(axisName);
  return sharding.withDim(dim, axes);
}

SequenceParallelPass::Cut
SequenceParallelPass::findWorst(ArrayRef<Boundaries> all, bool minor) const {
  std::optional<Cut> worst;
  for (const Boundaries &one : all)
    for (const TokenDims *values : {&one.given, &one.taken})
      for (auto &[value, dims] : *values) {
        unsigned dim = choose(dims, minor);
        ShardingAttr sharding = split(value, dims, minor);
        Cut cut{value, dim,
                cast<RankedTensorType>(value.getType()).getDimSize(dim),
                getNumShards(sharding, dim, mesh),
                formatAxes(sharding.getAxes(dim))};
        if (!worst || cut.getGrowth() > worst->getGrowth())
          worst = cut;
      }
  return *worst;
}

/// Fails if the first, the best of `cuts`, is none: so are the others then.
LogicalResult SequenceParallelPass::check(ArrayRef<Cut> cuts) const {
  const Cut &best = cuts.front();
  if (isSplitAllowed(best.size, best.parts, strictDivisibility))
    return success();
  InFlightDiagnostic error = emitError(best.value.getLoc());
  error << "sequence-parallel: ";
  llvm::interleave(
      cuts, error,
      [&](const Cut &cut) {
        error << "dim " << cut.dim << " of "
              << describeNode(cut.value.getDefiningOp()) << " "
              << describeMisfit(cut.size, cut.parts, cut.axes,
                                strictDivisibility);
      },
      "; and ");
  return error << "; choose such a size, or leave sequence-parallel out";
}

void SequenceParallelPass::annotate(const Boundaries &boundaries, bool minor) {
  std::string name = "--strategy=tensor-split:sequence-parallel";
  auto reshard = [&](Value value, ShardingAttr target, const Twine &reason) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    auto op = ReshardOp::create(
        builder, value.getLoc(), value, target.closed(),
        builder.getStringAttr(name + reason),
        builder.getStringAttr(getOriginName(value.getDefiningOp())));
    setSharding(op.getResult(), op.getTarget());
    return op;
  };
  for (auto &[value, dims] : boundaries.given) {
    auto part = reshard(value, split(value, dims, minor),
                        " keeps parts of the tokens on each rank along '" +
                            axisName.getValue() + "'");
    Value(value).replaceAllUsesExcept(part.getResult(), part);
  }
  for (auto &[value, dims] : boundaries.taken) {
    ShardingAttr whole = findSharding(value);
    setSharding(value, split(value, dims, minor));
    auto all = reshard(value, whole,
                       " gathers the tokens where weights are split over '" +
                           axisName.getValue() + "'");
    Value(value).replaceUsesWithIf(all.getResult(), [&](OpOperand &use) {
      return boundaries.contractions.contains(use.getOwner());
    });
  }
}

void SequenceParallelPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto found = getMesh(module, "dist-sequence-parallel");
  if (failed(found))
    return signalPassFailure();
  mesh = *found;
  auto axes = getAxes(mesh, {axis}, "dist-sequence-parallel");
  if (failed(axes))
    return signalPassFailure();
  axisName = axes->front();
  if (module
          .walk([](CollectiveOpInterface op) {
            op->emitError() << "dist-sequence-parallel: expected a module "
                               "before dist-partition, but got a collective";
            return WalkResult::interrupt();
          })
          .wasInterrupted())
    return signalPassFailure();
  VariableTable table(module);
  SmallVector<Boundaries> all;
  bool hasNorm = false;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Boundaries boundaries(function, table, axisName);
    // The backward pass of what is not normalized has sums, too.
    hasNorm |= findEntry(module) == function && boundaries.hasNorm();
    if (!boundaries.taken.empty() && !boundaries.given.empty())
      all.push_back(std::move(boundaries));
  }
  if (all.empty() || !hasNorm) {
    module.emitError()
        << "sequence-parallel: expected norms between contractions whose "
           "weights are split over '"
        << axis << "', but found none; leave it out, or split the weights of "
        << "layers that a norm follows (--split-preset transformer)";
    return signalPassFailure();
  }
  // All alike, so that nothing moves between. The sequence, unless there are
  // values without one, whose rows are batch and sequence at once.
  auto count = [](const auto &one) { return one.second.size(); };
  bool mixed = llvm::any_of(all, [&](const Boundaries &one) {
    size_t first = count(*all.front().given.begin());
    return llvm::any_of(
        llvm::concat<const std::pair<Value, SmallVector<unsigned, 2>>>(
            one.given.getArrayRef(), one.taken.getArrayRef()),
        [&](const auto &value) { return count(value) != first; });
  });
  // Otherwise what takes less padding.
  SmallVector<Cut, 2> cuts = {findWorst(all, /*minor=*/false)};
  bool minor = false;
  if (!mixed) {
    Cut sequence = findWorst(all, /*minor=*/true);
    minor = sequence.getGrowth() <= cuts[0].getGrowth();
    if (sequence.value != cuts[0].value || sequence.dim != cuts[0].dim)
      cuts.insert(minor ? cuts.begin() : cuts.end(), sequence);
  }
  if (failed(check(cuts)))
    return signalPassFailure();
  for (const Boundaries &boundaries : all)
    annotate(boundaries, minor);
}
