//===- TableLookups.cpp - Tables of which a step reads rows ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/TableLookups.h"
#include "dialects/Interfaces/Movement.h"
#include "passes/Analysis/BatchRows.h"
#include "passes/Analysis/RowFactors.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class LookupFinder {
public:
  LookupFinder(func::FuncOp function, BlockArgument table, unsigned gradient)
      : function(function),
        gradient(function.front().getTerminator()->getOpOperand(gradient)) {
    found.table = table;
  }
  bool run();
  TableLookups found;
  /// What is in the way, if anything is.
  std::string obstacle;

private:
  bool findGathers();
  bool findSums();
  bool findOps();
  bool addOp(Operation *op, ArrayRef<unsigned> operands);
  /// The argument whose elements the indices are; null: they are computed.
  BlockArgument findInput(Value indices);
  bool isAlike(Value value, const TensorFactors &factors, unsigned factor);
  /// What a row is that no update was added to; none: it is not known.
  std::optional<HostTensor> evaluateRow(Operation *op,
                                        const ShardingRule &rule);
  bool isZero(Value value);
  bool isInTheWay(Operation *op, StringRef what) {
    obstacle = describeNode(op) + " " + what.str();
    return false;
  }

  func::FuncOp function;
  OpOperand &gradient;
  /// By values with rows: the value of such a row.
  DenseMap<Value, HostTensor> untouched;
};
} // namespace

static RankedTensorType getOneRow(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[0] = 1;
  return tensor.clone(shape);
}

static bool isSplat(Value value, double *number) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto dense =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !dense.isSplat())
    return false;
  auto one = HostTensor::fromAttribute(
      dense.resizeSplat(RankedTensorType::get({1}, dense.getElementType())));
  if (failed(one))
    return false;
  *number = one->getDouble(0);
  return true;
}

static HostTensor makeSplat(RankedTensorType type, double number) {
  HostTensor tensor(type);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor.setDouble(i, number);
  return tensor;
}

/// Whether every integer is the same number in the other type: all that the
/// first one has, or those from -count to count-1.
static bool keepsIntegers(graph::ConvertOp op, int64_t count) {
  auto from = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getOperand()));
  auto to = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getType()));
  if (!from || !to || to.isUnsigned())
    return from && from == to;
  return from == to || from.getWidth() < to.getWidth() ||
         (count > 0 && !from.isUnsigned() &&
          count <= llvm::maxIntN(to.getWidth()));
}

BlockArgument LookupFinder::findInput(Value indices) {
  SmallVector<graph::ConvertOp> converts;
  while (Operation *op = indices.getDefiningOp()) {
    if (auto convert = dyn_cast<graph::ConvertOp>(op))
      converts.push_back(convert);
    else if (!keepsElements(op))
      return nullptr;
    indices = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(indices);
  unsigned number = argument.getArgNumber();
  auto role = function.getArgAttrOfType<StringAttr>(number, kRoleAttr);
  // Data are checked against the count before any step.
  auto counts =
      function.getArgAttrOfType<DenseI64ArrayAttr>(number, kIndexCountAttr);
  int64_t count = counts && counts.size() == 1 ? counts[0] : 0;
  bool isSame = llvm::all_of(converts, [&](graph::ConvertOp convert) {
    return keepsIntegers(convert, count);
  });
  return role && role == "input" && isSame ? argument : nullptr;
}

bool LookupFinder::findGathers() {
  // In the program's order: lists of uses have none.
  SmallVector<OpOperand *> uses =
      llvm::to_vector(llvm::make_pointer_range(found.table.getUses()));
  llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
    return a->getOwner() != b->getOwner()
               ? a->getOwner()->isBeforeInBlock(b->getOwner())
               : a->getOperandNumber() < b->getOperandNumber();
  });
  for (OpOperand *use : uses) {
    auto gather = dyn_cast<graph::GatherOp>(use->getOwner());
    if (!gather || gather.getAxis() != 0 || use->getOperandNumber() != 0)
      return isInTheWay(use->getOwner(), "reads all rows");
    BlockArgument input = findInput(gather.getIndices());
    if (!input)
      return isInTheWay(gather, "looks up rows that no input numbers");
    found.gathers.push_back(gather);
    if (found.inputs.insert(input))
      found.count += cast<RankedTensorType>(input.getType()).getNumElements();
  }
  return !found.gathers.empty();
}

/// Backwards from the gradient, through what has the table's shape.
bool LookupFinder::findSums() {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(found.table.getType()).getShape();
  SmallVector<Value> work = {gradient.get()};
  DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    auto sum = dyn_cast<graph::ScatterAddOp>(op);
    double start = 1;
    if (sum && sum.getAxis() == 0 && isSplat(sum.getOperand(), &start) &&
        start == 0) {
      BlockArgument input = findInput(sum.getIndices());
      if (!input || !found.inputs.contains(input))
        return isInTheWay(sum, "adds to rows that no input numbers");
      found.sums.push_back(sum);
      found.rows.insert(sum.getResult());
      untouched[sum.getResult()] = HostTensor(getOneRow(sum.getType()));
      continue;
    }
    for (Value operand : op->getOperands())
      if (cast<RankedTensorType>(operand.getType()).getShape() == shape)
        work.push_back(operand);
  }
  return !found.sums.empty();
}

