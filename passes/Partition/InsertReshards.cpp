//===- InsertReshards.cpp - One split of its factors for each op ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/FactorSharding.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ReshardPlan.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct InsertReshardsPass
    : mlir::dist::impl::InsertReshardsPassBase<InsertReshardsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  AxisLists chooseFactorAxes(Operation *op, const ShardingRule &rule);
  LogicalResult visit(Operation *op);
  void visitReturn(func::ReturnOp op);
  /// Why `op` cannot take operand `i` as it is, with what decided instead.
  /// `causes` get the rows of the latter.
  std::string explain(Operation *op, const ShardingRule &rule, unsigned i,
                      const AxisLists &factors,
                      SmallVectorImpl<int32_t> &causes);
  void addMoved(Value value, ShardingAttr target,
                SmallVectorImpl<int32_t> &causes);
  void addGained(Value value, ShardingAttr target, Attribute list,
                 SmallVectorImpl<int32_t> &causes);
  void keepSources(Operation *op);
  void explainAsked(ReshardOp op);
  LogicalResult checkAllowed(Operation *op, unsigned i, ShardingAttr target,
                             StringRef reason, ArrayRef<int32_t> causes);
  void addDecisions(InFlightDiagnostic &error, ArrayRef<int32_t> causes);
  bool makeAnew(OpOperand &use, ShardingAttr target);
  /// `moved` are the rows of what is moved, `decided` of what asks for it.
  Value reshard(OpOperand &use, ShardingAttr target, const Twine &reason,
                ArrayRef<int32_t> moved, ArrayRef<int32_t> decided);

  MeshOp mesh;
  FlatSymbolRefAttr meshName;
  SourceTable sources;
  /// One reshard a value and target: later users share it.
  DenseMap<std::pair<Value, Attribute>, Value> reshards;
};

/// A split of one factor that some tensors already have.
struct Candidate {
  unsigned factor;
  AxisList axes;
  int64_t bytes;
};
} // namespace

/// A factor split as most bytes have it. Two factors never share an axis.
AxisLists InsertReshardsPass::chooseFactorAxes(Operation *op,
                                               const ShardingRule &rule) {
  SmallVector<Candidate> candidates;
  auto collect = [&](Value value, const TensorFactors &tensor) {
    ShardingAttr sharding = findSharding(value);
    if (!sharding)
      return;
    AxisLists own(rule.factors.size());
    projectToFactors(getDimAxes(sharding), tensor, rule, mesh, own);
    int64_t bytes = getByteSize(value.getType());
    for (unsigned factor = 0; factor < own.size(); ++factor) {
      if (own[factor].empty() || !isSplittable(rule.factors[factor]))
        continue;
      auto same = llvm::find_if(candidates, [&](const Candidate &candidate) {
        return candidate.factor == factor && candidate.axes == own[factor];
      });
      if (same != candidates.end())
        same->bytes += bytes;
      else
        candidates.push_back({factor, own[factor], bytes});
    }
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    collect(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    collect(value, tensor);
  // Of equals the first found wins, so that the choice is the same each time.
  SmallVector<unsigned> order(candidates.size());
  for (unsigned i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::make_pair(-candidates[a].bytes, a) <
           std::make_pair(-candidates[b].bytes, b);
  });

  AxisLists chosen(rule.factors.size());
  llvm::SmallPtrSet<Attribute, 4> used;
  for (unsigned i : order) {
    const Candidate &candidate = candidates[i];
    bool free = chosen[candidate.factor].empty() &&
                llvm::none_of(candidate.axes, [&](StringAttr axis) {
                  return used.contains(axis);
                });
    if (!free)
      continue;
    chosen[candidate.factor] = candidate.axes;
    used.insert(candidate.axes.begin(), candidate.axes.end());
  }
  // A minor factor of a merged dim can be split only below a whole major one;
  // where the op's tensors could not say so, the split is dropped.
  bool changed = true;
  while (changed) {
    changed = false;
    auto check = [&](const TensorFactors &tensor) {
      for (const DimFactors &dim : tensor) {
        bool whole = true;
        for (unsigned factor : dim) {
          if (!whole && !chosen[factor].empty()) {
            chosen[factor].clear();
            changed = true;
          }
          whole &=
              mesh.getGroupSize(chosen[factor]) == rule.factors[factor].size;
        }
      }
    };
    llvm::for_each(rule.operands, check);
    llvm::for_each(rule.results, check);
  }
  return chosen;
}

/// The rows of the axes over which `value` is split, but `target` is not, or
/// not there.
void InsertReshardsPass::addMoved(Value value, ShardingAttr target,
                                  SmallVectorImpl<int32_t> &causes) {
  ShardingAttr current = findSharding(value);
  if (!sources.isKept() || !current)
    return;
  for (unsigned dim = 0; dim < current.getNumDims(); ++dim)
    for (StringAttr axis : current.getAxes(dim))
      if (!llvm::is_contained(target.getAxes(dim), axis))
        causes.push_back(sources.find(value, axis));
}

/// Of the rows of `list`, those of the axes over which `target` is split, but
/// `value` is not, or not there.
void InsertReshardsPass::addGained(Value value, ShardingAttr target,
                                   Attribute list,
                                   SmallVectorImpl<int32_t> &causes) {
  ShardingAttr current = findSharding(value);
  if (!sources.isKept() || !current)
    return;
  for (unsigned dim = 0; dim < current.getNumDims(); ++dim)
    for (StringAttr axis : target.getAxes(dim))
      if (!llvm::is_contained(current.getAxes(dim), axis))
        causes.push_back(sources.find(list, 0, axis));
}

/// What an op's results are split over may have been decided here: their rows
/// are those that they had, and its operands' for the other axes.
void InsertReshardsPass::keepSources(Operation *op) {
  if (!sources.isKept())
    return;
  SmallVector<int32_t> rows;
  for (Value result : op->getResults())
    if (ShardingAttr sharding = findSharding(result))
      for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim)
        for (StringAttr axis : sharding.getAxes(dim)) {
          int32_t row = sources.find(result, axis);
          for (Value operand : op->getOperands())
            if (row < 0)
              row = sources.find(operand, axis);
          if (row >= 0)
            rows.push_back(row);
        }
  if (rows.empty())
    op->removeAttr(kSourcesAttr);
  else
    op->setAttr(kSourcesAttr, DenseI32ArrayAttr::get(&getContext(), rows));
}

