//===- RowPlaces.cpp - Values that know places in a batch -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/RowPlaces.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Movement.h"
#include "dialects/Interfaces/Reference.h"
#include "dialects/Interfaces/ShardingRule.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Values of more elements are not looked into.
static constexpr int64_t kMostElements = int64_t(1) << 22;

using Wide = __int128;

namespace {
/// The least and the greatest that an integer may be.
struct Bounds {
  Wide low, high;
};
} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Null where the type has integers that are no i64.
static std::optional<Bounds> getBoundsOf(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() > 64)
    return std::nullopt;
  unsigned width = integer.getWidth();
  if (integer.isUnsigned() || width == 1) {
    if (width == 64)
      return std::nullopt;
    return Bounds{0, (Wide(1) << width) - 1};
  }
  return Bounds{-(Wide(1) << (width - 1)), (Wide(1) << (width - 1)) - 1};
}

static Bounds boundsAt(const ElementRange &range, int64_t i) {
  return {range.low.getInt(i), range.high.getInt(i)};
}

/// Of each element what `bound` says, as far as the type has it.
static std::optional<ElementRange>
makeRange(RankedTensorType type, llvm::function_ref<Bounds(int64_t)> bound) {
  std::optional<Bounds> whole = getBoundsOf(type.getElementType());
  if (!whole)
    return std::nullopt;
  ElementRange range{HostTensor(type), HostTensor(type)};
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Bounds one = bound(i);
    if (one.low < whole->low || one.high > whole->high)
      one = *whole; // it may wrap around
    range.low.setInt(i, int64_t(one.low));
    range.high.setInt(i, int64_t(one.high));
  }
  return range;
}

//===----------------------------------------------------------------------===//
// Arithmetic of bounds
//===----------------------------------------------------------------------===//

static Bounds multiply(Bounds a, Bounds b) {
  Wide all[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::min_element(std::begin(all), std::end(all)),
          *std::max_element(std::begin(all), std::end(all))};
}

/// By a positive number, which truncates; nothing else is asked.
static std::optional<Bounds> divide(Bounds a, Bounds b) {
  if (b.low != b.high || b.low <= 0)
    return std::nullopt;
  return Bounds{a.low / b.low, a.high / b.low};
}

static std::optional<Bounds> getRemainder(Bounds a, Bounds b) {
  if (b.low != b.high || b.low <= 0)
    return std::nullopt;
  Wide n = b.low;
  if (a.low >= 0 && a.low / n == a.high / n)
    return Bounds{a.low % n, a.high % n};
  return Bounds{a.low < 0 ? 1 - n : 0, a.high > 0 ? n - 1 : 0};
}

static Bounds compareBounds(ComparePredicate predicate, Bounds a, Bounds b) {
  auto decide = [](bool always, bool never) {
    return Bounds{always ? 1 : 0, never ? 0 : 1};
  };
  bool apart = a.high < b.low || b.high < a.low;
  bool same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (predicate) {
  case ComparePredicate::EQ:
    return decide(same, apart);
  case ComparePredicate::NE:
    return decide(apart, same);
  case ComparePredicate::LT:
    return decide(a.high < b.low, a.low >= b.high);
  case ComparePredicate::LE:
    return decide(a.high <= b.low, a.low > b.high);
  case ComparePredicate::GT:
    return decide(a.low > b.high, a.high <= b.low);
  case ComparePredicate::GE:
    return decide(a.low >= b.high, a.high < b.low);
  }
  llvm_unreachable("a predicate");
}