bool LookupFinder::isZero(Value value) {
  auto row = untouched.find(value);
  if (row == untouched.end())
    return false;
  for (int64_t i = 0; i < row->second.getNumElements(); ++i)
    if (row->second.getDouble(i) != 0)
      return false;
  return true;
}

bool LookupFinder::isAlike(Value value, const TensorFactors &factors,
                           unsigned factor) {
  double number;
  if (!hasAsRows(factors, factor))
    return false;
  if (isSplat(value, &number))
    return true;
  auto op = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!op || op->getNumResults() != 1)
    return false;
  ShardingRule rule = op.getShardingRule();
  return llvm::all_of(rule.results[0][0], [&](unsigned own) {
    return llvm::none_of(rule.operands, [&](const TensorFactors &operand) {
      return hasAnywhere(operand, own);
    });
  });
}

std::optional<HostTensor> LookupFinder::evaluateRow(Operation *op,
                                                    const ShardingRule &rule) {
  RankedTensorType type = getOneRow(op->getResult(0).getType());
  // What is linear in zeros is zero, whatever its other operands are: a factor
  // that is not finite makes NaN of the rows that are looked up, and of no
  // others.
  if (llvm::any_of(rule.linear, [&](ArrayRef<unsigned> set) {
        return !set.empty() && llvm::all_of(set, [&](unsigned operand) {
          return isZero(op->getOperand(operand));
        });
      }))
    return HostTensor(type);
  // Else it is computed, of one row, where all operands are known.
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&block);
  SmallVector<HostTensor> values;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    double number;
    auto known = untouched.find(operand);
    if (known != untouched.end())
      values.push_back(known->second);
    else if (isSplat(operand, &number))
      values.push_back(
          makeSplat(found.alike.contains(operand)
                        ? getOneRow(operand.getType())
                        : cast<RankedTensorType>(operand.getType()),
                    number));
    else
      return std::nullopt;
    operands.push_back(
        block.addArgument(values.back().getType(), op->getLoc()));
  }
  FailureOr<Operation *> copy = cloneWithRows(builder, op, operands, type);
  auto evaluated = succeeded(copy) ? dyn_cast<ReferenceOpInterface>(*copy)
                                   : ReferenceOpInterface();
  SmallVector<HostTensor> results;
  if (!evaluated || failed(evaluated.evaluate(values, results)))
    return std::nullopt;
  return results[0];
}

/// `operands`: those of the op that have rows.
bool LookupFinder::addOp(Operation *op, ArrayRef<unsigned> operands) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumResults() != 1)
    return false;
  ShardingRule rule = sharded.getShardingRule();
  if (rule.operands[operands[0]].empty() ||
      rule.operands[operands[0]][0].size() != 1)
    return false;
  unsigned factor = rule.operands[operands[0]][0][0];
  for (auto [i, factors] : llvm::enumerate(rule.operands)) {
    Value operand = op->getOperand(i);
    if (llvm::is_contained(operands, i)) {
      if (!hasAsRows(factors, factor))
        return false;
    } else if (hasAnywhere(factors, factor)) {
      if (!isAlike(operand, factors, factor))
        return false;
      found.alike.insert(operand);
    }
  }
  found.ops.push_back(op);
  const Factor &rows = rule.factors[factor];
  Value result = op->getResult(0);
  if (hasAnywhere(rule.results[0], factor)) {
    if (rows.kind != FactorKind::PassThrough ||
        !hasAsRows(rule.results[0], factor))
      return false;
    found.rows.insert(result);
    if (std::optional<HostTensor> row = evaluateRow(op, rule))
      untouched[result] = *row;
    return true;
  }
  // Rows of zeros add nothing to a sum that is linear in them.
  return rows.kind == FactorKind::Reduction &&
         rows.reduction == Reduction::Sum &&
         llvm::any_of(rule.linear, [&](ArrayRef<unsigned> set) {
           return !set.empty() && llvm::all_of(set, [&](unsigned operand) {
             return llvm::is_contained(operands, operand) &&
                    isZero(op->getOperand(operand));
           });
         });
}

/// Forwards: all that computes with the sums.
bool LookupFinder::findOps() {
  for (Operation &op : function.front().without_terminator()) {
    SmallVector<unsigned> operands;
    for (OpOperand &operand : op.getOpOperands())
      if (found.rows.contains(operand.get()))
        operands.push_back(operand.getOperandNumber());
    if (!operands.empty() && !addOp(&op, operands))
      return isInTheWay(&op, "computes with the gradient of all rows");
  }
  for (OpOperand &result : function.front().getTerminator()->getOpOperands())
    if (found.rows.contains(result.get()) && &result != &gradient)
      return isInTheWay(result.getOwner(), "gives the gradient of all rows");
  return isZero(gradient.get());
}

bool LookupFinder::run() {
  return cast<RankedTensorType>(found.table.getType()).getRank() > 0 &&
         findGathers() && findSums() && findOps();
}

std::optional<TableLookups> mlir::dist::findTableLookups(func::FuncOp function,
                                                         BlockArgument table,
                                                         unsigned gradient,
                                                         std::string *why) {
  LookupFinder finder(function, table, gradient);
  if (finder.run())
    return std::move(finder.found);
  bool isLookedUp = llvm::any_of(
      table.getUsers(), [](Operation *op) { return isa<graph::GatherOp>(op); });
  if (isLookedUp)
    *why = finder.obstacle;
  return std::nullopt;
}