/// A reshard of the program: what is moved, and what asked for it.
void InsertReshardsPass::explainAsked(ReshardOp op) {
  SmallVector<int32_t> causes;
  addMoved(op.getOperand(), op.getTarget(), causes);
  addGained(op.getOperand(), op.getTarget(), op->getAttr(kSourcesAttr), causes);
  addCauses(op, causes);
}

/// A constant of one number is made anew where another layout of it is needed:
/// nothing moves. And zeros stay known as such; ops that add to them give sums
/// of parts, which those that add to what a reshard gives do not.
bool InsertReshardsPass::makeAnew(OpOperand &use, ShardingAttr target) {
  Value value = use.get();
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  bool isSplat = elements && elements.isSplat();
  if (!isSplat && !graph::isZero(value))
    return false;
  Value &made = reshards[{value, target}];
  if (!made) {
    OpBuilder builder(use.getOwner());
    if (isSplat) {
      made = builder.clone(*constant)->getResult(0);
    } else {
      graph::GraphBuilder g(builder, value.getLoc());
      made = g.zeros(cast<RankedTensorType>(value.getType()));
      Operation *definition = value.getDefiningOp();
      if (Attribute number = definition->getAttr(DistDialect::kOrigin))
        made.getDefiningOp()->setAttr(DistDialect::kOrigin, number);
    }
    made.getDefiningOp()->removeAttr(kSourcesAttr);
    setSharding(made, target);
  }
  use.set(made);
  return true;
}

Value InsertReshardsPass::reshard(OpOperand &use, ShardingAttr target,
                                  const Twine &reason, ArrayRef<int32_t> moved,
                                  ArrayRef<int32_t> decided) {
  Value value = use.get();
  Value &made = reshards[{value, target}];
  if (made)
    return made;
  Operation *user = use.getOwner();
  OpBuilder builder(user);
  std::string origin = getOriginName(user);
  auto op = ReshardOp::create(builder, user->getLoc(), value, target,
                              builder.getStringAttr(reason),
                              builder.getStringAttr(origin));
  setSharding(op.getResult(), target);
  addCauses(op, decided);
  if (Attribute rows = op->getAttr(kCausesAttr))
    op->setAttr(kSourcesAttr, rows);
  op->removeAttr(kCausesAttr);
  addCauses(op, moved);
  addCauses(op, decided);
  if (Operation *definition = value.getDefiningOp())
    if (Attribute number = definition->getAttr(DistDialect::kOrigin))
      op->setAttr(DistDialect::kOrigin, number);
  return made = op.getResult();
}

