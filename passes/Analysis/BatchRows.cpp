//===- BatchRows.cpp - Whether a batch's examples meet -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/BatchRows.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Indexing.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Analysis/DrawnRows.h"
#include "passes/Analysis/RowPlaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using RowDim = ExampleDim;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Rows, and what knows their places
//===----------------------------------------------------------------------===//

namespace {
class BatchTracker {
public:
  BatchTracker(func::FuncOp entry, CopyPlaces copies);
  /// Fails where examples meet.
  LogicalResult visit(Operation *op);
  ArrayRef<RowDim> find(Value value) const { return rows.find(value); }
  /// The op by which a row's value depends on its place in the batch; null: it
  /// does not.
  Operation *findNumbered(Value value) const { return numbered.lookup(value); }
  /// Whether a value that depends on no example has the same in each row.
  bool isAlike(Value value, RowDim row) { return places.isAlike(value, row); }
  int64_t getBatch() const { return batch; }

private:
  bool looksUpRows(Operation *op) const;
  LogicalResult visitLookup(Operation *op);
  std::optional<RowDim> findOwnRow(Operation *op, RowDim row,
                                   ElementRange &range);
  void markNumbered(Operation *op);
  bool addsNumbers(Operation *op);

  CopyPlaces copies;
  int64_t batch;
  RowTracker rows;
  RowPlaces places;
  DenseMap<Value, Operation *> numbered;
};
} // namespace

static int64_t findBatch(func::FuncOp entry) {
  int64_t batch = 1;
  for (BlockArgument argument : entry.getArguments()) {
    auto dim = entry.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                   kBatchDimAttr);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (dim && type && dim.getInt() >= 0 && dim.getInt() < type.getRank())
      batch = type.getDimSize(dim.getInt());
  }
  return batch;
}

/// A tracker that knows the entry's arguments.
static RowTracker makeTracker(func::FuncOp entry, int64_t batch) {
  RowTracker tracker(batch);
  for (BlockArgument argument : entry.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto dim = entry.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!dim || !type || dim.getInt() < 0 || dim.getInt() >= type.getRank())
      continue;
    auto role = entry.getArgAttrOfType<StringAttr>(index, kRoleAttr);
    if (role && role.getValue() == "mask")
      tracker.setMask(argument);
    (void)tracker.add(argument, {unsigned(dim.getInt()), 1}); // its only one
  }
  return tracker;
}

BatchTracker::BatchTracker(func::FuncOp entry, CopyPlaces copies)
    : copies(copies), batch(findBatch(entry)), rows(makeTracker(entry, batch)),
      places(batch) {
  auto draws = llvm::make_filter_range(entry.front(), [](Operation &op) {
    return isa<RandomUniformOp, DropoutOp>(op);
  });
  if (batch == 1 || draws.empty())
    return;
  RowTracker known = makeTracker(entry, batch);
  for (Operation &op : entry.front())
    (void)known.visit(&op);
  DrawnRows drawn(batch, [&](Value value) { return known.find(value); });
  for (Operation &draw : draws)
    for (Value result : draw.getResults())
      if (known.find(result).empty())
        if (std::optional<RowDim> row = drawn.find(result))
          (void)rows.add(result, *row); // the first of this value
}

/// The operand of which an indexing op's result has elements.
static std::optional<IndexUse> findLookup(Operation *op) {
  auto indexing = dyn_cast<IndexingOpInterface>(op);
  std::optional<IndexUse> use =
      indexing ? indexing.getIndexUse() : std::nullopt;
  return use && use->table ? use : std::nullopt;
}

static bool isPassed(const ShardingRule &rule, unsigned operand, unsigned dim) {
  const DimFactors &factors = rule.operands[operand][dim];
  return factors.size() == 1 &&
         rule.factors[factors[0]].kind == FactorKind::PassThrough;
}

bool BatchTracker::looksUpRows(Operation *op) const {
  std::optional<IndexUse> use = findLookup(op);
  if (!use)
    return false;
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  return llvm::any_of(rows.find(op->getOperand(*use->table)), [&](RowDim row) {
    return !isPassed(rule, *use->table, row.dim);
  });
}

