//===- PullRows.cpp - Steps with the rows that they look up ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Dist/IR/PulledRows.h"
#include "dialects/Dist/IR/ServerPart.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Interfaces/Cost.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Analysis/RowFactors.h"
#include "passes/Analysis/TableLookups.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PULLROWSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// A table, and the functions that look up rows of it.
struct Table {
  VariableOp variable;
  std::vector<std::pair<func::FuncOp, TableLookups>> users;
  SmallVector<unsigned> gradients; // the result of each that is its gradient
  SmallVector<StringAttr> inputs;  // that number the rows, by name
  int64_t rows = 0;                // that a batch looks up at most
};

/// Makes a function compute with `rows` and `places` in place of a table.
class FunctionRewriter {
public:
  FunctionRewriter(func::FuncOp function, TableLookups &lookups,
                   VariableOp rows, VariableOp places)
      : function(function), lookups(lookups), rows(rows), places(places),
        builder(function.getContext()) {}
  LogicalResult run(unsigned gradient);

private:
  void setArguments();
  Value findPlaces(Value indices, Location loc);
  RankedTensorType cut(Type type);
  LogicalResult cutAlike(Value value);
  LogicalResult addOps();

  func::FuncOp function;
  TableLookups &lookups;
  VariableOp rows, places;
  OpBuilder builder;
  BlockArgument placesOf;
  IRMapping values;
  DenseMap<Value, Value> placesAt; // by indices
};

/// A function that computes gradients: which argument a variable is, and which
/// result its gradient.
struct Gradients {
  func::FuncOp function;
  DenseMap<StringAttr, unsigned> arguments, results;
};

struct PullRowsPass : mlir::dist::impl::PullRowsPassBase<PullRowsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void findFunctions();
  std::optional<Table> find(VariableOp variable);
  LogicalResult rewrite(Table &table);
  void addReason(VariableOp variable, const Twine &reason);

  std::vector<Gradients> functions;
};
} // namespace

RankedTensorType FunctionRewriter::cut(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[0] = rows.getType().getDimSize(0);
  return tensor.clone(shape);
}

void FunctionRewriter::setArguments() {
  auto describe = [&](VariableOp variable) {
    auto symbol = FlatSymbolRefAttr::get(variable.getSymNameAttr());
    return builder.getDictionaryAttr(
        {builder.getNamedAttr(kNameAttr, variable.getSymNameAttr()),
         builder.getNamedAttr(kRoleAttr, builder.getStringAttr("variable")),
         builder.getNamedAttr(kVariableAttr, symbol)});
  };
  unsigned number = lookups.table.getArgNumber();
  lookups.table.setType(rows.getType());
  function.setArgAttrs(number, describe(rows));
  unsigned last = function.getNumArguments();
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < last; ++i)
    attributes.push_back(function.getArgAttrDict(i));
  attributes.push_back(describe(places));
  placesOf = function.front().addArgument(places.getType(), function.getLoc());
  function.setType(
      builder.getFunctionType(function.front().getArgumentTypes(),
                              function.getFunctionType().getResults()));
  function.setAllArgAttrs(attributes);
}

/// Behind the indices, so that whatever reads them may.
Value FunctionRewriter::findPlaces(Value indices, Location loc) {
  Value &found = placesAt[indices];
  if (found)
    return found;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(indices);
  found = GatherOp::create(builder, loc, placesOf, indices,
                           builder.getI64IntegerAttr(0));
  return found;
}

/// Fewer of the same rows.
LogicalResult FunctionRewriter::cutAlike(Value value) {
  if (values.contains(value))
    return success();
  Operation *op = value.getDefiningOp();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(op);
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    values.map(value,
               ConstantOp::create(builder, op->getLoc(),
                                  dense.resizeSplat(cut(value.getType())))
                   .getResult());
    return success();
  }
  FailureOr<Operation *> copy =
      cloneWithRows(builder, op, op->getOperands(), cut(value.getType()));
  if (failed(copy))
    return failure();
  values.map(value, (*copy)->getResult(0));
  return success();
}

LogicalResult FunctionRewriter::addOps() {
  for (GatherOp gather : lookups.gathers) {
    Value at = findPlaces(gather.getIndices(), gather.getLoc());
    gather.getIndicesMutable().assign(at);
  }
  for (ScatterAddOp sum : lookups.sums) {
    Value at = findPlaces(sum.getIndices(), sum.getLoc());
    builder.setInsertionPoint(sum);
    GraphBuilder g(builder, sum.getLoc());
    auto copy =
        ScatterAddOp::create(builder, sum.getLoc(), g.zeros(cut(sum.getType())),
                             at, sum.getUpdates(), sum.getAxisAttr());
    copy->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    values.map(sum.getResult(), copy.getResult());
  }
  for (Operation *op : lookups.ops) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (lookups.alike.contains(operand) && failed(cutAlike(operand)))
        return failure();
      operands.push_back(values.lookupOrDefault(operand));
    }
    Type type = op->getResult(0).getType();
    builder.setInsertionPoint(op);
    FailureOr<Operation *> copy = cloneWithRows(
        builder, op, operands,
        lookups.rows.contains(op->getResult(0)) ? cut(type) : type);
    if (failed(copy))
      return failure();
    values.map(op->getResults(), (*copy)->getResults());
  }
  return success();
}

