//===- PropagateSharding.cpp - Shardings from few values to all -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheme is Shardy's basic propagation (openxla/shardy,
// docs/propagation.md): project to factors, merge there, project back. A
// fixpoint over a plain map is enough, since step functions are one block. A
// variable is one value that all functions share: what one of them finds out of
// it holds for the others.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/FactorSharding.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/PropagationState.h"
#include "passes/Partition/SharedScalars.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

struct PropagateShardingPass
    : mlir::dist::impl::PropagateShardingPassBase<PropagateShardingPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult readVariables();
  LogicalResult readShardings(func::FuncOp function);
  LogicalResult readResults(func::FuncOp function);
  LogicalResult checkDivides(Operation *op, const Twine &what, Type type,
                             ShardingAttr sharding) {
    return dist::checkDivides(op, what, type, sharding, mesh,
                              strictDivisibility);
  }
  bool sweep(func::FuncOp function, bool resolveConflicts);
  bool visit(Operation *op, bool resolveConflicts);
  bool visitReturn(Operation *op);
  bool visitVariables(func::FuncOp function);
  /// Extends a state by an op's or function's: `findRow` gives the row that an
  /// axis of a dim follows from, `describe` who has it now.
  bool extend(PropagationState &state, const AxisLists &dims, Operation *op,
              int32_t result, llvm::function_ref<std::string()> describe,
              llvm::function_ref<int32_t(unsigned, StringAttr)> findRow);
  void decide(PropagationState &state, bool isGiven, int32_t result,
              StringRef name, Attribute known,
              llvm::function_ref<std::string(StringAttr)> explain);
  int32_t findRow(const PropagationState &state, StringAttr axis) const;
  std::string getDecision(StringAttr axis) const;
  /// The state of the variable that an argument or result stands for, or null.
  PropagationState *findVariable(DictionaryAttr attributes);
  void write(func::FuncOp function);
  LogicalResult read(ArrayRef<func::FuncOp> functions);
  void propagate(ArrayRef<func::FuncOp> functions);
  /// The first part of an axis that some op could use on its own.
  std::optional<std::string> findCut(func::FuncOp function);

  DenseMap<Value, PropagationState> states;
  OpsToVisit visits;
  /// Declared function results; none where a result follows its operand.
  DenseMap<std::pair<Operation *, unsigned>, PropagationState> results;
  DenseMap<StringAttr, PropagationState> variables;
  MeshOp mesh;
  FlatSymbolRefAttr meshName;
  std::optional<SourceBuilder> table;
  /// The rows of earlier rounds.
  SourceTable earlier;
};

