//===- TestOpRules.cpp - Do an op's interfaces agree? -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `test-op-rules` runs each op of a function on random operands and holds its
// interfaces against each other, with the evaluator as the judge: the derivative
// against central differences, each split that the sharding rule allows and each
// linear set against the whole op, the decomposition and the scalar code (or
// loops) against the op. It emits an error for what differs and otherwise a
// remark
//   rules hold: F factors, L linear sets, D derivatives
// A function argument's values come from `test.range = [low, high]` on the
// argument, or on its first user; integers likewise. An op with `test.skip` is
// evaluated only.
//
//===----------------------------------------------------------------------===//
#include "CheckElements.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::dist;

namespace {

using Tensors = SmallVector<HostTensor>;

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A block of ops of its own, in which derivatives and shards are built.
class Scratch {
public:
  explicit Scratch(Location loc)
      : function(func::FuncOp::create(
            loc, "scratch", FunctionType::get(loc.getContext(), {}, {}))),
        builder(loc.getContext()) {
    Block *block = function->addEntryBlock();
    end = func::ReturnOp::create(builder, loc);
    block->push_back(end);
    builder.setInsertionPoint(end);
  }
  OpBuilder &getBuilder() { return builder; }

  Value addInput(const HostTensor &tensor) {
    Value value = function->getBody().addArgument(tensor.getType(),
                                                  function->getLoc());
    values[value] = tensor;
    return value;
  }
  /// Runs every op that has no value yet.
  LogicalResult run() {
    for (Operation &op : function->getBody().front()) {
      if (&op == end || (op.getNumResults() && values.count(op.getResult(0))))
        continue;
      if (failed(mlir::verify(&op)))
        return op.emitError("built for ") << op.getName() << " does not verify";
      auto reference = dyn_cast<ReferenceOpInterface>(op);
      if (!reference)
        return op.emitError("has no evaluator");
      Tensors operands, results;
      for (Value operand : op.getOperands())
        operands.push_back(values.lookup(operand));
      if (failed(reference.evaluate(operands, results)))
        return failure();
      for (auto [value, tensor] : llvm::zip(op.getResults(), results))
        values[value] = tensor;
    }
    return success();
  }
  HostTensor get(Value value) { return values.lookup(value); }

private:
  OwningOpRef<func::FuncOp> function;
  OpBuilder builder;
  Operation *end;
  llvm::DenseMap<Value, HostTensor> values;
};

double getTolerance(Type elementType) {
  if (elementType.isF64())
    return 1e-9;
  if (elementType.isF32())
    return 2e-5;
  return isa<FloatType>(elementType) ? 2e-2 : 0;
}

/// Where two tensors differ by more than their type's precision, in words.
std::optional<std::string> findDifference(const HostTensor &a,
                                          const HostTensor &b,
                                          double tolerance = -1) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!a || !b || a.getType() != b.getType()) {
    os << "types " << (a ? a.getType() : RankedTensorType()) << " and "
       << (b ? b.getType() : RankedTensorType());
    return text;
  }
  if (tolerance < 0)
    tolerance = getTolerance(a.getType().getElementType());
  for (int64_t i = 0, e = a.getNumElements(); i < e; ++i) {
    double x = a.getDouble(i), y = b.getDouble(i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (std::fabs(x - y) <= tolerance * std::max(1.0, std::fabs(y)))
      continue;
    os << "element [" << llvm::interleaved(a.delinearize(i)) << "]: " << x
       << " and " << y;
    return text;
  }
  return std::nullopt;
}

/// A part of a tensor: `counts[d]` elements from `starts[d]` of each dim.
HostTensor cut(const HostTensor &tensor, ArrayRef<int64_t> starts,
               ArrayRef<int64_t> counts) {
  HostTensor part(tensor.getType().clone(counts));
  int64_t i = 0;
  forEachIndex(counts, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    for (size_t d = 0; d < source.size(); ++d)
      source[d] += starts[d];
    int64_t from = tensor.linearize(source);
    if (part.isFloat())
      part.setDouble(i++, tensor.getDouble(from));
    else
      part.setInt(i++, tensor.getInt(from));
  });
  return part;
}

/// How one factor's split cuts the tensor dims that have it.
struct Split {
  unsigned factor;
  int64_t parts;

