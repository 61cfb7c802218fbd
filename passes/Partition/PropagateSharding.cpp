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
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/FactorSharding.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

/// What is known of a value, a variable or a declared result so far.
struct State {
  RankedTensorType type;
  AxisLists dims;
  SmallVector<bool> open;
  AxisList unreduced, replicated;

  State() = default;
  State(RankedTensorType type, ShardingAttr sharding);
  /// Takes the axes of `wanted` where they extend its own; true if so.
  bool extend(const AxisLists &wanted, MeshOp mesh);
  ShardingAttr getSharding(FlatSymbolRefAttr meshName, bool close) const;
};

struct PropagateShardingPass
    : mlir::dist::impl::PropagateShardingPassBase<PropagateShardingPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void copySharedScalarWork(Block &block);
  LogicalResult readVariables();
  LogicalResult readShardings(func::FuncOp function);
  LogicalResult readResults(func::FuncOp function);
  LogicalResult checkDivides(Operation *op, Twine what, Type type,
                             ShardingAttr sharding);
  bool sweep(func::FuncOp function, bool resolveConflicts);
  bool visit(Operation *op, bool resolveConflicts);
  bool visitReturn(Operation *op);
  bool visitVariables(func::FuncOp function);
  bool extend(Value value, const AxisLists &dims);
  /// The state of the variable that an argument or result stands for, or null.
  State *findVariable(DictionaryAttr attributes);
  void write(func::FuncOp function);

  DenseMap<Value, State> states;
  /// Declared function results; none where a result follows its operand.
  DenseMap<std::pair<Operation *, unsigned>, State> results;
  DenseMap<StringAttr, State> variables;
  MeshOp mesh;
  FlatSymbolRefAttr meshName;
};

/// A merged view of one factor's axes.
struct Candidate {
  AxisList axes;
  int64_t bytes = 0;
};
} // namespace

/// Constants, and ops on nothing but such values or scalars: cheap, and often
/// shared by common-subexpression elimination between unrelated places.
static bool isScalarWork(Operation *op) {
  if (!isa<ShardingRuleOpInterface>(op) || !isPure(op))
    return false;
  return llvm::all_of(op->getOperands(), [](Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (type && type.getNumElements() == 1)
      return true;
    Operation *definition = operand.getDefiningOp();
    return definition && definition->getNumOperands() == 0 &&
           isa<ShardingRuleOpInterface>(definition);
  });
}

void PropagateShardingPass::copySharedScalarWork(Block &block) {
  // Backward, so that the copies of a broadcast then split its constant.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.getNumResults() != 1 || !isScalarWork(&op))
      continue;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    if (!type || type.getNumElements() == 1)
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getResult(0).getUses())
      uses.push_back(&use);
    OpBuilder builder(&op);
    builder.setInsertionPointAfter(&op);
    for (OpOperand *use : llvm::drop_begin(uses))
      use->set(builder.clone(op)->getResult(0));
  }
}

State::State(RankedTensorType type, ShardingAttr sharding) : type(type) {
  dims.resize(type.getRank());
  open.assign(type.getRank(), true);
  if (!sharding)
    return;
  dims = getDimAxes(sharding);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    open[dim] = sharding.isOpen(dim);
  unreduced = AxisList(sharding.getUnreduced());
  replicated = AxisList(sharding.getReplicated());
}

bool State::extend(const AxisLists &wanted, MeshOp mesh) {
  bool changed = false;
  for (unsigned dim = 0; dim < wanted.size(); ++dim) {
    if (!open[dim] || wanted[dim].size() <= dims[dim].size() ||
        !isPrefix(dims[dim], wanted[dim]))
      continue;
    // Take axes one by one: as many as are free in this tensor and divide.
    for (StringAttr axis : ArrayRef(wanted[dim]).drop_front(dims[dim].size())) {
      bool used = llvm::is_contained(unreduced, axis) ||
                  llvm::is_contained(replicated, axis) ||
                  llvm::any_of(dims, [&](const AxisList &axes) {
                    return llvm::is_contained(axes, axis);
                  });
      AxisList longer = dims[dim];
      longer.push_back(axis);
      if (used || type.getDimSize(dim) % mesh.getGroupSize(longer))
        break;
      dims[dim] = longer;
      changed = true;
    }
  }
  return changed;
}

ShardingAttr State::getSharding(FlatSymbolRefAttr meshName, bool close) const {
  MLIRContext *context = meshName.getContext();
  SmallVector<DimShardingAttr> attributes;
  for (auto [axes, isOpen] : llvm::zip(dims, open))
    attributes.push_back(DimShardingAttr::get(context, axes, isOpen && !close));
  return ShardingAttr::get(context, meshName, attributes, unreduced,
                           close ? ArrayRef<StringAttr>() : replicated);
}

LogicalResult PropagateShardingPass::checkDivides(Operation *op, Twine what,
                                                  Type type,
                                                  ShardingAttr sharding) {
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
    if (int64_t shards = getNumShards(sharding, dim, mesh);
        tensor.getDimSize(dim) % shards) {
      int64_t below = tensor.getDimSize(dim) / shards * shards;
      InFlightDiagnostic error = op->emitOpError()
                                 << what << ": dim " << dim << " of " << type
                                 << " cannot be split into " << shards
                                 << " equal parts over '"
                                 << formatAxes(sharding.getAxes(dim))
                                 << "'; the nearest size that works is ";
      if (below > 0)
        error << below << " or ";
      return error << below + shards;
    }
  return success();
}

