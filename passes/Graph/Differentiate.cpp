//===- Differentiate.cpp - Reverse-mode derivatives of entries -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/LossScale.h"
#include "passes/Graph/Passes.h"
#include "passes/Graph/RecomputePlan.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct DifferentiatePass
    : dist::impl::DifferentiatePassBase<DifferentiatePass> {
  using Base::Base;
  void runOnOperation() override;
};

/// One reverse sweep over an entry.
class Sweep {
public:
  /// `lossScale` multiplies the gradients; null: 1.
  Sweep(func::FuncOp entry, ArrayRef<std::string> inputs, Value lossScale,
        bool mark)
      : entry(entry), inputs(inputs), lossScale(lossScale), mark(mark),
        builder(getReturn(entry)) {}
  LogicalResult run();

private:
  FailureOr<SmallVector<BlockArgument>> findInputs();
  void findVaried(ArrayRef<BlockArgument> parameters);
  LogicalResult differentiate(Operation *op);
  void accumulate(Value value, Value cotangent, Location loc);

  func::FuncOp entry;
  /// By which the loss is differentiated, beside the variables.
  ArrayRef<std::string> inputs;
  Value lossScale;
  bool mark;
  OpBuilder builder;
  /// Values that depend on what the loss is differentiated by.
  DenseSet<Value> varied;
  DenseMap<Value, Value> cotangents;
};
} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

FailureOr<SmallVector<BlockArgument>> Sweep::findInputs() {
  SmallVector<BlockArgument> found;
  for (const std::string &name : inputs) {
    SmallVector<StringRef> known;
    BlockArgument input;
    for (BlockArgument argument : entry.getArguments()) {
      auto given = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      kNameAttr);
      if (!given || !isFloat(argument) ||
          getArgumentRole(entry, argument.getArgNumber()) != "input")
        continue;
      known.push_back(given.getValue());
      if (given.getValue() == name)
        input = argument;
    }
    if (!input)
      return entry.emitError()
             << "--input-gradients: '" << entry.getSymName()
             << "' has no input '" << name << "' of floats; it has '"
             << llvm::join(known, "', '") << "'";
    if (llvm::is_contained(found, input))
      return entry.emitError()
             << "--input-gradients: '" << name << "' is given twice";
    found.push_back(input);
  }
  return found;
}

void Sweep::findVaried(ArrayRef<BlockArgument> parameters) {
  varied.insert(parameters.begin(), parameters.end());
  for (Operation &op : entry.getBody().front().without_terminator())
    if (!isa<StopGradientOp>(op) &&
        llvm::any_of(op.getOperands(),
                     [&](Value operand) { return varied.contains(operand); }))
      for (Value result : op.getResults())
        if (isFloat(result))
          varied.insert(result);
}

void Sweep::accumulate(Value value, Value cotangent, Location loc) {
  Value &sum = cotangents[value];
  sum =
      sum ? AddOp::create(builder, loc, sum, cotangent).getResult() : cotangent;
}

LogicalResult Sweep::differentiate(Operation *op) {
  SmallVector<Value> resultCotangents;
  bool reached = false;
  for (Value result : op->getResults()) {
    resultCotangents.push_back(cotangents.lookup(result));
    reached |= static_cast<bool>(resultCotangents.back());
  }
  SmallVector<bool> wanted;
  for (Value operand : op->getOperands())
    wanted.push_back(varied.contains(operand));
  if (!reached || !llvm::is_contained(wanted, true))
    return success();

  auto fail = [&]() {
    return op->emitOpError()
           << "has no derivative, but lies between a trainable variable and "
              "the loss; freeze the variables before it or change the model";
  };
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return fail();
  SmallVector<Value> operandCotangents;
  if (failed(differentiable.differentiate(builder, resultCotangents, wanted,
                                          operandCotangents)))
    return fail();
  assert(operandCotangents.size() == op->getNumOperands() &&
         "one cotangent an operand");
  for (auto [operand, cotangent, isWanted] :
       llvm::zip_equal(op->getOperands(), operandCotangents, wanted))
    if (cotangent && isWanted)
      accumulate(operand, cotangent, op->getLoc());
  if (mark)
    for (Value cotangent : operandCotangents)
      if (Operation *definition =
              cotangent ? cotangent.getDefiningOp() : nullptr)
        definition->setAttr(kCotangent, builder.getUnitAttr());
  return success();
}

