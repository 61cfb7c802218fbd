//===- StageAssignment.cpp - Which stage an op belongs to -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/StageAssignment.h"
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/StageBoundary.h"

using namespace mlir;
using namespace mlir::dist;

PortVariables::PortVariables(func::FuncOp function) : function(function) {
  for (auto variable :
       function->getParentOfType<ModuleOp>().getOps<graph::VariableOp>())
    variables[FlatSymbolRefAttr::get(variable.getSymNameAttr())] = variable;
}
graph::VariableOp PortVariables::find(Attribute name) {
  return name ? variables.lookup(name) : graph::VariableOp();
}
graph::VariableOp PortVariables::ofArgument(unsigned argument) {
  return find(function.getArgAttr(argument, kVariableAttr));
}
graph::VariableOp PortVariables::ofResult(unsigned result) {
  return find(function.getResultAttr(result, kVariableAttr));
}

int64_t mlir::dist::getStage(graph::VariableOp variable) {
  auto stage = variable->getAttrOfType<IntegerAttr>(kStageAttr);
  return stage ? stage.getInt() : -1;
}

bool mlir::dist::isKeptByAll(graph::VariableOp variable) {
  return !variable.getTrainable() && !variable.getSlotOf() &&
         hasOneElement(variable.getType()) &&
         variable.getSynchronization() == graph::Synchronization::OnWrite;
}

int64_t StageAssignment::getHome(Value value) const {
  if (Operation *op = value.getDefiningOp()) {
    auto found = home.find(op);
    return found == home.end() ? -1 : found->second;
  }
  auto found = argumentHome.find(value);
  return found == argumentHome.end() ? -1 : found->second;
}

/// Whether a result is of the forward pass: not a gradient, nor what an
/// optimizer updates.
static bool isForwardResult(func::FuncOp function, PortVariables &variables,
                            unsigned result) {
  if (graph::VariableOp variable = variables.ofResult(result)) {
    StringRef group = variable.getGroup();
    return !variable.getTrainable() && group != "slot" &&
           group != "accumulator" && group != "counter";
  }
  auto role = function.getResultAttrOfType<StringAttr>(result, kRoleAttr);
  return !role ||
         (role != "gradient" && role != "learning_rate" && role != "finite");
}

/// Whether the operand says for all elements together which of two values they
/// take, as `finite` does where a step may be skipped: it depends on all
/// gradients, and makes none of what it chooses among a part of the backward
/// pass.
static bool isFlag(OpOperand &operand) {
  if (!isa<graph::SelectOp>(operand.getOwner()) ||
      operand.getOperandNumber() != 0)
    return false;
  Value flag = operand.get();
  if (auto copies = flag.getDefiningOp<graph::BroadcastOp>())
    flag = copies.getOperand();
  return hasOneElement(flag.getType());
}

StageAssignment mlir::dist::assignStages(func::FuncOp function) {
  StageAssignment stages;
  PortVariables variables(function);
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    if (auto variable = variables.ofArgument(argument.getArgNumber()))
      if (int64_t stage = getStage(variable); stage >= 0)
        stages.argumentHome[argument] = stage;

  // What the forward results depend on.
  llvm::DenseSet<Value> wanted;
  Operation *terminator = block.getTerminator();
  for (OpOperand &use : terminator->getOpOperands())
    if (isForwardResult(function, variables, use.getOperandNumber()))
      wanted.insert(use.get());
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (llvm::any_of(op.getResults(),
                     [&](Value result) { return wanted.contains(result); })) {
      stages.forward.insert(&op);
      for (OpOperand &operand : op.getOpOperands())
        if (!isFlag(operand))
          wanted.insert(operand.get());
    }

  // The last stage whose variables' updates a value's elements reach. A scalar
  // (a norm, a flag) reaches all of them and says nothing.
  llvm::DenseMap<Value, int64_t> reached;
  auto reach = [&](Value value, int64_t stage) {
    if (stage < 0)
      return;
    auto [it, inserted] = reached.try_emplace(value, stage);
    if (!inserted)
      it->second = std::max(it->second, stage);
  };
  for (OpOperand &use : terminator->getOpOperands())
    if (auto variable = variables.ofResult(use.getOperandNumber()))
      reach(use.get(), getStage(variable));
  auto getReached = [&](Operation *op) {
    int64_t stage = -1;
    for (Value result : op->getResults())
      if (auto found = reached.find(result); found != reached.end())
        stage = std::max(stage, found->second);
    return stage;
  };
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    int64_t stage = getReached(&op);
    for (Value operand : op.getOperands())
      if (!hasOneElement(operand.getType()))
        reach(operand, stage);
  }

  for (Operation &op : block.without_terminator()) {
    int64_t all = -1, forward = -1;
    for (Value operand : op.getOperands()) {
      int64_t stage = stages.getHome(operand);
      all = std::max(all, stage);
      Operation *definition = operand.getDefiningOp();
      if (!definition || stages.forward.contains(definition))
        forward = std::max(forward, stage);
    }
    int64_t home = all;
    if (all >= 0 && !stages.forward.contains(&op)) {
      int64_t last = std::max(forward, getReached(&op));
      if (last >= 0)
        home = last;
    }
    stages.home[&op] = home;
  }
  moveBehindSends(block, stages);
  return stages;
}