LogicalResult PropagateShardingPass::readVariables() {
  for (auto variable : getOperation().getOps<graph::VariableOp>()) {
    auto type = dyn_cast<RankedTensorType>(variable.getType());
    auto sharding = dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr());
    if (!type || !sharding)
      continue;
    if (failed(checkDivides(variable, "'" + variable.getSymName() + "'", type,
                            sharding)))
      return failure();
    variables[variable.getSymNameAttr()] = State(type, sharding);
  }
  return success();
}

State *PropagateShardingPass::findVariable(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<FlatSymbolRefAttr>("graph.variable")
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
      if (State *variable =
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
    states[value] = State(type, sharding);
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

LogicalResult PropagateShardingPass::readResults(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    auto sharding =
        function.getResultAttrOfType<ShardingAttr>(i, DistDialect::kSharding);
    if (!type || !sharding || findVariable(function.getResultAttrDict(i)))
      continue;
    if (failed(checkDivides(function, "result " + Twine(i), type, sharding)))
      return failure();
    results[{function, i}] = State(type, sharding);
  }
  return success();
}

bool PropagateShardingPass::extend(Value value, const AxisLists &dims) {
  auto found = states.find(value);
  return found != states.end() && found->second.extend(dims, mesh);
}

bool PropagateShardingPass::visit(Operation *op, bool resolveConflicts) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
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
            {own[factor], getByteSize(value.getType())});
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
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    changed |= extend(value, projectToDims(tensor, merged, rule, mesh));
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    changed |= extend(value, projectToDims(tensor, merged, rule, mesh));
  return changed;
}

bool PropagateShardingPass::visitReturn(Operation *op) {
  bool changed = false;
  func::FuncOp function = op->getParentOfType<func::FuncOp>();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    State *declared = findVariable(function.getResultAttrDict(i));
    if (!declared)
      if (auto found = results.find({function, unsigned(i)});
          found != results.end())
        declared = &found->second;
    auto value = states.find(operand);
    if (!declared || value == states.end())
      continue;
    changed |= value->second.extend(declared->dims, mesh);
    changed |= declared->extend(value->second.dims, mesh);
  }
  return changed;
}

bool PropagateShardingPass::visitVariables(func::FuncOp function) {
  bool changed = false;
  for (BlockArgument argument : function.front().getArguments()) {
    State *variable =
        findVariable(function.getArgAttrDict(argument.getArgNumber()));
    if (!variable)
      continue;
    State &state = states[argument];
    changed |= state.extend(variable->dims, mesh);
    changed |= variable->extend(state.dims, mesh);
  }
  return changed;
}

bool PropagateShardingPass::sweep(func::FuncOp function,
                                  bool resolveConflicts) {
  bool changed = visitVariables(function);
  auto visitOne = [&](Operation &op) {
    if (isa<ShardingRuleOpInterface>(op))
      changed |= visit(&op, resolveConflicts);
    else if (isa<func::ReturnOp>(op))
      changed |= visitReturn(&op);
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
  auto with = [&](DictionaryAttr old, ShardingAttr sharding) {
    NamedAttrList list(old);
    if (sharding)
      list.set(DistDialect::kSharding, sharding);
    return list.getDictionary(context);
  };
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  for (BlockArgument argument : block.getArguments()) {
    auto found = states.find(argument);
    argumentAttrs.push_back(with(
        function.getArgAttrDict(argument.getArgNumber()),
        found == states.end() ? ShardingAttr()
                              : found->second.getSharding(meshName, close)));
  }
  function.setAllArgAttrs(argumentAttrs);
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (auto found = states.find(result); found != states.end())
        setSharding(result, found->second.getSharding(meshName, close));
  for (auto [i, operand] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    State *declared = findVariable(function.getResultAttrDict(i));
    if (!declared)
      if (auto found = results.find({function, unsigned(i)});
          found != results.end())
        declared = &found->second;
    ShardingAttr sharding;
    if (declared)
      sharding = declared->getSharding(meshName, close);
    else if (close && states.count(operand))
      sharding = states[operand].getSharding(meshName, close).withUnreduced({});
    resultAttrs.push_back(with(function.getResultAttrDict(i), sharding));
  }
  function.setAllResultAttrs(resultAttrs);
}

void PropagateShardingPass::runOnOperation() {
  states.clear();
  results.clear();
  variables.clear();
  mesh = findMesh(getOperation());
  if (!mesh)
    return;
  meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  if (failed(readVariables()))
    return signalPassFailure();
  // The function that does most decides of variables first.
  SmallVector<func::FuncOp> functions;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    copySharedScalarWork(function.front());
    if (failed(readShardings(function)))
      return signalPassFailure();
    functions.push_back(function);
  }
  llvm::stable_sort(functions, [](func::FuncOp a, func::FuncOp b) {
    return a.front().getOperations().size() > b.front().getOperations().size();
  });
  for (bool resolveConflicts : {false, true}) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (func::FuncOp function : functions)
        while (sweep(function, resolveConflicts))
          changed = true;
    }
  }
  for (auto variable : getOperation().getOps<graph::VariableOp>())
    if (auto found = variables.find(variable.getSymNameAttr());
        found != variables.end())
      variable.setShardingAttr(found->second.getSharding(meshName, close));
  for (func::FuncOp function : functions)
    write(function);
}