LogicalResult FunctionRewriter::run(unsigned gradient) {
  setArguments();
  if (failed(addOps()))
    return failure();
  // What has no rows is a sum over them: all that reads it goes on as before.
  for (Operation *op : lookups.ops)
    if (!lookups.rows.contains(op->getResult(0)))
      op->getResult(0).replaceAllUsesWith(values.lookup(op->getResult(0)));
  OpOperand &result = function.front().getTerminator()->getOpOperand(gradient);
  result.set(values.lookup(result.get()));
  function.setType(builder.getFunctionType(
      function.front().getArgumentTypes(),
      function.front().getTerminator()->getOperandTypes()));
  for (Operation *op : llvm::reverse(lookups.ops))
    op->erase();
  for (ScatterAddOp sum : lookups.sums)
    sum.erase();
  return success();
}

void PullRowsPass::addReason(VariableOp variable, const Twine &reason) {
  NamedAttrList reasons;
  if (auto known = variable->getAttrOfType<DictionaryAttr>(kWhyAttr))
    reasons = NamedAttrList(known);
  reasons.set(kPulledRowsAttr, StringAttr::get(&getContext(), reason));
  variable->setAttr(kWhyAttr, reasons.getDictionary(&getContext()));
}

void PullRowsPass::findFunctions() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function.getSymName().starts_with("gradients"))
      continue;
    Gradients &found = functions.emplace_back();
    found.function = function;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto symbol =
              function.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr))
        found.arguments[symbol.getAttr()] = i;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
      auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
      if (role && role == "gradient" && name)
        found.results[name] = i;
    }
  }
}

/// Only where all steps look it up, by the same inputs.
std::optional<Table> PullRowsPass::find(VariableOp variable) {
  Table table;
  table.variable = variable;
  StringAttr name = variable.getSymNameAttr();
  for (Gradients &of : functions) {
    func::FuncOp function = of.function;
    auto argument = of.arguments.find(name), gradient = of.results.find(name);
    if (argument == of.arguments.end() || gradient == of.results.end())
      return std::nullopt;
    std::string why;
    auto lookups =
        findTableLookups(function, function.getArgument(argument->second),
                         gradient->second, &why);
    if (!lookups) {
      if (!why.empty())
        addReason(variable, "all rows travel: " + why);
      return std::nullopt;
    }
    SmallVector<StringAttr> inputs;
    for (BlockArgument input : lookups->inputs)
      inputs.push_back(function.getArgAttrOfType<StringAttr>(
          input.getArgNumber(), kNameAttr));
    llvm::sort(inputs, [](StringAttr a, StringAttr b) {
      return a.getValue() < b.getValue();
    });
    if (!table.users.empty() && table.inputs != inputs)
      return std::nullopt;
    table.inputs = inputs;
    table.rows = std::max(table.rows, lookups->count);
    table.users.emplace_back(function, std::move(*lookups));
    table.gradients.push_back(gradient->second);
  }
  if (table.users.empty())
    return std::nullopt;
  RankedTensorType type = variable.getType();
  int64_t all = type.getDimSize(0), bytes = getByteSize(type);
  bool isWorthIt = table.rows * (bytes / all + kPulledNumberBytes) < bytes &&
                   all <= std::numeric_limits<int32_t>::max();
  if (isWorthIt)
    return table;
  addReason(variable, "all rows travel: a batch may look up " +
                          Twine(table.rows) + " of " + Twine(all));
  return std::nullopt;
}

LogicalResult PullRowsPass::rewrite(Table &table) {
  VariableOp variable = table.variable;
  SymbolTable symbols(getOperation());
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(variable);
  auto add = [&](StringRef name, RankedTensorType type) {
    auto made = VariableOp::create(
        builder, variable.getLoc(), (variable.getSymName() + "/" + name).str(),
        type,
        DenseElementsAttr::get(type,
                               builder.getZeroAttr(type.getElementType())),
        /*trainable=*/false, kPulledGroup, Synchronization::OnWrite,
        Aggregation::None, /*slot_of=*/FlatSymbolRefAttr(),
        /*why=*/StringAttr(), /*sharding=*/Attribute());
    symbols.insert(made);
    return made;
  };
  RankedTensorType type = variable.getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = table.rows;
  VariableOp rows = add("rows", type.clone(shape));
  VariableOp places =
      add("places",
          RankedTensorType::get({type.getDimSize(0)}, builder.getI32Type()));
  PulledRows pulled;
  pulled.rows = FlatSymbolRefAttr::get(rows.getSymNameAttr());
  pulled.places = FlatSymbolRefAttr::get(places.getSymNameAttr());
  pulled.inputs = table.inputs;
  setPulledRows(variable, pulled);
  for (auto [user, gradient] : llvm::zip(table.users, table.gradients))
    if (failed(FunctionRewriter(user.first, user.second, rows, places)
                   .run(gradient)))
      return failure();
  return success();
}

void PullRowsPass::runOnOperation() {
  findFunctions();
  for (auto variable : llvm::to_vector(getOperation().getOps<VariableOp>())) {
    if (getServerParts(variable).empty() || !variable.getTrainable())
      continue;
    std::optional<Table> table = find(variable);
    if (table && failed(rewrite(*table)))
      return signalPassFailure();
  }
}