static std::optional<Bounds> computeBounds(Operation *op,
                                           ArrayRef<Bounds> operands) {
  Bounds a = operands[0];
  if (isa<ConvertOp>(op))
    return a;
  if (auto compare = dyn_cast<CompareOp>(op))
    return compareBounds(compare.getPredicate(), a, operands[1]);
  if (isa<AddOp>(op))
    return Bounds{a.low + operands[1].low, a.high + operands[1].high};
  if (isa<SubOp>(op))
    return Bounds{a.low - operands[1].high, a.high - operands[1].low};
  if (isa<MulOp>(op))
    return multiply(a, operands[1]);
  if (isa<DivOp>(op))
    return divide(a, operands[1]);
  if (isa<RemOp>(op))
    return getRemainder(a, operands[1]);
  if (isa<MaxOp>(op))
    return Bounds{std::max(a.low, operands[1].low),
                  std::max(a.high, operands[1].high)};
  if (isa<MinOp>(op))
    return Bounds{std::min(a.low, operands[1].low),
                  std::min(a.high, operands[1].high)};
  if (isa<SelectOp>(op)) {
    if (a.low == a.high)
      return a.low ? operands[1] : operands[2];
    return Bounds{std::min(operands[1].low, operands[2].low),
                  std::max(operands[1].high, operands[2].high)};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

static std::optional<HostTensor> evaluateOp(Operation *op, unsigned result,
                                            ArrayRef<HostTensor> operands) {
  auto evaluated = dyn_cast<ReferenceOpInterface>(op);
  SmallVector<HostTensor> results;
  // What cannot be evaluated is only not known.
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  if (!evaluated || failed(evaluated.evaluate(operands, results)))
    return std::nullopt;
  return results[result];
}

std::optional<ElementRange> RowPlaces::evaluate(Operation *op,
                                                unsigned result) {
  bool isExact = true;
  SmallVector<HostTensor> low, high;
  for (Value operand : op->getOperands()) {
    std::optional<ElementRange> range = findRange(operand);
    if (!range)
      return std::nullopt;
    isExact &= range->isExact;
    low.push_back(range->low);
    high.push_back(range->high);
  }
  if (!isExact && !isa<ConcatOp>(op)) {
    std::optional<Movement> movement = findMovement(op);
    if (!movement ||
        (movement == Movement::Select &&
         llvm::any_of(op->getOperands().drop_front(),
                      [&](Value v) { return !findRange(v)->isExact; })))
      return std::nullopt;
  }
  std::optional<HostTensor> least = evaluateOp(op, result, low);
  if (!least || isExact)
    return least ? std::optional(ElementRange{*least, *least, true})
                 : std::nullopt;
  std::optional<HostTensor> greatest = evaluateOp(op, result, high);
  if (!greatest)
    return std::nullopt;
  return ElementRange{*least, *greatest};
}

/// What nothing trains or assigns stays what it is: states that recurrent
/// layers begin with.
static std::optional<HostTensor> findFrozen(ReadOp read) {
  auto module = read->getParentOfType<ModuleOp>();
  auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
      read, read.getVariableAttr());
  if (!module || !variable || variable.getTrainable())
    return std::nullopt;
  auto uses = SymbolTable::getSymbolUses(variable, module);
  if (!uses || llvm::any_of(*uses, [](SymbolTable::SymbolUse use) {
        return !isa<ReadOp>(use.getUser());
      }))
    return std::nullopt;
  FailureOr<HostTensor> initial =
      HostTensor::fromAttribute(variable.getInitial());
  return succeeded(initial) ? std::optional(*initial) : std::nullopt;
}

std::optional<ElementRange> RowPlaces::computeRange(Value value) {
  RankedTensorType type = typeOf(value);
  if (type.getNumElements() > kMostElements)
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast_or_null<ReadOp>(op))
    if (std::optional<HostTensor> frozen = findFrozen(read))
      return ElementRange{*frozen, *frozen, true};
  if (op) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (std::optional<ElementRange> known = evaluate(op, result))
      return known;
    if (isa<ArgMaxOp, ArgMinOp>(op)) {
      auto axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
      Wide size = typeOf(op->getOperand(0)).getDimSize(axis);
      return makeRange(type, [&](int64_t) { return Bounds{0, size - 1}; });
    }
  }
  std::optional<Bounds> whole = getBoundsOf(type.getElementType());
  if (!whole)
    return std::nullopt;
  SmallVector<ElementRange> operands;
  if (op)
    for (Value operand : op->getOperands()) {
      // Bounds are of integers of the result's own places.
      std::optional<ElementRange> range =
          getBoundsOf(typeOf(operand).getElementType()) &&
                  typeOf(operand).getShape() == type.getShape()
              ? findRange(operand)
              : std::nullopt;
      if (!range)
        break;
      operands.push_back(*range);
    }
  bool isComputed =
      op && !operands.empty() && operands.size() == op->getNumOperands();
  return makeRange(type, [&](int64_t i) {
    if (!isComputed)
      return *whole;
    SmallVector<Bounds, 3> bounds;
    for (const ElementRange &operand : operands)
      bounds.push_back(boundsAt(operand, i));
    return computeBounds(op, bounds).value_or(*whole);
  });
}