  std::optional<unsigned> findDim(const TensorFactors &dims) const {
    for (unsigned d = 0; d < dims.size(); ++d)
      if (llvm::is_contained(dims[d], factor))
        return d;
    return std::nullopt;
  }
  RankedTensorType localType(RankedTensorType type,
                             const TensorFactors &dims) const {
    SmallVector<int64_t> shape(type.getShape());
    if (std::optional<unsigned> d = findDim(dims))
      shape[*d] /= parts;
    return type.clone(shape);
  }
  HostTensor part(const HostTensor &tensor, const TensorFactors &dims,
                  int64_t number) const {
    SmallVector<int64_t> starts(tensor.getShape().size(), 0);
    RankedTensorType type = localType(tensor.getType(), dims);
    if (std::optional<unsigned> d = findDim(dims))
      starts[*d] = number * type.getDimSize(*d);
    return cut(tensor, starts, type.getShape());
  }
};

class OpChecker {
public:
  OpChecker(Operation *op, Tensors operands, std::mt19937_64 &random)
      : op(op), operands(std::move(operands)), random(random) {}

  LogicalResult run() {
    if (failed(mlir::cast<ReferenceOpInterface>(op).evaluate(operands, whole)))
      return failure();
    for (auto [result, tensor] : llvm::zip(op->getResults(), whole))
      if (result.getType() != tensor.getType())
        return op->emitError("evaluated type ")
               << tensor.getType() << " is not the result's "
               << result.getType();
    if (op->hasAttr("test.skip"))
      return success();
    if (failed(checkSharding()) || failed(checkLinear()) ||
        failed(checkDerivative()) || failed(checkDecomposition()) ||
        failed(checkScalarCode()))
      return failure();
    op->emitRemark("rules hold: ") << numFactors << " factors, " << numLinear
                                   << " linear sets, " << numDerivatives
                                   << " derivatives";
    return success();
  }
  ArrayRef<HostTensor> getResults() const { return whole; }

private:
  /// Operands for a clone of the op: constants stay constants, since rules and
  /// derivatives look at them.
  SmallVector<Value> buildOperands(Scratch &scratch, ArrayRef<HostTensor> tensors) {
    SmallVector<Value> values;
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), tensors)) {
      if (graph::findSplat(operand) ||
          operand.getDefiningOp<graph::ConstantOp>())
        values.push_back(graph::ConstantOp::create(
            scratch.getBuilder(), op->getLoc(), tensor.toAttribute()));
      else
        values.push_back(scratch.addInput(tensor));
    }
    return values;
  }
  HostTensor randomLike(RankedTensorType type) {
    HostTensor tensor(type);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
      tensor.setDouble(i, uniform(random));
    return tensor;
  }
  LogicalResult evaluate(ArrayRef<HostTensor> inputs, Tensors &results) {
    return mlir::cast<ReferenceOpInterface>(op).evaluate(inputs, results);
  }

  LogicalResult checkSizes(const ShardingRule &rule);
  LogicalResult checkSharding();
  LogicalResult checkSplit(const ShardingRule &rule, Split split);
  LogicalResult checkLinear();
  LogicalResult checkDerivative();
  LogicalResult checkDecomposition();
  LogicalResult checkScalarCode();

  Operation *op;
  Tensors operands, whole;
  std::mt19937_64 &random;
  unsigned numFactors = 0, numLinear = 0, numDerivatives = 0;
};

LogicalResult OpChecker::checkSizes(const ShardingRule &rule) {
  auto check = [&](ArrayRef<TensorFactors> rows, TypeRange types,
                   StringRef what) -> LogicalResult {
    if (rows.size() != types.size())
      return op->emitError("rule has ") << rows.size() << " rows for "
                                        << types.size() << " " << what << "s";
    for (auto [i, row] : llvm::enumerate(rows)) {
      auto type = mlir::cast<RankedTensorType>(types[i]);
      if (int64_t(row.size()) != type.getRank())
        return op->emitError("rule of ") << what << " " << i << " has "
                                         << row.size() << " dims for " << type;
      for (auto [d, factors] : llvm::enumerate(row)) {
        int64_t size = 1;
        for (unsigned factor : factors)
          size *= rule.factors[factor].size;
        if (!factors.empty() && size != type.getDimSize(d))
          return op->emitError("factors of ")
                 << what << " " << i << " dim " << d << " multiply to " << size
                 << ", not " << type.getDimSize(d);
      }
    }
    return success();
  };
  if (failed(check(rule.operands, op->getOperandTypes(), "operand")))
    return failure();
  return check(rule.results, op->getResultTypes(), "result");
}

