//===- VariableUpdates.cpp - What @apply computes of each variable --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/VariableUpdates.h"
#include "passes/Analysis/RowFactors.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Who owns a value: a variable's number, or nobody.
constexpr int64_t kNobody = -1;

class UpdateFinder {
public:
  explicit UpdateFinder(func::FuncOp apply) : apply(apply) {}
  FailureOr<VariableUpdates> run();

private:
  LogicalResult addArguments();
  LogicalResult findOwners();
  LogicalResult addResults();
  void addOps(VariableUpdate &update);
  void findRows(VariableUpdate &update);

  /// The number of the variable that `symbol` is, or is a slot of.
  int64_t findOwner(FlatSymbolRefAttr symbol);
  StringRef getName(int64_t owner) {
    return updates.variables[owner].variable.getSymName();
  }

  func::FuncOp apply;
  VariableUpdates updates;
  DenseMap<StringAttr, graph::VariableOp> variables;
  DenseMap<StringAttr, int64_t> numbers;
  DenseMap<Value, int64_t> owners;
};
} // namespace

int64_t UpdateFinder::findOwner(FlatSymbolRefAttr symbol) {
  auto variable =
      symbol ? variables.lookup(symbol.getAttr()) : graph::VariableOp();
  if (!variable)
    return kNobody;
  FlatSymbolRefAttr of = variable.getSlotOfAttr();
  auto found = numbers.find(of ? of.getAttr() : variable.getSymNameAttr());
  return found == numbers.end() ? kNobody : found->second;
}

LogicalResult UpdateFinder::addArguments() {
  for (auto variable :
       apply->getParentOfType<ModuleOp>().getOps<graph::VariableOp>())
    variables[variable.getSymNameAttr()] = variable;
  for (unsigned i = 0; i < apply.getNumArguments(); ++i) {
    auto role = apply.getArgAttrOfType<StringAttr>(i, kRoleAttr);
    if (!role || role != "gradient")
      continue;
    auto name = apply.getArgAttrOfType<StringAttr>(i, kNameAttr);
    graph::VariableOp variable =
        name ? variables.lookup(name) : graph::VariableOp();
    if (!variable || variable.getType() != apply.getArgumentTypes()[i])
      return apply.emitOpError()
             << "argument " << i << " is a gradient of no variable";
    if (!variable.getType().hasStaticShape() || numbers.contains(name))
      return apply.emitOpError()
             << "argument " << i << " is "
             << (numbers.contains(name) ? "a second gradient of '"
                                        : "of a variable without sizes, '")
             << name.getValue() << "'";
    numbers[name] = updates.variables.size();
    owners[apply.getArgument(i)] = updates.variables.size();
    VariableUpdate &update = updates.variables.emplace_back();
    update.variable = variable;
    update.gradient = i;
  }
  for (unsigned i = 0; i < apply.getNumArguments(); ++i) {
    auto symbol = apply.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
    int64_t owner = findOwner(symbol);
    if (owner != kNobody) {
      if (variables.lookup(symbol.getAttr()).getType() !=
          apply.getArgumentTypes()[i])
        return apply.emitOpError()
               << "argument " << i << " has not the type of its variable";
      owners[apply.getArgument(i)] = owner;
      updates.variables[owner].state.push_back(i);
    } else if (!owners.contains(apply.getArgument(i))) {
      owners[apply.getArgument(i)] = kNobody;
      updates.sharedArguments.push_back(i);
    }
  }
  return success();
}

LogicalResult UpdateFinder::findOwners() {
  for (Operation &op : apply.front().without_terminator()) {
    int64_t owner = kNobody;
    for (Value operand : op.getOperands()) {
      int64_t other = owners.lookup(operand);
      if (owner != kNobody && other != kNobody && other != owner)
        return op.emitOpError()
               << "computes from '" << getName(owner) << "' and '"
               << getName(other)
               << "', which two servers may have; make @apply by "
                  "graph-apply-optimizer{separate independent-updates}";
      owner = std::max(owner, other);
    }
    for (Value result : op.getResults())
      owners[result] = owner;
    if (owner == kNobody)
      updates.sharedOps.insert(&op);
  }
  return success();
}

