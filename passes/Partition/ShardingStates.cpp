//===- ShardingStates.cpp - What is split how as shardings spread ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/ShardingStates.h"
#include "dialects/Dist/IR/AxisParts.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Where axes came from
//===----------------------------------------------------------------------===//

/// The user's decision about an axis, as the strategy put it.
std::string ShardingStates::getDecision(StringAttr axis) const {
  auto why = MeshOp(mesh)->getAttrOfType<DictionaryAttr>("why");
  auto reason = why ? why.getAs<StringAttr>(axis) : StringAttr();
  return reason ? reason.str() : "the program says so";
}

int32_t ShardingStates::findRow(const PropagationState &state,
                                StringAttr axis) const {
  for (int32_t row : state.sources)
    if (isAxisWithin(axis, table->getAxis(row)))
      return row;
  return -1;
}

/// Rows of what is split before anything spreads, or given as a sum: those of
/// an earlier round, or the decision that `explain` gives.
void ShardingStates::decide(
    PropagationState &state, bool isGiven, int32_t result, StringRef name,
    Attribute known, llvm::function_ref<std::string(StringAttr)> explain) {
  if (!table)
    return;
  Builder builder(module.getContext());
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

bool ShardingStates::extend(
    PropagationState &state, const AxisLists &dims, Operation *op,
    int32_t result, llvm::function_ref<std::string()> describe,
    llvm::function_ref<int32_t(unsigned, StringAttr)> findRow) {
  return state.extend(
      dims, mesh, options.strictDivisibility,
      [&](unsigned dim, StringAttr axis) {
        if (!table)
          return;
        Builder builder(module.getContext());
        std::string place = isa<func::ReturnOp>(op) ? "" : getOriginName(op);
        state.sources.push_back(table->add(
            {axis, builder.getStringAttr(describe()), int32_t(dim), result,
             builder.getStringAttr(op->getName().getStringRef()),
             builder.getStringAttr(place), findRow(dim, axis)}));
      });
}

bool ShardingStates::extendByVariable(PropagationState &to,
                                      const PropagationState &from) {
  return to.extend(from.dims, mesh, options.strictDivisibility,
                   [&](unsigned, StringAttr axis) {
                     if (int32_t row = table ? findRow(from, axis) : -1;
                         row >= 0)
                       to.sources.push_back(row);
                   });
}

//===----------------------------------------------------------------------===//
// What the program says
//===----------------------------------------------------------------------===//

LogicalResult ShardingStates::readVariables() {
  for (auto variable : module.getOps<graph::VariableOp>()) {
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

PropagationState *ShardingStates::find(Value value) {
  auto found = values.find(value);
  return found == values.end() ? nullptr : &found->second;
}

PropagationState *ShardingStates::findVariable(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<FlatSymbolRefAttr>(kVariableAttr)
                         : FlatSymbolRefAttr();
  auto found = name ? variables.find(name.getAttr()) : variables.end();
  return found == variables.end() ? nullptr : &found->second;
}

PropagationState *ShardingStates::findResult(func::FuncOp function,
                                             unsigned result) {
  if (PropagationState *variable =
          findVariable(function.getResultAttrDict(result)))
    return variable;
  auto found = results.find({function, result});
  return found == results.end() ? nullptr : &found->second;
}

void ShardingStates::forAll(llvm::function_ref<void(PropagationState &)> act) {
  for (auto &entry : values)
    act(entry.second);
  for (auto &entry : results)
    act(entry.second);
  for (auto &entry : variables)
    act(entry.second);
}

LogicalResult ShardingStates::readShardings(func::FuncOp function) {
  auto set = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return success();
    ShardingAttr sharding = findSharding(value);
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (PropagationState *variable =
              findVariable(function.getArgAttrDict(argument.getArgNumber()))) {
        values[value] = *variable;
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
    PropagationState &state = values[value];
    state = PropagationState(type, sharding);
    if (!sharding || !table)
      return success();
    auto result = dyn_cast<OpResult>(value);
    auto asked = value.getDefiningOp<ReshardOp>();
    // What a reshard leaves as it is was not decided there.
    auto before = asked ? values.find(asked.getOperand()) : values.end();
    if (before != values.end() && !findSources(value)) {
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

std::string mlir::dist::describeResult(func::FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, kNameAttr);
  return "result " + (name ? "'" + name.str() + "'" : std::to_string(result));
}

LogicalResult ShardingStates::readResults(func::FuncOp function) {
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

LogicalResult ShardingStates::read(ArrayRef<func::FuncOp> functions) {
  values.clear();
  results.clear();
  variables.clear();
  table.reset();
  if (options.sources) {
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

//===----------------------------------------------------------------------===//
// What it says afterwards
//===----------------------------------------------------------------------===//

void ShardingStates::write(func::FuncOp function) {
  auto meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
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
    auto found = values.find(argument);
    const PropagationState *state =
        found == values.end() ? nullptr : &found->second;
    argumentAttrs.push_back(with(
        function.getArgAttrDict(argument.getArgNumber()),
        state ? state->getSharding(meshName, options.close) : ShardingAttr(),
        state));
  }
  function.setAllArgAttrs(argumentAttrs);
  for (Operation &op : block) {
    SmallVector<int32_t> sources;
    for (Value result : op.getResults())
      if (auto found = values.find(result); found != values.end()) {
        setSharding(result, found->second.getSharding(meshName, options.close));
        llvm::append_range(sources, found->second.sources);
      }
    if (!sources.empty())
      op.setAttr(kSourcesAttr, DenseI32ArrayAttr::get(context, sources));
  }
  for (auto [i, operand] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    PropagationState *declared = findResult(function, i);
    ShardingAttr sharding;
    if (declared)
      sharding = declared->getSharding(meshName, options.close);
    else if (options.close && values.count(operand))
      sharding = values[operand]
                     .getSharding(meshName, options.close)
                     .withUnreduced({});
    resultAttrs.push_back(
        with(function.getResultAttrDict(i), sharding, declared));
  }
  function.setAllResultAttrs(resultAttrs);
}

void ShardingStates::write(ArrayRef<func::FuncOp> functions) {
  auto meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  for (auto variable : module.getOps<graph::VariableOp>())
    if (auto found = variables.find(variable.getSymNameAttr());
        found != variables.end()) {
      variable.setShardingAttr(
          found->second.getSharding(meshName, options.close));
      if (!found->second.sources.empty())
        variable->setAttr(
            kSourcesAttr,
            DenseI32ArrayAttr::get(module.getContext(), found->second.sources));
    }
  for (func::FuncOp function : functions)
    write(function);
  if (table)
    table->write(mesh);
}