LogicalResult OpChecker::checkSharding() {
  ShardingRule rule = mlir::cast<ShardingRuleOpInterface>(op).getShardingRule();
  if (failed(checkSizes(rule)))
    return failure();
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    FactorKind kind = rule.factors[f].kind;
    if (kind != FactorKind::PassThrough && kind != FactorKind::Reduction)
      continue;
    // A factor below another one in a dim is split only together with it.
    bool isMajor = true;
    for (const auto &rows : {rule.operands, rule.results})
      for (const TensorFactors &row : rows)
        for (const DimFactors &dim : row)
          for (unsigned other : dim) {
            if (other == f)
              break;
            isMajor &= !llvm::is_contained(dim, f) ||
                       rule.factors[other].size == 1;
          }
    bool isSplit = false;
    for (int64_t parts : {2, 3, 4}) {
      if (!isMajor || rule.factors[f].size % parts != 0)
        continue;
      isSplit = true;
      if (failed(checkSplit(rule, {f, parts})))
        return failure();
    }
    numFactors += isSplit;
  }
  return success();
}

static double reduceNumbers(ReductionKind kind, double x, double y) {
  switch (kind) {
  case ReductionKind::Sum:
    return x + y;
  case ReductionKind::Max:
    return std::fmax(x, y);
  case ReductionKind::Min:
    return std::fmin(x, y);
  case ReductionKind::Product:
    return x * y;
  }
  llvm_unreachable("all kinds are listed");
}

LogicalResult OpChecker::checkSplit(const ShardingRule &rule, Split split) {
  SmallVector<int64_t> shards(rule.factors.size(), 1);
  shards[split.factor] = split.parts;
  SmallVector<Type> localTypes;
  for (auto [result, row] : llvm::zip(op->getResults(), rule.results))
    localTypes.push_back(split.localType(typeOf(result), row));
  SmallVector<Tensors> parts;
  for (int64_t number = 0; number < split.parts; ++number) {
    Scratch scratch(op->getLoc());
    Tensors local;
    for (auto [operand, row] : llvm::zip(operands, rule.operands))
      local.push_back(split.part(operand, row, number));
    SmallVector<Value> values = buildOperands(scratch, local);
    FailureOr<Operation *> shard =
        mlir::cast<ShardingRuleOpInterface>(op).partition(
            scratch.getBuilder(), values, localTypes, shards);
    if (failed(shard))
      return op->emitError("partition failed for factor ") << split.factor;
    if ((*shard)->getResultTypes() != TypeRange(localTypes))
      return op->emitError("partition by factor ")
             << split.factor << " gives other result types than asked";
    if (failed(scratch.run()))
      return failure();
    Tensors results;
    for (Value result : (*shard)->getResults())
      results.push_back(scratch.get(result));
    parts.push_back(results);
  }
  const Factor &factor = rule.factors[split.factor];
  for (unsigned r = 0; r < op->getNumResults(); ++r) {
    HostTensor joined;
    if (std::optional<unsigned> dim = split.findDim(rule.results[r])) {
      joined = HostTensor(typeOf(op->getResult(r)));
      int64_t i = 0, size = joined.getShape()[*dim] / split.parts;
      forEachIndex(joined.getShape(), [&](ArrayRef<int64_t> index) {
        SmallVector<int64_t> local(index);
        const HostTensor &part = parts[index[*dim] / size][r];
        local[*dim] %= size;
        joined.setDouble(i++, part.getDouble(part.linearize(local)));
      });
    } else {
      joined = parts[0][r];
      for (int64_t number = 1; number < split.parts; ++number) {
        const HostTensor &part = parts[number][r];
        if (factor.kind == FactorKind::PassThrough) {
          if (findDifference(part, joined))
            return op->emitError("result ")
                   << r << " lacks pass-through factor " << split.factor
                   << ", but its parts differ";
          continue;
        }
        for (int64_t i = 0, e = joined.getNumElements(); i < e; ++i)
          joined.setDouble(i, reduceNumbers(factor.reduction, joined.getDouble(i),
                                            part.getDouble(i)));
      }
    }
    if (auto difference = findDifference(joined, whole[r]))
      return op->emitError("split of factor ")
             << split.factor << " into " << split.parts << " changes result " << r
             << ": " << *difference;
  }
  return success();
}