/// Where among the coordinates of a lookup the dim of its table is; of those of
/// one alone, the first. None: no index says which of the dim's elements.
static std::optional<int64_t> findCoordinate(Operation *op, unsigned dim) {
  if (auto gather = dyn_cast<GatherNDOp>(op)) {
    int64_t coordinate = int64_t(dim) - int64_t(gather.getBatchDims());
    int64_t count = getShape(gather.getIndices()).back();
    return coordinate >= 0 && coordinate < count ? std::optional(coordinate)
                                                 : std::nullopt;
  }
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  return axis && axis.getInt() == int64_t(dim) ? std::optional<int64_t>(0)
                                               : std::nullopt;
}

/// The dim of the indices along which each reads the example of its own place
/// from the rows of the table; none: it cannot be proved. Leaves in `range`
/// which element of the example that is.
std::optional<RowDim> BatchTracker::findOwnRow(Operation *op, RowDim row,
                                               ElementRange &range) {
  std::optional<int64_t> coordinate = findCoordinate(op, row.dim);
  if (!coordinate)
    return std::nullopt;
  int64_t size = getShape(op->getOperand(0))[row.dim];
  SmallVector<int64_t> shape(range.low.getShape());
  int64_t width = isa<GatherNDOp>(op) ? shape.pop_back_val() : 1;
  int64_t count = range.low.getNumElements() / width;
  SmallVector<int64_t> examples;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = i * width + *coordinate;
    int64_t low = range.low.getInt(at), high = range.high.getInt(at);
    if (high < 0) // from the end
      low += size, high += size;
    if (low < 0 || high >= size || low / row.inner != high / row.inner)
      return std::nullopt;
    int64_t example = low / row.inner % batch;
    examples.push_back(example);
    range.low.setInt(at, low - example * row.inner);
    range.high.setInt(at, high - example * row.inner);
  }
  int64_t behind = count;
  for (auto [dim, dimSize] : llvm::enumerate(shape)) {
    behind /= dimSize;
    for (int64_t inner = 1; inner * batch <= dimSize; ++inner)
      if (dimSize % (inner * batch) == 0 &&
          llvm::all_of(llvm::enumerate(examples), [&](auto place) {
            return place.value() ==
                   int64_t(place.index()) / behind % dimSize / inner % batch;
          }))
        return RowDim{unsigned(dim), inner};
  }
  return std::nullopt;
}

/// A lookup in the batch itself reads other examples, unless each index is of
/// the example that it stands for itself: models number the batch to pick an
/// element of each.
LogicalResult BatchTracker::visitLookup(Operation *op) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  std::optional<IndexUse> use = findLookup(op);
  Value table = op->getOperand(*use->table),
        indices = op->getOperand(use->operand);
  std::optional<ElementRange> range = places.findRange(indices);
  if (!range)
    return failure();
  std::optional<RowDim> own;
  for (const RowDim &row : rows.find(table)) {
    if (isPassed(rule, *use->table, row.dim))
      continue;
    std::optional<RowDim> found = findOwnRow(op, row, *range);
    if (!found || (own && !(*own == *found)))
      return failure();
    own = found;
  }
  auto pass = [&](unsigned operand, RowDim row) {
    for (auto [dim, held] : llvm::enumerate(rule.results[0]))
      if (!held.empty() && held == rule.operands[operand][row.dim] &&
          failed(rows.add(op->getResult(0), {unsigned(dim), row.inner})))
        return failure();
    return success();
  };
  for (const RowDim &row : rows.find(indices))
    if (!(row == *own))
      return failure();
  for (const RowDim &row : SmallVector<RowDim, 1>(rows.find(table)))
    if (isPassed(rule, *use->table, row.dim) && failed(pass(*use->table, row)))
      return failure();
  if (!isAlikeIn(range->low, *own, batch) ||
      !isAlikeIn(range->high, *own, batch))
    numbered[op->getResult(0)] = op;
  return pass(use->operand, *own);
}

/// Whether the op gives rows of examples something that differs by their place.
bool BatchTracker::addsNumbers(Operation *op) {
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rule || isa<ReshapeOp, SliceOp>(op))
    return false;
  if (auto draw = dyn_cast<RandomUniformOp>(op))
    return !draw.getDim() && !rows.find(draw.getResult()).empty();
  ShardingRule factors = rule.getShardingRule();
  bool joins = isa<ConcatOp>(op);
  for (auto [r, result] : llvm::enumerate(op->getResults()))
    for (const RowDim &row : rows.find(result))
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        for (unsigned dim = 0; dim < getShape(operand).size(); ++dim) {
          const DimFactors &held = factors.operands[i][dim];
          bool isTied =
              joins ? dim == row.dim
                    : !held.empty() && held == factors.results[r][row.dim];
          RowDim own{dim, row.inner};
          if (isTied && !llvm::is_contained(rows.find(operand), own) &&
              !places.isAlike(operand, own))
            return true;
        }
  return false;
}