/// The axes of a layout, each with the user's decision behind it.
static std::string describe(ArrayRef<StringAttr> axes, MeshOp mesh) {
  std::string text;
  auto why = mesh->getAttrOfType<DictionaryAttr>("why");
  for (StringAttr axis : axes) {
    text += (text.empty() ? "'" : ", '") + axis.getValue().str() + "'";
    if (auto reason = why ? why.getAs<StringAttr>(axis) : StringAttr())
      text += " (" + reason.getValue().str() + ")";
  }
  return text;
}

std::string InsertReshardsPass::explain(Operation *op, const ShardingRule &rule,
                                        unsigned i, const AxisLists &factors,
                                        SmallVectorImpl<int32_t> &causes) {
  AxisLists own(rule.factors.size());
  ShardingAttr mine = findSharding(op->getOperand(i));
  projectToFactors(getDimAxes(mine), rule.operands[i], rule, mesh, own);
  // Who has the factor, or the axis, otherwise.
  auto findOther = [&](ArrayRef<StringAttr> over,
                       llvm::function_ref<bool(const AxisLists &)> decides) {
    auto search = [&](ValueRange values, ArrayRef<TensorFactors> tensors,
                      StringRef what) -> std::string {
      for (auto [j, value] : llvm::enumerate(values)) {
        ShardingAttr sharding = findSharding(value);
        if (!sharding || value == op->getOperand(i))
          continue;
        AxisLists theirs(rule.factors.size());
        projectToFactors(getDimAxes(sharding), tensors[j], rule, mesh, theirs);
        if (!decides(theirs))
          continue;
        for (StringAttr axis : over)
          causes.push_back(sources.find(value, axis));
        return (what.empty() ? describeValue(value) : what.str()) +
               " is split over ";
      }
      return "";
    };
    std::string found = search(op->getOperands(), rule.operands, "");
    return found.empty() ? search(op->getResults(), rule.results, "its result")
                         : found;
  };
  for (unsigned dim = 0; dim < rule.operands[i].size(); ++dim) {
    const DimFactors &dimFactors = rule.operands[i][dim];
    int64_t parts = getNumShards(mine, dim, mesh);
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    if (type.getDimSize(dim) % parts != 0 &&
        llvm::all_of(dimFactors,
                     [&](unsigned factor) { return own[factor].empty(); }))
      return "dim " + std::to_string(dim) + " cannot be padded there to " +
             std::to_string(parts) +
             " equal parts: the op merges or cuts it, or needs all of it";
    for (unsigned factor : dimFactors) {
      if (own[factor] == factors[factor])
        continue;
      if (!own[factor].empty() && !isSplittable(rule.factors[factor]))
        return "it needs dim " + std::to_string(dim) + " whole";
      if (!factors[factor].empty()) {
        std::string other =
            findOther(factors[factor], [&](const AxisLists &theirs) {
              return theirs[factor] == factors[factor];
            });
        if (!other.empty())
          return other + describe(factors[factor], mesh);
      }
      for (unsigned taken = 0; taken < factors.size(); ++taken)
        for (StringAttr axis : own[factor])
          if (taken != factor && llvm::is_contained(factors[taken], axis)) {
            std::string other = findOther(axis, [&](const AxisLists &theirs) {
              return theirs[taken] == factors[taken];
            });
            if (!other.empty())
              return other + describe(axis, mesh) + " along another dim";
          }
    }
  }
  return "it needs its operands split alike";
}