LogicalResult OpChecker::checkLinear() {
  ShardingRule rule = mlir::cast<ShardingRuleOpInterface>(op).getShardingRule();
  for (ArrayRef<unsigned> set : rule.linear) {
    Tensors first = operands, second = operands, sum = operands;
    bool isFloat = true;
    double tolerance = 0;
    for (unsigned i : set) {
      isFloat &= operands[i].isFloat();
      tolerance = std::max(
          tolerance, getTolerance(operands[i].getType().getElementType()));
      second[i] = randomLike(operands[i].getType());
      for (int64_t e = 0; e < sum[i].getNumElements(); ++e)
        sum[i].setDouble(e, first[i].getDouble(e) + second[i].getDouble(e));
    }
    if (!isFloat)
      continue;
    Tensors a, b, both;
    if (failed(evaluate(first, a)) || failed(evaluate(second, b)) ||
        failed(evaluate(sum, both)))
      return failure();
    for (unsigned r = 0; r < a.size(); ++r) {
      HostTensor joined = a[r];
      for (int64_t e = 0; e < joined.getNumElements(); ++e)
        joined.setDouble(e, joined.getDouble(e) + b[r].getDouble(e));
      if (auto difference = findDifference(joined, both[r], tolerance))
        return op->emitError("is not linear in operands [")
               << llvm::join(llvm::map_range(set, [](unsigned i) { return std::to_string(i); }), ", ") << "]: " << *difference;
    }
    ++numLinear;
  }
  return success();
}

LogicalResult OpChecker::checkDerivative() {
  bool anyFloat = llvm::any_of(
      operands, [](const HostTensor &t) { return t.getType().getElementType().isF64(); });
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!anyFloat || !differentiable)
    return success();
  Scratch scratch(op->getLoc());
  SmallVector<Value> inputs = buildOperands(scratch, operands);
  Operation *clone = op->cloneWithoutRegions();
  clone->setOperands(inputs);
  scratch.getBuilder().insert(clone);
  Tensors weights;
  SmallVector<Value> resultCotangents;
  bool anyResult = false;
  for (Value result : clone->getResults()) {
    bool isFloat = isa<FloatType>(typeOf(result).getElementType());
    anyResult |= isFloat;
    weights.push_back(isFloat ? randomLike(typeOf(result)) : HostTensor());
    resultCotangents.push_back(isFloat ? scratch.addInput(weights.back()) : Value());
  }
  auto scratchOp = mlir::cast<DifferentiableOpInterface>(clone);
  SmallVector<bool> wanted(inputs.size(), true), unwanted(inputs.size(), false);
  SmallVector<Value> cotangents, none;
  if (!anyResult)
    return success();
  if (failed(scratchOp.differentiate(scratch.getBuilder(), resultCotangents, unwanted,
                                     none)) ||
      none.size() != inputs.size() ||
      llvm::any_of(none, [](Value v) { return bool(v); }))
    return op->emitError("builds cotangents that nobody wants");
  if (failed(scratchOp.differentiate(scratch.getBuilder(), resultCotangents, wanted,
                                     cotangents)) ||
      cotangents.size() != inputs.size())
    return op->emitError("gives ") << cotangents.size() << " cotangents for "
                                   << inputs.size() << " operands";
  if (failed(scratch.run()))
    return failure();

  auto loss = [&](ArrayRef<HostTensor> at) -> std::optional<double> {
    Tensors results;
    if (failed(evaluate(at, results)))
      return std::nullopt;
    double total = 0;
    for (auto [result, weight] : llvm::zip(results, weights))
      for (int64_t i = 0; weight && i < weight.getNumElements(); ++i)
        total += result.getDouble(i) * weight.getDouble(i);
    return total;
  };
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (!operands[i].getType().getElementType().isF64()) {
      if (cotangents[i] && !operands[i].isFloat())
        return op->emitError("gives a cotangent to integer operand ") << i;
      continue;
    }
    // A constant's cotangent may be left out.
    bool isConstant = inputs[i].getDefiningOp() != nullptr;
    if (!cotangents[i] && isConstant)
      continue;
    if (cotangents[i] && cotangents[i].getType() != inputs[i].getType())
      return op->emitError("cotangent of operand ")
             << i << " has type " << cotangents[i].getType();
    HostTensor expected(operands[i].getType());
    for (int64_t e = 0; e < expected.getNumElements(); ++e) {
      const double step = 1e-5;
      Tensors low = operands, high = operands;
      low[i].setDouble(e, operands[i].getDouble(e) - step);
      high[i].setDouble(e, operands[i].getDouble(e) + step);
      auto below = loss(low), above = loss(high);
      if (!below || !above)
        return failure();
      expected.setDouble(e, (*above - *below) / (2 * step));
    }
    HostTensor actual =
        cotangents[i] ? scratch.get(cotangents[i]) : HostTensor(expected.getType());
    if (auto difference = findDifference(actual, expected, 1e-6))
      return op->emitError("derivative by operand ")
             << i << " is not the difference quotient: " << *difference;
    ++numDerivatives;
  }
  return success();
}