void BatchTracker::markNumbered(Operation *op) {
  std::optional<IndexUse> lookup;
  if (looksUpRows(op))
    lookup = findLookup(op);
  Operation *from = nullptr;
  for (OpOperand &operand : op->getOpOperands())
    // Of a lookup in rows each index is looked at.
    if (!lookup || operand.getOperandNumber() != lookup->operand)
      if (!from)
        from = numbered.lookup(operand.get());
  if (!from && !lookup && addsNumbers(op))
    from = op;
  if (from)
    for (Value result : op->getResults())
      numbered[result] = from;
}

LogicalResult BatchTracker::visit(Operation *op) {
  if (batch == 1)
    return success();
  LogicalResult meets = looksUpRows(op) ? visitLookup(op) : rows.visit(op);
  if (copies == CopyPlaces::BetweenParts)
    markNumbered(op);
  return meets;
}

//===----------------------------------------------------------------------===//
// Of an entry
//===----------------------------------------------------------------------===//

static std::string describeOutput(func::FuncOp entry, unsigned output) {
  auto name = entry.getResultAttrOfType<StringAttr>(output, kNameAttr);
  return "output '" + (name ? name.str() : std::to_string(output)) + "'";
}

std::string mlir::dist::describeMixedRows(func::FuncOp entry,
                                          ArrayRef<unsigned> outputs,
                                          CopyPlaces copies) {
  Operation *terminator = entry.front().getTerminator();
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> open;
  for (unsigned output : outputs)
    open.push_back(terminator->getOperand(output));
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && needed.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
  BatchTracker tracker(entry, copies);
  for (Operation &op : entry.front())
    if (needed.contains(&op) && failed(tracker.visit(&op)))
      return describeNode(&op) + " combines the examples of a batch";
  if (tracker.getBatch() == 1)
    return "";
  for (unsigned output : outputs) {
    Value value = terminator->getOperand(output);
    auto dim = entry.getResultAttrOfType<IntegerAttr>(output, kBatchDimAttr);
    unsigned batchDim = dim && dim.getInt() > 0 ? dim.getInt() : 0;
    // What comes behind the model goes over the other dims: a loss over all
    // pairs, or who reads a prediction.
    for (const RowDim &row : tracker.find(value))
      if (row.dim != batchDim)
        return describeOutput(entry, output) +
               " has the examples of a batch in dim " +
               std::to_string(row.dim) + ", too";
    if (copies == CopyPlaces::AtTheEnd)
      continue;
    if (Operation *numbered = tracker.findNumbered(value))
      return describeNode(numbered) +
             " computes with a number for each place in a batch";
    if (batchDim < getShape(value).size() && tracker.find(value).empty() &&
        getShape(value)[batchDim] == tracker.getBatch() &&
        !tracker.isAlike(value, {batchDim, 1}))
      return describeOutput(entry, output) +
             " has a number for each place in a batch";
  }
  return "";
}

llvm::DenseMap<Value, ExampleDim>
mlir::dist::findExampleDims(func::FuncOp entry) {
  BatchTracker tracker(entry, CopyPlaces::AtTheEnd);
  llvm::DenseMap<Value, ExampleDim> found;
  for (Operation &op : entry.front()) {
    // Examples that meet stand where they have stood.
    (void)tracker.visit(&op);
    for (Value result : op.getResults())
      if (ArrayRef<RowDim> rows = tracker.find(result); rows.size() == 1)
        found[result] = rows.front();
  }
  return found;
}

std::string mlir::dist::describeBatchNumber(ModuleOp module) {
  auto node = module->getAttrOfType<StringAttr>("graph.batch_number");
  return node ? ("node '" + node.getValue() +
                 "' makes the size of the batch a number")
                    .str()
              : std::string();
}

std::string mlir::dist::describeNode(Operation *op) {
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return ("node '" + name.getName().getValue() + "'").str();
  return ("'" + op->getName().getStringRef() + "'").str();
}