/// How one tensor splits a factor.
struct Candidate {
  AxisList axes;
  int64_t bytes = 0;
  const PropagationState *state = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// Where axes came from
//===----------------------------------------------------------------------===//

/// The user's decision about an axis, as the strategy put it.
std::string PropagateShardingPass::getDecision(StringAttr axis) const {
  auto why = MeshOp(mesh)->getAttrOfType<DictionaryAttr>("why");
  auto reason = why ? why.getAs<StringAttr>(axis) : StringAttr();
  return reason ? reason.str() : "the program says so";
}

int32_t PropagateShardingPass::findRow(const PropagationState &state,
                                       StringAttr axis) const {
  for (int32_t row : state.sources)
    if (isAxisWithin(axis, table->getAxis(row)))
      return row;
  return -1;
}

/// Rows of what is split before anything spreads, or given as a sum: those of
/// an earlier round, or the decision that `explain` gives.
void PropagateShardingPass::decide(
    PropagationState &state, bool isGiven, int32_t result, StringRef name,
    Attribute known, llvm::function_ref<std::string(StringAttr)> explain) {
  if (!table)
    return;
  Builder builder(&getContext());
  auto add = [&](StringAttr axis, int32_t dim) {
    if (findRow(state, axis) >= 0)
      return;
    int32_t row = earlier.find(known, result, axis);
    if (row < 0)
      row = table->add({axis, builder.getStringAttr(name), dim, result,
                        builder.getStringAttr(""),
                        builder.getStringAttr(explain(axis)), -1});
    state.sources.push_back(row);
  };
  for (auto [dim, axes] : llvm::enumerate(state.dims))
    for (StringAttr axis : axes)
      add(axis, dim);
  for (StringAttr axis : isGiven ? state.unreduced : AxisList())
    add(axis, -1);
}

bool PropagateShardingPass::extend(
    PropagationState &state, const AxisLists &dims, Operation *op,
    int32_t result, llvm::function_ref<std::string()> describe,
    llvm::function_ref<int32_t(unsigned, StringAttr)> findRow) {
  return state.extend(
      dims, mesh, strictDivisibility, [&](unsigned dim, StringAttr axis) {
        if (!table)
          return;
        Builder builder(&getContext());
        std::string place = isa<func::ReturnOp>(op) ? "" : getOriginName(op);
        state.sources.push_back(table->add(
            {axis, builder.getStringAttr(describe()), int32_t(dim), result,
             builder.getStringAttr(op->getName().getStringRef()),
             builder.getStringAttr(place), findRow(dim, axis)}));
      });
}

//===----------------------------------------------------------------------===//
// What the program says
//===----------------------------------------------------------------------===//

LogicalResult PropagateShardingPass::readVariables() {
  for (auto variable : getOperation().getOps<graph::VariableOp>()) {
    auto type = dyn_cast<RankedTensorType>(variable.getType());
    auto sharding = dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr());
    if (!type || !sharding)
      continue;
    if (failed(checkDivides(variable, "'" + variable.getSymName() + "'", type,
                            sharding)))
      return failure();
    PropagationState &state = variables[variable.getSymNameAttr()];
    state = PropagationState(type, sharding);
    auto why = variable->getAttrOfType<DictionaryAttr>(kWhyAttr);
    decide(state, true, 0, ("variable '" + variable.getSymName() + "'").str(),
           variable->getAttr(kSourcesAttr), [&](StringAttr axis) {
             auto reason = why ? why.getAs<StringAttr>(axis) : StringAttr();
             return reason ? reason.str() : getDecision(axis);
           });
  }
  return success();
}

PropagationState *
PropagateShardingPass::findVariable(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<FlatSymbolRefAttr>(kVariableAttr)
                         : FlatSymbolRefAttr();
  auto found = name ? variables.find(name.getAttr()) : variables.end();
  return found == variables.end() ? nullptr : &found->second;
}

LogicalResult PropagateShardingPass::readShardings(func::FuncOp function) {
  auto set = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return success();
    ShardingAttr sharding = findSharding(value);
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (PropagationState *variable =
              findVariable(function.getArgAttrDict(argument.getArgNumber()))) {
        states[value] = *variable;
        return success();
      }
    if (sharding) {
      std::string what = "a value";
      if (auto argument = dyn_cast<BlockArgument>(value))
        what = ("argument " + Twine(argument.getArgNumber())).str();
      else
        what = ("the result of '" +
                value.getDefiningOp()->getName().getStringRef() + "'")
                   .str();
      if (failed(checkDivides(function, what, type, sharding)))
        return failure();
    }
    PropagationState &state = states[value];
    state = PropagationState(type, sharding);
    if (!sharding || !table)
      return success();
    auto result = dyn_cast<OpResult>(value);
    auto asked = value.getDefiningOp<ReshardOp>();
    // What a reshard leaves as it is was not decided there.
    auto before = asked ? states.find(asked.getOperand()) : states.end();
    if (before != states.end() && !findSources(value)) {
      SmallVector<int32_t> kept;
      for (auto [own, axes] : llvm::zip(state.dims, before->second.dims))
        for (StringAttr axis : axes)
          if (llvm::is_contained(own, axis))
            if (int32_t row = findRow(before->second, axis); row >= 0)
              kept.push_back(row);
      state.sources.append(kept);
    }
    decide(state, !result, result ? result.getResultNumber() : 0,
           describeValue(value), findSources(value), [&](StringAttr axis) {
             return asked ? asked.getReason().str() : getDecision(axis);
           });
    return success();
  };
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    if (failed(set(argument)))
      return failure();
  for (Operation &op : block) {
    if (!isa<ShardingRuleOpInterface, ReshardOp, func::ReturnOp>(op))
      return op.emitOpError() << "cannot be partitioned: it has no sharding "
                                 "rule; compile it for one device";
    if (auto reshard = dyn_cast<ReshardOp>(op))
      setSharding(reshard.getResult(), reshard.getTarget());
    for (Value result : op.getResults())
      if (failed(set(result)))
        return failure();
  }
  return readResults(function);
}