/// Whether a value is a variable, or one in another type or shape.
static bool isVariable(Value value) {
  while (Operation *definition = value.getDefiningOp()) {
    if (definition->getNumOperands() != 1 ||
        !isa<ShardingRuleOpInterface>(definition) ||
        getByteSize(definition->getResult(0).getType()) >
            getByteSize(definition->getOperand(0).getType()))
      return false;
    value = definition->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function.getArgAttr(argument.getArgNumber(), kVariableAttr) != nullptr;
}

LogicalResult InsertReshardsPass::checkAllowed(Operation *op, unsigned i,
                                               ShardingAttr target,
                                               StringRef reason,
                                               ArrayRef<int32_t> causes) {
  Value value = op->getOperand(i);
  ShardingAttr current = findSharding(value);
  AxisList axes;
  for (const AxisList &list : getLayout(current, mesh).dims)
    llvm::append_range(axes, list);
  bool replicates = !axes.empty() && llvm::all_of(getLayout(target, mesh).dims,
                                                  [](const AxisList &list) {
                                                    return list.empty();
                                                  });
  bool forbidden = replicates && !allowReplicate && !isVariable(value);
  // Cutting what every rank has moves nothing.
  if (!forbidden && (!errorOnImplicitReshard || axes.empty()))
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << (replicates ? "would gather all of " : "would move ")
        << describeValue(value) << " (" << value.getType() << ", split over "
        << describe(axes, mesh) << ")"
        << (replicates ? " on every rank" : " to another layout") << ": "
        << reason << "; ask for it with a layout of its own, or "
        << (forbidden ? "allow replication (--allow-replicate)"
                      : "leave out --error-on-implicit-reshard");
  addDecisions(error, causes);
  return error;
}

/// The annotations that met, each with what it split and how far it came.
void InsertReshardsPass::addDecisions(InFlightDiagnostic &error,
                                      ArrayRef<int32_t> causes) {
  llvm::SmallSetVector<int32_t, 4> rows;
  for (int32_t row : causes)
    if (row >= 0)
      rows.insert(row);
  for (int32_t row : rows) {
    Source last = sources.get(row), first = last;
    int64_t edges = 0;
    for (; first.from >= 0; ++edges)
      first = sources.get(first.from);
    Diagnostic &note = error.attachNote();
    note << last.value.getValue() << " is split over '" << last.axis.getValue()
         << "' because " << first.place.getValue();
    if (edges > 0)
      note << ", and from " << first.value.getValue() << " that spread along "
           << edges << (edges > 1 ? " ops" : " op");
  }
}

LogicalResult InsertReshardsPass::visit(Operation *op) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  AxisLists factors = chooseFactorAxes(op, rule);
  for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
    OpOperand &use = op->getOpOperand(i);
    ShardingAttr current = findSharding(use.get());
    if (!current || !rule.reads(i))
      continue;
    auto target =
        ShardingAttr::get(meshName, projectToDims(tensor, factors, rule, mesh));
    if (splitsAlike(getDimAxes(current), getDimAxes(target), mesh) ||
        makeAnew(use, target))
      continue;
    SmallVector<int32_t> moved, decided;
    addMoved(use.get(), target, moved);
    std::string reason = explain(op, rule, i, factors, decided);
    SmallVector<int32_t> causes(moved);
    llvm::append_range(causes, decided);
    if (failed(checkAllowed(op, i, target, reason, causes)))
      return failure();
    use.set(reshard(use, target,
                    "'" + op->getName().getStringRef() + "' of '" +
                        getOriginName(op) + "': " + reason,
                    moved, decided));
  }
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    setSharding(result,
                ShardingAttr::get(meshName,
                                  projectToDims(tensor, factors, rule, mesh)));
  keepSources(op);
  return success();
}

void InsertReshardsPass::visitReturn(func::ReturnOp op) {
  func::FuncOp function = getOperation();
  for (OpOperand &use : op->getOpOperands()) {
    auto target = function.getResultAttrOfType<ShardingAttr>(
        use.getOperandNumber(), DistDialect::kSharding);
    ShardingAttr current = findSharding(use.get());
    if (!target || !current ||
        splitsAlike(getDimAxes(current), getDimAxes(target), mesh) ||
        makeAnew(use, target.withUnreduced({})))
      continue;
    std::string name = "result " + std::to_string(use.getOperandNumber());
    if (auto given = function.getResultAttrOfType<StringAttr>(
            use.getOperandNumber(), kNameAttr))
      name = given.str();
    SmallVector<int32_t> moved, asked;
    addMoved(use.get(), target, moved);
    addGained(use.get(), target,
              function.getResultAttr(use.getOperandNumber(), kSourcesAttr),
              asked);
    use.set(reshard(use, target.withUnreduced({}),
                    "'" + name + "' is wanted in this layout", moved, asked));
  }
}

void InsertReshardsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  mesh = findMesh(function);
  if (!mesh || function.isExternal())
    return;
  meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  reshards.clear();
  sources = SourceTable(mesh);
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (isa<ShardingRuleOpInterface>(op)) {
      if (failed(visit(&op)))
        return signalPassFailure();
    } else if (auto asked = dyn_cast<ReshardOp>(op)) {
      explainAsked(asked);
    } else if (auto terminator = dyn_cast<func::ReturnOp>(op)) {
      visitReturn(terminator);
    }
  }
}
