//===- InsertReshards.cpp - One split of its factors for each op -*- C++
//-*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/FactorSharding.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ReshardPlan.h"
#include "llvm/ADT/MapVector.h"
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
  std::string explain(Operation *op, const ShardingRule &rule, unsigned i,
                      const AxisLists &factors);
  LogicalResult checkAllowed(Operation *op, unsigned i, ShardingAttr target,
                             StringRef reason);
  Value reshard(OpOperand &use, ShardingAttr target, const Twine &reason);

  MeshOp mesh;
  FlatSymbolRefAttr meshName;
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

Value InsertReshardsPass::reshard(OpOperand &use, ShardingAttr target,
                                  const Twine &reason) {
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
  if (Operation *definition = value.getDefiningOp())
    if (Attribute number = definition->getAttr(DistDialect::kOrigin))
      op->setAttr(DistDialect::kOrigin, number);
  return made = op.getResult();
}

/// A value as a user knows it: the variable's or input's name, else the op's.
static std::string describe(Value value) {
  if (Operation *definition = value.getDefiningOp())
    return "'" + getOriginName(definition) + "'";
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  for (StringRef name : {"graph.variable", "graph.name"}) {
    Attribute given = function.getArgAttr(argument.getArgNumber(), name);
    if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(given))
      return "variable '" + symbol.getValue().str() + "'";
    if (auto text = dyn_cast_or_null<StringAttr>(given))
      return "'" + text.getValue().str() + "'";
  }
  return "argument " + std::to_string(argument.getArgNumber());
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
                                        unsigned i, const AxisLists &factors) {
  AxisLists own(rule.factors.size());
  projectToFactors(getDimAxes(findSharding(op->getOperand(i))),
                   rule.operands[i], rule, mesh, own);
  // Who has the factor, or the axis, otherwise.
  auto findOther = [&](llvm::function_ref<bool(const AxisLists &)> decides) {
    auto search = [&](ValueRange values, ArrayRef<TensorFactors> tensors,
                      StringRef what) -> std::string {
      for (auto [j, value] : llvm::enumerate(values)) {
        ShardingAttr sharding = findSharding(value);
        if (!sharding || value == op->getOperand(i))
          continue;
        AxisLists theirs(rule.factors.size());
        projectToFactors(getDimAxes(sharding), tensors[j], rule, mesh, theirs);
        if (decides(theirs))
          return (what.empty() ? describe(value) : what.str()) +
                 " is split over ";
      }
      return "";
    };
    std::string found = search(op->getOperands(), rule.operands, "");
    return found.empty() ? search(op->getResults(), rule.results, "its result")
                         : found;
  };
  for (unsigned dim = 0; dim < rule.operands[i].size(); ++dim)
    for (unsigned factor : rule.operands[i][dim]) {
      if (own[factor] == factors[factor])
        continue;
      if (!own[factor].empty() && !isSplittable(rule.factors[factor]))
        return "it needs dim " + std::to_string(dim) + " whole";
      if (!factors[factor].empty()) {
        std::string other = findOther([&](const AxisLists &theirs) {
          return theirs[factor] == factors[factor];
        });
        if (!other.empty())
          return other + describe(factors[factor], mesh);
      }
      for (unsigned taken = 0; taken < factors.size(); ++taken)
        for (StringAttr axis : own[factor])
          if (taken != factor && llvm::is_contained(factors[taken], axis)) {
            std::string other = findOther([&](const AxisLists &theirs) {
              return theirs[taken] == factors[taken];
            });
            if (!other.empty())
              return other + describe(axis, mesh) + " along another dim";
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
  return function.getArgAttr(argument.getArgNumber(), "graph.variable") !=
         nullptr;
}

LogicalResult InsertReshardsPass::checkAllowed(Operation *op, unsigned i,
                                               ShardingAttr target,
                                               StringRef reason) {
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
  return op->emitOpError()
         << (replicates ? "would gather all of " : "would move ")
         << describe(value) << " (" << value.getType() << ", split over "
         << describe(axes, mesh) << ")"
         << (replicates ? " on every rank" : " to another layout") << ": "
         << reason << "; ask for it with a layout of its own, or "
         << (forbidden ? "allow replication" : "allow implicit reshards");
}

LogicalResult InsertReshardsPass::visit(Operation *op) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  AxisLists factors = chooseFactorAxes(op, rule);
  for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
    OpOperand &use = op->getOpOperand(i);
    ShardingAttr current = findSharding(use.get());
    if (!current)
      continue;
    auto target =
        ShardingAttr::get(meshName, projectToDims(tensor, factors, rule, mesh));
    if (splitsAlike(getDimAxes(current), getDimAxes(target), mesh))
      continue;
    std::string reason = explain(op, rule, i, factors);
    if (failed(checkAllowed(op, i, target, reason)))
      return failure();
    use.set(reshard(use, target,
                    "'" + op->getName().getStringRef() + "' of '" +
                        getOriginName(op) + "': " + reason));
  }
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    setSharding(result,
                ShardingAttr::get(meshName,
                                  projectToDims(tensor, factors, rule, mesh)));
  return success();
}

void InsertReshardsPass::visitReturn(func::ReturnOp op) {
  func::FuncOp function = getOperation();
  for (OpOperand &use : op->getOpOperands()) {
    auto target = function.getResultAttrOfType<ShardingAttr>(
        use.getOperandNumber(), DistDialect::kSharding);
    ShardingAttr current = findSharding(use.get());
    if (!target || !current ||
        splitsAlike(getDimAxes(current), getDimAxes(target), mesh))
      continue;
    std::string name = "result " + std::to_string(use.getOperandNumber());
    if (auto given = function.getResultAttrOfType<StringAttr>(
            use.getOperandNumber(), "graph.name"))
      name = given.str();
    use.set(reshard(use, target.withUnreduced({}),
                    "'" + name + "' is wanted in this layout"));
  }
}

void InsertReshardsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  mesh = findMesh(function);
  if (!mesh || function.isExternal())
    return;
  meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  reshards.clear();
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (isa<ShardingRuleOpInterface>(op)) {
      if (failed(visit(&op)))
        return signalPassFailure();
    } else if (auto terminator = dyn_cast<func::ReturnOp>(op))
      visitReturn(terminator);
  }
}