/// A result as a user knows it.
static std::string describeResult(func::FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, kNameAttr);
  return "result " + (name ? "'" + name.str() + "'" : std::to_string(result));
}

LogicalResult PropagateShardingPass::readResults(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    auto sharding =
        function.getResultAttrOfType<ShardingAttr>(i, DistDialect::kSharding);
    if (!type || !sharding || findVariable(function.getResultAttrDict(i)))
      continue;
    if (failed(checkDivides(function, "result " + Twine(i), type, sharding)))
      return failure();
    PropagationState &state = results[{function, i}];
    state = PropagationState(type, sharding);
    decide(state, false, 0, describeResult(function, i),
           function.getResultAttr(i, kSourcesAttr),
           [&](StringAttr axis) { return getDecision(axis); });
  }
  return success();
}

bool PropagateShardingPass::visit(Operation *op, bool resolveConflicts) {
  if (!visits.begin(op))
    return false;
  const ShardingRule &rule = visits.getRule(op);
  SmallVector<SmallVector<Candidate>> candidates(rule.factors.size());
  auto collect = [&](Value value, const TensorFactors &tensor) {
    auto found = states.find(value);
    if (found == states.end())
      return;
    AxisLists own(rule.factors.size());
    projectToFactors(found->second.dims, tensor, rule, mesh, own);
    for (unsigned factor = 0; factor < own.size(); ++factor)
      if (!own[factor].empty() && isSplittable(rule.factors[factor]))
        candidates[factor].push_back(
            {own[factor], getByteSize(value.getType()), &found->second});
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    collect(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    collect(value, tensor);

  AxisLists merged(rule.factors.size());
  for (unsigned factor = 0; factor < merged.size(); ++factor) {
    auto &list = candidates[factor];
    if (list.empty())
      continue;
    const Candidate *longest = &list.front(), *largest = &list.front();
    for (const Candidate &candidate : list) {
      if (candidate.axes.size() > longest->axes.size())
        longest = &candidate;
      if (candidate.bytes > largest->bytes)
        largest = &candidate;
    }
    bool agree = llvm::all_of(list, [&](const Candidate &candidate) {
      return isPrefix(candidate.axes, longest->axes);
    });
    if (agree) {
      merged[factor] = longest->axes;
    } else if (resolveConflicts) {
      merged[factor] = largest->axes;
    } else {
      // What all sources have in common.
      merged[factor] = list.front().axes;
      for (const Candidate &candidate : list)
        while (!isPrefix(merged[factor], candidate.axes))
          merged[factor].pop_back();
    }
  }

  bool changed = false;
  auto spread = [&](Value value, const TensorFactors &tensor, int32_t result) {
    auto found = states.find(value);
    if (found == states.end())
      return;
    PropagationState &state = found->second;
    bool extended = extend(
        state, projectToDims(tensor, merged, rule, mesh),
        // Of an operand, the number is that of its own op's result.
        op, result, [&] { return describeValue(value); },
        [&](unsigned dim, StringAttr axis) -> int32_t {
          for (unsigned factor : tensor[dim])
            for (const Candidate &candidate : candidates[factor])
              if (candidate.state != &state &&
                  llvm::is_contained(candidate.axes, axis))
                return findRow(*candidate.state, axis);
          return -1;
        });
    if (extended)
      visits.add(value);
    changed |= extended;
  };
  auto getNumber = [](Value value) {
    auto result = dyn_cast<OpResult>(value);
    return result ? int32_t(result.getResultNumber()) : 0;
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    spread(value, tensor, getNumber(value));
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    spread(value, tensor, getNumber(value));
  return changed;
}

bool PropagateShardingPass::visitReturn(Operation *op) {
  bool changed = false;
  func::FuncOp function = op->getParentOfType<func::FuncOp>();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    PropagationState *declared = findVariable(function.getResultAttrDict(i));
    if (!declared)
      if (auto found = results.find({function, unsigned(i)});
          found != results.end())
        declared = &found->second;
    auto value = states.find(operand);
    if (!declared || value == states.end())
      continue;
    auto result = dyn_cast<OpResult>(operand);
    PropagationState &state = value->second;
    if (extend(
            state, declared->dims, op, result ? result.getResultNumber() : 0,
            [&, operand = operand] { return describeValue(operand); },
            [&](unsigned, StringAttr axis) {
              return findRow(*declared, axis);
            })) {
      visits.add(operand);
      changed = true;
    }
    changed |= extend(
        *declared, state.dims, op, 0,
        [&, i = i] { return describeResult(function, i); },
        [&](unsigned, StringAttr axis) { return findRow(state, axis); });
  }
  return changed;
}

bool PropagateShardingPass::visitVariables(func::FuncOp function) {
  bool changed = false;
  for (BlockArgument argument : function.front().getArguments()) {
    PropagationState *variable =
        findVariable(function.getArgAttrDict(argument.getArgNumber()));
    if (!variable)
      continue;
    PropagationState &state = states[argument];
    // A variable is one value: it shares its rows.
    auto extendBy = [&](PropagationState &to, const PropagationState &from) {
      return to.extend(
          from.dims, mesh, strictDivisibility, [&](unsigned, StringAttr axis) {
            if (int32_t row = table ? findRow(from, axis) : -1; row >= 0)
              to.sources.push_back(row);
          });
    };
    if (extendBy(state, *variable)) {
      visits.add(argument);
      changed = true;
    }
    changed |= extendBy(*variable, state);
  }
  return changed;
}

bool PropagateShardingPass::sweep(func::FuncOp function,
                                  bool resolveConflicts) {
  bool changed = visitVariables(function);
  auto visitOne = [&](Operation &op) {
    if (isa<ShardingRuleOpInterface>(op))
      changed |= visit(&op, resolveConflicts);
    else if (isa<func::ReturnOp>(op)) {
      // What is assigned and what is read must not choose apart from each
      // other: a variable has one layout.
      changed |= visitVariables(function);
      changed |= visitReturn(&op);
      changed |= visitVariables(function);
    }
  };
  for (Operation &op : function.front())
    visitOne(op);
  for (Operation &op : llvm::reverse(function.front()))
    visitOne(op);
  return changed;
}

void PropagateShardingPass::write(func::FuncOp function) {
  Block &block = function.front();
  MLIRContext *context = function.getContext();
  // All at once: an attribute list a change would fill the context.
  auto with = [&](DictionaryAttr old, ShardingAttr sharding,
                  const PropagationState *state) {
    NamedAttrList list(old);
    if (sharding)
      list.set(DistDialect::kSharding, sharding);
    if (state && !state->sources.empty())
      list.set(kSourcesAttr, DenseI32ArrayAttr::get(context, state->sources));
    return list.getDictionary(context);
  };
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  for (BlockArgument argument : block.getArguments()) {
    auto found = states.find(argument);
    const PropagationState *state =
        found == states.end() ? nullptr : &found->second;
    argumentAttrs.push_back(with(
        function.getArgAttrDict(argument.getArgNumber()),
        state ? state->getSharding(meshName, close) : ShardingAttr(), state));
  }
  function.setAllArgAttrs(argumentAttrs);
  for (Operation &op : block) {
    SmallVector<int32_t> sources;
    for (Value result : op.getResults())
      if (auto found = states.find(result); found != states.end()) {
        setSharding(result, found->second.getSharding(meshName, close));
        llvm::append_range(sources, found->second.sources);
      }
    if (!sources.empty())
      op.setAttr(kSourcesAttr, DenseI32ArrayAttr::get(context, sources));
  }
  for (auto [i, operand] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    PropagationState *declared = findVariable(function.getResultAttrDict(i));
    if (!declared)
      if (auto found = results.find({function, unsigned(i)});
          found != results.end())
        declared = &found->second;
    ShardingAttr sharding;
    if (declared)
      sharding = declared->getSharding(meshName, close);
    else if (close && states.count(operand))
      sharding = states[operand].getSharding(meshName, close).withUnreduced({});
    resultAttrs.push_back(
        with(function.getResultAttrDict(i), sharding, declared));
  }
  function.setAllResultAttrs(resultAttrs);
}

LogicalResult PropagateShardingPass::read(ArrayRef<func::FuncOp> functions) {
  states.clear();
  results.clear();
  variables.clear();
  table.reset();
  if (sources) {
    table.emplace(mesh);
    earlier = SourceTable(mesh);
  }
  if (failed(readVariables()))
    return failure();
  for (func::FuncOp function : functions)
    if (failed(readShardings(function)))
      return failure();
  return success();
}

/// One round a priority, lowest number first: what it spreads is there when
/// the next begins.
void PropagateShardingPass::propagate(ArrayRef<func::FuncOp> functions) {
  std::set<int64_t> priorities = {0};
  auto forAll = [&](llvm::function_ref<void(PropagationState &)> act) {
    for (auto &entry : states)
      act(entry.second);
    for (auto &entry : results)
      act(entry.second);
    for (auto &entry : variables)
      act(entry.second);
  };
  forAll([&](PropagationState &state) { state.hold(priorities); });
  for (int64_t priority : priorities) {
    if (priority > 0)
      forAll([&](PropagationState &state) { state.release(priority); });
    for (bool resolveConflicts : {false, true}) {
      visits.addAll();
      bool changed = true;
      while (changed) {
        changed = false;
        for (func::FuncOp function : functions)
          while (sweep(function, resolveConflicts))
            changed = true;
      }
    }
  }
}

std::optional<std::string>
PropagateShardingPass::findCut(func::FuncOp function) {
  auto mayCut = [&](StringAttr axis) {
    return llvm::is_contained(cutAxes, getWholeAxis(axis));
  };
  for (Operation &op : function.front()) {
    if (!isa<ShardingRuleOpInterface>(op))
      continue;
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    auto find =
        [&](ValueRange values,
            ArrayRef<TensorFactors> tensors) -> std::optional<std::string> {
      for (auto [value, tensor] : llvm::zip(values, tensors))
        if (auto found = states.find(value); found != states.end())
          if (auto cut =
                  findPartToCut(found->second.dims, tensor, rule, mesh, mayCut))
            return cut;
      return std::nullopt;
    };
    if (auto cut = find(op.getOperands(), rule.operands))
      return cut;
    if (auto cut = find(op.getResults(), rule.results))
      return cut;
  }
  return std::nullopt;
}

void PropagateShardingPass::runOnOperation() {
  mesh = findMesh(getOperation());
  if (!mesh)
    return;
  meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  SmallVector<func::FuncOp> functions;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    copySharedScalarWork(function.front());
    functions.push_back(function);
  }
  // The function that does most decides of variables first.
  SmallVector<func::FuncOp> bySize(functions);
  llvm::stable_sort(bySize, [](func::FuncOp a, func::FuncOp b) {
    return a.front().getOperations().size() > b.front().getOperations().size();
  });
  visits = OpsToVisit();
  for (bool done = false; !done;) {
    if (failed(read(functions)))
      return signalPassFailure();
    propagate(bySize);
    // Over a finer mesh all starts anew: there are few cuts, and each is of a
    // whole factor.
    std::optional<std::string> cut;
    for (func::FuncOp function : functions)
      if (!cut && !cutAxes.empty())
        cut = findCut(function);
    done = !cut;
    if (cut && failed(refineMesh(getOperation(), {*cut},
                                 [&] { return mesh.emitOpError(); })))
      return signalPassFailure();
  }
  for (auto variable : getOperation().getOps<graph::VariableOp>())
    if (auto found = variables.find(variable.getSymNameAttr());
        found != variables.end()) {
      variable.setShardingAttr(found->second.getSharding(meshName, close));
      if (!found->second.sources.empty())
        variable->setAttr(
            kSourcesAttr,
            DenseI32ArrayAttr::get(&getContext(), found->second.sources));
    }
  for (func::FuncOp function : functions)
    write(function);
  if (table)
    table->write(mesh);
}