LogicalResult UpdateFinder::addResults() {
  for (OpOperand &result : apply.front().getTerminator()->getOpOperands()) {
    unsigned i = result.getOperandNumber();
    auto symbol =
        apply.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
    int64_t owner = findOwner(symbol);
    if (owner != kNobody &&
        variables.lookup(symbol.getAttr()).getType() != result.get().getType())
      return apply.emitOpError()
             << "result " << i << " has not the type of its variable";
    int64_t from = owners.lookup(result.get());
    if (from != kNobody && from != owner)
      return apply.emitOpError()
             << "result " << i << " is computed from '" << getName(from)
             << "', but is none of its own; make @apply by "
                "graph-apply-optimizer{separate independent-updates}";
    if (owner == kNobody)
      updates.sharedResults.push_back(i);
    else
      updates.variables[owner].results.push_back(i);
  }
  return success();
}

void UpdateFinder::addOps(VariableUpdate &update) {
  Operation *terminator = apply.front().getTerminator();
  DenseSet<Operation *> seen;
  SmallVector<Value> work;
  for (unsigned result : update.results)
    work.push_back(terminator->getOperand(result));
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  update.ops.assign(seen.begin(), seen.end());
  llvm::sort(update.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// From the results backwards, what must have the rows; then forwards, that
/// nothing reads them otherwise.
void UpdateFinder::findRows(VariableUpdate &update) {
  RankedTensorType type = update.variable.getType();
  if (type.getRank() == 0)
    return;
  // A slot of another shape is not of rows.
  for (unsigned argument : update.state)
    if (cast<RankedTensorType>(apply.getArgumentTypes()[argument]).getShape() !=
        type.getShape())
      return;
  Operation *terminator = apply.front().getTerminator();
  for (unsigned result : update.results)
    update.rows.insert(terminator->getOperand(result));
  auto hasRows = [&](Value value) { return update.rows.contains(value); };
  for (Operation *op : llvm::reverse(update.ops)) {
    if (llvm::none_of(op->getResults(), hasRows))
      continue;
    auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
    if (!sharded || op->getNumResults() != 1)
      return;
    ShardingRule rule = sharded.getShardingRule();
    const DimFactors &dim = rule.results[0][0];
    if (dim.size() != 1 ||
        rule.factors[dim[0]].kind != FactorKind::PassThrough ||
        !hasAsRows(rule.results[0], dim[0]))
      return;
    for (auto [operand, factors] :
         llvm::zip(op->getOperands(), rule.operands)) {
      if (!hasAnywhere(factors, dim[0]))
        continue;
      if (!hasAsRows(factors, dim[0]))
        return;
      update.rows.insert(operand);
    }
  }
  DenseSet<Value> own;
  own.insert(apply.getArgument(update.gradient));
  for (unsigned argument : update.state)
    own.insert(apply.getArgument(argument));
  for (Operation *op : update.ops) {
    auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
    bool givesRows = llvm::any_of(op->getResults(), hasRows);
    ShardingRule rule = sharded ? sharded.getShardingRule() : ShardingRule();
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!hasRows(operand) && !own.contains(operand))
        continue;
      if (!givesRows || !hasAsRows(rule.operands[i], rule.results[0][0][0]))
        return;
    }
  }
  update.isByRow = true;
}

FailureOr<VariableUpdates> UpdateFinder::run() {
  if (!apply.getBody().hasOneBlock())
    return apply.emitOpError() << "expected one block";
  if (failed(addArguments()) || failed(findOwners()) || failed(addResults()))
    return failure();
  // Owners are numbered by arguments; from here on order is that of variables.
  llvm::sort(updates.variables,
             [](const VariableUpdate &a, const VariableUpdate &b) {
               return a.variable->isBeforeInBlock(b.variable);
             });
  for (VariableUpdate &update : updates.variables) {
    addOps(update);
    findRows(update);
  }
  return std::move(updates);
}

FailureOr<VariableUpdates> mlir::dist::findUpdates(func::FuncOp apply) {
  return UpdateFinder(apply).run();
}