LogicalResult OpChecker::checkDecomposition() {
  if (!isa<DecomposableOpInterface>(op))
    return success();
  Scratch scratch(op->getLoc());
  SmallVector<Value> inputs = buildOperands(scratch, operands);
  Operation *clone = op->cloneWithoutRegions();
  clone->setOperands(inputs);
  scratch.getBuilder().insert(clone);
  SmallVector<Value> replacements;
  if (failed(mlir::cast<DecomposableOpInterface>(clone).decompose(
          scratch.getBuilder(), replacements)) ||
      replacements.size() != op->getNumResults())
    return op->emitError("does not decompose into ")
           << op->getNumResults() << " results";
  if (failed(scratch.run()))
    return failure();
  for (unsigned r = 0; r < replacements.size(); ++r)
    if (auto difference = findDifference(scratch.get(replacements[r]), whole[r]))
      return op->emitError("decomposition changes result ")
             << r << ": " << *difference;
  return success();
}

LogicalResult OpChecker::checkScalarCode() {
  auto elemental = dyn_cast<ElementalOpInterface>(op);
  if (!elemental)
    return success();
  auto results = interpretScalarCode(elemental, operands);
  if (failed(results))
    return failure();
  for (auto [r, result] : llvm::enumerate(*results))
    if (auto difference = findDifference(result, whole[r]))
      return op->emitError("scalar code of result ")
             << r << " differs from the evaluator: " << *difference;
  return success();
}

struct TestOpRules : PassWrapper<TestOpRules, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestOpRules)
  StringRef getArgument() const override { return "test-op-rules"; }
  StringRef getDescription() const override {
    return "checks that an op's derivative, sharding rule, decomposition and "
           "evaluator agree";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<graph::GraphDialect>();
    registerScalarDialects(registry);
  }
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      if (failed(checkFunction(function)))
        signalPassFailure();
    });
  }

  HostTensor makeArgument(func::FuncOp function, BlockArgument argument,
                          std::mt19937_64 &random) {
    HostTensor tensor(typeOf(argument));
    double low = tensor.isFloat() ? -2 : 0, high = tensor.isFloat() ? 2 : 3;
    auto range = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                      "test.range");
    if (!range && !argument.use_empty())
      range = argument.user_begin()->getAttrOfType<ArrayAttr>("test.range");
    auto number = [](Attribute attribute) {
      if (auto integer = dyn_cast<IntegerAttr>(attribute))
        return double(integer.getInt());
      return mlir::cast<FloatAttr>(attribute).getValueAsDouble();
    };
    if (range && range.size() == 2)
      low = number(range[0]), high = number(range[1]);
    else if (typeOf(argument).getElementType().isInteger(1))
      high = 1;
    for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
      if (tensor.isFloat())
        tensor.setDouble(i, std::uniform_real_distribution<>(low, high)(random));
      else
        tensor.setInt(i, std::uniform_int_distribution<int64_t>(low, high)(random));
    }
    return tensor;
  }

  LogicalResult checkFunction(func::FuncOp function) {
    std::mt19937_64 random(7);
    llvm::DenseMap<Value, HostTensor> values;
    for (BlockArgument argument : function.getArguments())
      values[argument] = makeArgument(function, argument, random);
    bool failedAny = false;
    for (Operation &op : function.getBody().front()) {
      if (!isa<ReferenceOpInterface>(op))
        continue;
      Tensors operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.lookup(operand));
      OpChecker checker(&op, operands, random);
      if (isa<graph::ConstantOp>(op) && function.getNumArguments() != 0)
        op.setAttr("test.skip", UnitAttr::get(&getContext()));
      failedAny |= failed(checker.run());
      if (checker.getResults().size() != op.getNumResults())
        return failure();
      for (auto [result, tensor] : llvm::zip(op.getResults(), checker.getResults()))
        values[result] = tensor;
    }
    return failure(failedAny);
  }
};

} // namespace

namespace mlir::dist {
void registerTestOpRules();
void registerTestOpRules() { PassRegistration<TestOpRules>(); }
} // namespace mlir::dist