std::optional<ElementRange> RowPlaces::findRange(Value value) {
  // Operands first, from a list: a chain of ops may be longer than the stack.
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.back();
    Operation *op = next.getDefiningOp();
    size_t before = open.size();
    if (op && !ranges.contains(next) &&
        typeOf(next).getNumElements() <= kMostElements)
      llvm::copy_if(op->getOperands(), std::back_inserter(open),
                    [&](Value operand) { return !ranges.contains(operand); });
    if (open.size() > before)
      continue;
    open.pop_back();
    if (ranges.contains(next))
      continue;
    std::optional<ElementRange> range = computeRange(next);
    ranges[next] = range;
  }
  return ranges[value];
}

//===----------------------------------------------------------------------===//
// The same for each example
//===----------------------------------------------------------------------===//

bool mlir::dist::isAlikeIn(const HostTensor &tensor, ExampleDim row,
                           int64_t batch) {
  ArrayRef<int64_t> shape = tensor.getShape();
  int64_t inner = row.inner;
  for (int64_t size : shape.drop_front(row.dim + 1))
    inner *= size;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    int64_t first = i / (inner * batch) * (inner * batch) + i % inner;
    if (tensor.isFloat() ? tensor.getDouble(i) != tensor.getDouble(first)
                         : tensor.getInt(i) != tensor.getInt(first))
      return false;
  }
  return true;
}

bool RowPlaces::isAlikeByRule(Value value, ExampleDim row) {
  auto op = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!op)
    return false;
  ShardingRule rule = op.getShardingRule();
  ArrayRef<unsigned> held =
      rule.results[cast<OpResult>(value).getResultNumber()][row.dim];
  if (held.size() != 1 || rule.factors[held[0]].kind != FactorKind::PassThrough)
    return false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    for (auto [dim, factors] : llvm::enumerate(rule.operands[i]))
      if (llvm::is_contained(factors, held[0]) &&
          (factors.size() != 1 ||
           !isAlike(operand, {unsigned(dim), row.inner})))
        return false;
  return true;
}

bool RowPlaces::computeAlike(Value value, ExampleDim row) {
  if (typeOf(value).getDimSize(row.dim) % (batch * row.inner))
    return false;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto constant = dyn_cast<ConstantOp>(op))
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        dense && dense.isSplat())
      return true;
  if (auto draw = dyn_cast<RandomUniformOp>(op))
    return draw.getDim() && *draw.getDim() == row.dim;
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    Value operand = reshape.getOperand();
    if (std::optional<ExampleDim> before = findReshapedRow(
            row, typeOf(value).getShape(), typeOf(operand).getShape(), batch))
      if (isAlike(operand, *before))
        return true;
  }
  if (isAlikeByRule(value, row))
    return true;
  std::optional<ElementRange> range = findRange(value);
  return range && range->isExact && isAlikeIn(range->low, row, batch);
}

bool RowPlaces::isAlike(Value value, ExampleDim row) {
  auto key = std::tuple(value.getAsOpaquePointer(), row.dim, row.inner);
  auto known = alike.find(key);
  if (known == alike.end())
    known = alike.emplace(key, computeAlike(value, row)).first;
  return known->second;
}
