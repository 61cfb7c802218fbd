//===- BindConstants.cpp - Constants become variables -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Stage.h"
#include "passes/Lowering/Passes.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_BINDCONSTANTSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {
/// The variables that constants have become, by what they hold.
class ConstantVariables {
public:
  explicit ConstantVariables(ModuleOp module)
      : module(module), symbols(module) {
    for (auto variable : module.getOps<graph::VariableOp>())
      if (variable.getGroup() == "constant")
        variables[variable.getInitialAttr()] = variable;
  }
  graph::VariableOp get(graph::ConstantOp constant) {
    graph::VariableOp &variable = variables[constant.getValue()];
    if (variable)
      return variable;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    OperationState state(constant.getLoc(),
                         graph::VariableOp::getOperationName());
    state.addAttribute("sym_name", builder.getStringAttr("constant"));
    state.addAttribute("type", TypeAttr::get(constant.getType()));
    state.addAttribute("initial", constant.getValue());
    state.addAttribute("group", builder.getStringAttr("constant"));
    variable = cast<graph::VariableOp>(builder.create(state));
    symbols.insert(variable);
    return variable;
  }

private:
  ModuleOp module;
  SymbolTable symbols;
  llvm::DenseMap<Attribute, graph::VariableOp> variables;
};

/// Indices of constants among the arguments of entries whose programs differ:
/// behind those that the entries have, one for each constant, whichever
/// programs have it.
class ConstantIndices {
public:
  explicit ConstantIndices(ModuleOp module) {
    for (auto func : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        if (auto index = func.getArgAttrOfType<IntegerAttr>(i, kEntryIndexAttr))
          first = std::max(first, index.getInt() + 1);
  }
  int64_t get(graph::VariableOp variable) {
    return numbers.try_emplace(variable, first + numbers.size()).first->second;
  }

private:
  int64_t first = 0;
  llvm::DenseMap<Operation *, int64_t> numbers;
};
} // namespace

static LogicalResult bindConstants(func::FuncOp func,
                                   ConstantVariables &variables,
                                   ConstantIndices &indices) {
  Builder builder(func.getContext());
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    auto constant = dyn_cast<graph::ConstantOp>(op);
    if (!constant)
      continue;
    graph::VariableOp variable = variables.get(constant);
    unsigned number = func.getNumArguments();
    NamedAttrList attributes;
    attributes.set(kRoleAttr, builder.getStringAttr("variable"));
    attributes.set(kVariableAttr, FlatSymbolRefAttr::get(variable));
    if (func->hasAttr(kEntryAttr)) {
      attributes.set(kNameAttr, variable.getSymNameAttr());
      attributes.set(kEntryIndexAttr,
                     builder.getI64IntegerAttr(indices.get(variable)));
    }
    if (failed(func.insertArgument(number, constant.getType(),
                                   attributes.getDictionary(func.getContext()),
                                   constant.getLoc())))
      return failure();
    constant.replaceAllUsesWith(func.getArgument(number));
    constant.erase();
  }
  return success();
}

namespace {
struct BindConstantsPass
    : mlir::dist::impl::BindConstantsPassBase<BindConstantsPass> {
  using Base::Base;
  void runOnOperation() override {
    ConstantVariables variables(getOperation());
    ConstantIndices indices(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && !func.isPrivate() &&
          failed(bindConstants(func, variables, indices)))
        return signalPassFailure();
  }
};
} // namespace