LogicalResult Sweep::run() {
  int64_t lossIndex = findResult(entry, "loss");
  if (lossIndex < 0)
    return entry.emitError()
           << "'" << entry.getSymName()
           << "' has no result of role \"loss\" to differentiate";
  Value loss = getReturn(entry)->getOperand(lossIndex);
  if (!isFloat(loss) || cast<RankedTensorType>(loss.getType()).getRank() != 0)
    return entry.emitError() << "'" << entry.getSymName()
                             << "': expected the loss to be one float, but got "
                             << loss.getType();
  SmallVector<BlockArgument> parameters;
  SmallVector<VariableOp> variables;
  for (BlockArgument argument : entry.getArguments()) {
    auto symbol = entry.getArgAttrOfType<FlatSymbolRefAttr>(
        argument.getArgNumber(), kVariableAttr);
    auto variable =
        symbol ? SymbolTable::lookupNearestSymbolFrom<VariableOp>(entry, symbol)
               : VariableOp();
    if (!variable || !variable.getTrainable() || !isFloat(argument))
      continue;
    parameters.push_back(argument);
    variables.push_back(variable);
  }
  FailureOr<SmallVector<BlockArgument>> byInputs = findInputs();
  if (failed(byInputs))
    return failure();
  llvm::append_range(parameters, *byInputs);
  findVaried(parameters);
  if (!varied.contains(loss))
    return entry.emitError() << "'" << entry.getSymName()
                             << "': the loss depends on no trainable variable";

  SmallVector<Operation *> forward;
  for (Operation &op : entry.getBody().front().without_terminator())
    forward.push_back(&op);
  GraphBuilder g(builder, loss.getLoc());
  cotangents[loss] =
      lossScale
          ? g.convert(lossScale,
                      cast<RankedTensorType>(loss.getType()).getElementType())
          : g.like(loss, 1);
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();

  SmallVector<std::pair<Value, Port>> gradients;
  for (auto [parameter, variable] : llvm::zip(parameters, variables)) {
    // No cotangent: the variable feeds only what the loss ignores.
    Value gradient = cotangents.lookup(parameter);
    if (!gradient)
      continue;
    Port port;
    port.role = "gradient";
    port.name = variable.getSymName();
    port.variable = FlatSymbolRefAttr::get(variable.getSymNameAttr());
    gradients.emplace_back(gradient, port);
  }
  for (BlockArgument input : *byInputs) {
    unsigned number = input.getArgNumber();
    StringRef name = entry.getArgAttrOfType<StringAttr>(number, kNameAttr);
    Value gradient = cotangents.lookup(input);
    if (!gradient)
      return entry.emitError()
             << "--input-gradients: the loss of '" << entry.getSymName()
             << "' does not depend on input '" << name << "'";
    Port port;
    port.role = "gradient";
    port.name = name;
    if (auto dim = entry.getArgAttrOfType<IntegerAttr>(number, kBatchDimAttr))
      port.batchDim = dim.getInt();
    gradients.emplace_back(gradient, port);
  }
  addResults(entry, gradients);
  eraseDeadOps(entry);
  return success();
}

void DifferentiatePass::runOnOperation() {
  SmallVector<std::string> names(entries.begin(), entries.end());
  bool named = !names.empty();
  if (!named)
    names = {"train_step", "train_step_partial"};
  for (StringRef name : names) {
    func::FuncOp entry = findEntry(getOperation(), name);
    if (!entry && !named)
      continue;
    if (!entry) {
      getOperation().emitError()
          << "graph-differentiate: the module has no function '" << name << "'";
      return signalPassFailure();
    }
    if (failed(verifyOneBlock(entry, "graph-differentiate")))
      return signalPassFailure();
    Value scale;
    if (lossScale) {
      StateIndex state(getOperation());
      scale = state.getArgument(entry, getLossScale(state));
      state.finish();
    }
    SmallVector<std::string> byInputs(inputs.begin(), inputs.end());
    if (failed(Sweep(entry, byInputs, scale, markCotangents).run()))
      return signalPassFailure();
  }
}
