//===- PadIndivisible.cpp - Dims as large as their shards need -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A global program becomes another global program, whose split dims divide: the
// partitioner and all collectives see nothing else. The elements of
// the padding may be anything until an op sums over the dim or takes them as
// indices; there they are replaced (by a select: NaN times zero is NaN).
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/GraphReduction.h"
#include "dialects/Interfaces/Signature.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Partition/BatchPortions.h"
#include "passes/Partition/FactorSharding.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PADINDIVISIBLEPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using graph::GraphBuilder;

namespace {
using Dims = SmallVector<unsigned>;

/// Rewrites one function.
class Padder {
public:
  Padder(func::FuncOp function, MeshOp mesh)
      : function(function), mesh(mesh),
        meshName(FlatSymbolRefAttr::get(mesh.getSymNameAttr())),
        block(function.front()), portions(function, mesh) {}
  LogicalResult run();

private:
  bool isNeeded();
  LogicalResult padRule(ShardingRuleOpInterface op);
  void padReshard(ReshardOp op);
  void padAllReduce(AllReduceOp op);
  void padResults();
  void setSignature();
  void findZeros(Operation *op, const ShardingRule &rule);

  /// The type that the new program has for `old`.
  RankedTensorType getPadded(Value old) const;
  /// The dims of `old` that are larger in the new program.
  Dims getPaddedDims(Value old) const;
  /// The new value of `old`, with what a reduction of `kind` leaves out behind
  /// the end of `dims`.
  Value mask(OpBuilder &builder, Location loc, Value old,
             ArrayRef<unsigned> dims, Reduction kind);
  /// 0, 1, 2, ... on each rank the indices of its part of a dim.
  Value getIndices(int64_t size, int64_t paddedSize, ArrayRef<StringAttr> axes);
  /// `value`, as large as `from` needs, as `to` wants it.
  Value move(ReshardOp op, Value value, ShardingAttr from, ShardingAttr to);

  func::FuncOp function;
  MeshOp mesh;
  FlatSymbolRefAttr meshName;
  Block &block;
  BatchPortions portions;
  /// From values of the old program to those of the new one.
  IRMapping padded;
  /// The dims of old values behind whose end zeros are known to stand.
  DenseMap<Value, Dims> zeros;
  /// What masks other than zeros have made of old values.
  DenseMap<Value, SmallVector<std::tuple<Dims, Reduction, Value>>> masked;
  DenseMap<std::pair<int64_t, Attribute>, Value> indices;
};

struct PadIndivisiblePass
    : mlir::dist::impl::PadIndivisiblePassBase<PadIndivisiblePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

static bool contains(ArrayRef<unsigned> all, ArrayRef<unsigned> some) {
  return llvm::all_of(
      some, [&](unsigned dim) { return llvm::is_contained(all, dim); });
}

static Value annotate(Value value, ShardingAttr sharding) {
  setSharding(value, sharding);
  return value;
}

static void copyOrigin(Operation *from, Operation *to) {
  if (Attribute number = from->getAttr(DistDialect::kOrigin))
    to->setAttr(DistDialect::kOrigin, number);
}

/// A splat of the number that a reduction leaves out.
static Value emitNeutral(GraphBuilder &g, RankedTensorType type,
                         Reduction kind) {
  HostTensor one(type.clone(ArrayRef<int64_t>{}));
  TypedAttr identity = graph::getIdentity(kind, type.getElementType());
  if (auto number = dyn_cast<FloatAttr>(identity))
    one.setDouble(0, number.getValueAsDouble());
  else
    one.setInt(0, cast<IntegerAttr>(identity).getValue().getSExtValue());
  return g.make<graph::ConstantOp>(DenseElementsAttr::get(
      type, one.toAttribute().getValues<Attribute>()[0]));
}

RankedTensorType Padder::getPadded(Value old) const {
  auto type = cast<RankedTensorType>(old.getType());
  ShardingAttr sharding = findSharding(old);
  return sharding ? portions.getPaddedType(type, sharding, old) : type;
}

Dims Padder::getPaddedDims(Value old) const {
  Dims dims;
  RankedTensorType type = getPadded(old);
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) !=
        cast<RankedTensorType>(old.getType()).getDimSize(dim))
      dims.push_back(dim);
  return dims;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value Padder::getIndices(int64_t size, int64_t paddedSize,
                         ArrayRef<StringAttr> axes) {
  auto sharding = ShardingAttr::get(meshName, {AxisList(axes)});
  Value &made = indices[{paddedSize, sharding}];
  if (made)
    return made;
  auto builder = OpBuilder::atBlockBegin(&block);
  GraphBuilder g(builder, function.getLoc());
  auto type = RankedTensorType::get({paddedSize}, builder.getI32Type());
  Value whole = annotate(g.iota(type, 0), ShardingAttr::getWhole(meshName, 1));
  auto reshard = g.create<ReshardOp>(
      whole, sharding,
      builder.getStringAttr("tells the padding of a dim of " + Twine(size) +
                            " elements"),
      builder.getStringAttr(function.getSymName()));
  return made = annotate(reshard.getResult(), sharding);
}

Value Padder::mask(OpBuilder &builder, Location loc, Value old,
                   ArrayRef<unsigned> dims, Reduction kind) {
  Value value = padded.lookup(old);
  bool isZero = kind == Reduction::Sum;
  if (dims.empty() || (isZero && contains(zeros.lookup(old), dims)))
    return value;
  for (auto &[maskedDims, maskedKind, made] : masked[old])
    if (maskedKind == kind && contains(maskedDims, dims))
      return made;
  ShardingAttr sharding = findSharding(old);
  ShardingAttr layout = sharding.withUnreduced({});
  auto type = cast<RankedTensorType>(value.getType());
  GraphBuilder g(builder, loc);
  Value inside;
  for (unsigned dim : dims) {
    int64_t size = cast<RankedTensorType>(old.getType()).getDimSize(dim);
    Value index = annotate(
        g.broadcast(getIndices(size, type.getDimSize(dim), layout.getAxes(dim)),
                    type.getShape(), {int64_t(dim)}),
        layout);
    Value end = annotate(g.like(index, size), layout);
    Value isBefore =
        annotate(g.compare(graph::ComparePredicate::LT, index, end), layout);
    inside = inside ? annotate(g.make<graph::AndOp>(inside, isBefore), layout)
                    : isBefore;
  }
  Value neutral = annotate(emitNeutral(g, type, kind), layout);
  Value result = annotate(g.select(inside, value, neutral), sharding);
  if (!isZero) {
    masked[old].push_back({Dims(dims), kind, result});
    return result;
  }
  // As good as the value itself from here on.
  for (unsigned dim : dims)
    zeros[old].push_back(dim);
  padded.map(old, result);
  return result;
}

/// Zeros pass through what is linear in all of its operands at once.
void Padder::findZeros(Operation *op, const ShardingRule &rule) {
  for (OpResult result : op->getResults()) {
    if (graph::isZero(result)) {
      zeros[result] = getPaddedDims(result);
      continue;
    }
    bool isLinear = op->getNumOperands() > 0 &&
                    llvm::any_of(rule.linear, [&](const auto &set) {
                      return set.size() == op->getNumOperands();
                    });
    if (!isLinear)
      continue;
    for (unsigned dim : getPaddedDims(result)) {
      const DimFactors &factors = rule.results[result.getResultNumber()][dim];
      auto isZero = [&](Value operand, const TensorFactors &tensor) {
        for (unsigned own = 0; own < tensor.size(); ++own)
          if (tensor[own] == factors)
            return llvm::is_contained(zeros.lookup(operand), own);
        return false;
      };
      if (llvm::all_of_zip(op->getOperands(), rule.operands, isZero))
        zeros[result].push_back(dim);
    }
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult Padder::padRule(ShardingRuleOpInterface op) {
  ShardingRule rule = op.getShardingRule();
  AxisLists axes = getFactorAxes(op, rule, mesh);
  auto isPadded = [&](const DimFactors &dim) {
    return dim.size() == 1 &&
           rule.factors[dim[0]].size % mesh.getGroupSize(axes[dim[0]]) != 0;
  };
  // Integers that are no elements like the others are indices along some dim.
  bool readsPlaces =
      op->getNumOperands() > 1 &&
      !llvm::all_of(rule.operands, [&](const TensorFactors &tensor) {
        return !rule.results.empty() && tensor == rule.results[0];
      });
  OpBuilder builder(op);
  SmallVector<Value> operands;
  for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
    Value operand = op->getOperand(i);
    if (!rule.reads(i)) {
      operands.push_back(operand);
      continue;
    }
    Dims dims;
    auto kind = Reduction::Sum;
    bool isPlace = readsPlaces &&
                   !cast<RankedTensorType>(operand.getType())
                        .getElementType()
                        .isInteger(1) &&
                   isa<IntegerType>(getElementTypeOrSelf(operand.getType()));
    for (unsigned dim : getPaddedDims(operand)) {
      // Also where dist-insert-reshards has not run: then they may differ.
      if (!isPadded(tensor[dim]))
        return op->emitOpError() << "has operands and results that are split "
                                    "differently; run dist-insert-reshards "
                                    "first";
      const Factor &factor = rule.factors[tensor[dim][0]];
      if (factor.kind == FactorKind::Reduction)
        kind = static_cast<Reduction>(factor.reduction);
      if (isPlace || factor.kind == FactorKind::Reduction)
        dims.push_back(dim);
    }
    operands.push_back(mask(builder, op->getLoc(), operand, dims, kind));
  }
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(getPadded(result));
  // What an op's attributes say of whole dims follows the operands' types.
  SmallVector<int64_t> shards(rule.factors.size(), 1);
  auto made = op.partition(builder, operands, types, shards);
  if (failed(made))
    return failure();
  (*made)->setLoc(op->getLoc());
  copyOrigin(op, *made);
  (*made)->setAttr(DistDialect::kShardings,
                   op->getAttr(DistDialect::kShardings));
  padded.map(op->getResults(), (*made)->getResults());
  findZeros(op, rule);
  return success();
}

Value Padder::move(ReshardOp op, Value value, ShardingAttr from,
                   ShardingAttr to) {
  auto old = cast<RankedTensorType>(op.getType());
  Value ends[] = {op.getOperand(), op.getResult()};
  RankedTensorType before = portions.getPaddedType(old, from, ends);
  RankedTensorType after = portions.getPaddedType(old, to, ends);
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  // Before the parts are made: as large as they need; after they are put
  // together: as large as it was.
  SmallVector<int64_t> none(old.getRank(), 0), more(none), limits, strides;
  for (unsigned dim = 0; dim < old.getRank(); ++dim) {
    more[dim] =
        std::max<int64_t>(after.getDimSize(dim) - before.getDimSize(dim), 0);
    limits.push_back(after.getDimSize(dim));
    strides.push_back(1);
  }
  if (more != none) {
    Value zero = annotate(g.zeros(old.clone(ArrayRef<int64_t>{})),
                          ShardingAttr::get(meshName, ArrayRef<AxisList>{}));
    value = annotate(g.make<graph::PadOp>(value, zero, none, more, none), from);
  }
  auto moved =
      g.create<ReshardOp>(value, to, op.getReasonAttr(), op.getOriginAttr());
  copyOrigin(op, copyCauses(op, moved));
  value = annotate(moved.getResult(), to);
  if (value.getType() != after) {
    value = annotate(g.make<graph::SliceOp>(value, none, limits, strides), to);
    copyOrigin(op, value.getDefiningOp());
  }
  return value;
}

void Padder::padReshard(ReshardOp op) {
  Value operand = op.getOperand(), value = padded.lookup(operand);
  ShardingAttr from = findSharding(operand), to = op.getTarget();
  RankedTensorType before = getPadded(operand),
                   after = getPadded(op.getResult());
  // Parts of another size are made of the whole.
  ShardingAttr middle = from;
  for (unsigned dim = 0; dim < from.getNumDims(); ++dim)
    if (before.getDimSize(dim) != after.getDimSize(dim) &&
        getNumShards(from, dim, mesh) > 1 && getNumShards(to, dim, mesh) > 1)
      middle = middle.withDim(dim, {});
  if (middle != from)
    value = move(op, value, from, middle);
  padded.map(op.getResult(), move(op, value, middle, to));
  for (unsigned dim : getPaddedDims(op.getResult()))
    if (getNumShards(middle, dim, mesh) == 1 ||
        llvm::is_contained(zeros.lookup(operand), dim))
      zeros[op.getResult()].push_back(dim);
}

void Padder::padAllReduce(AllReduceOp op) {
  OpBuilder builder(op);
  Operation *made = builder.clone(*op, padded);
  for (auto [operand, result] :
       llvm::zip(op->getOperands(), op->getResults())) {
    made->getResult(result.getResultNumber()).setType(getPadded(result));
    if (op.getReduction() == Reduction::Sum)
      zeros[result] = zeros.lookup(operand);
  }
}

/// A variable is kept with zeros, so that weights need no mask where they are
/// contracted: here the select is part of the update.
void Padder::padResults() {
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  for (OpOperand &use : terminator->getOpOperands()) {
    Dims dims;
    if (function.getResultAttr(use.getOperandNumber(), kVariableAttr))
      dims = getPaddedDims(use.get());
    Location loc = use.get().getLoc();
    use.set(mask(builder, loc, use.get(), dims, Reduction::Sum));
  }
}

void Padder::setSignature() {
  Signature signature(function);
  auto set = [](Signature::Ports &ports, unsigned number, Type padded) {
    if (padded != ports.types[number])
      ports.attributes[number].set(DistDialect::kGlobalType,
                                   TypeAttr::get(ports.types[number]));
    ports.types[number] = padded;
  };
  for (BlockArgument argument : block.getArguments()) {
    Type type = getPadded(argument);
    set(signature.arguments, argument.getArgNumber(), type);
    argument.setType(type);
  }
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    set(signature.results, use.getOperandNumber(), use.get().getType());
  signature.apply();
}

bool Padder::isNeeded() {
  auto isPadded = [&](Value value) {
    return isa<RankedTensorType>(value.getType()) &&
           getPadded(value) != value.getType();
  };
  return llvm::any_of(block.getArguments(), isPadded) ||
         llvm::any_of(block, [&](Operation &op) {
           return llvm::any_of(op.getResults(), isPadded);
         });
}

LogicalResult Padder::run() {
  if (failed(portions.run()))
    return failure();
  if (!isNeeded())
    return success();
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  // Rules are asked of the old ops, which want arguments of their types.
  unsigned count = block.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = block.getArgument(i);
    padded.map(argument,
               block.addArgument(getPadded(argument), argument.getLoc()));
    if (function.getArgAttr(i, kVariableAttr))
      zeros[argument] = getPaddedDims(argument);
  }
  for (Operation *op : ops) {
    if (auto sharded = dyn_cast<ShardingRuleOpInterface>(op)) {
      if (failed(padRule(sharded)))
        return failure();
    } else if (auto reshard = dyn_cast<ReshardOp>(op)) {
      padReshard(reshard);
    } else if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      padAllReduce(reduce);
    } else {
      return op->emitOpError() << "cannot be partitioned: it has no sharding "
                                  "rule; compile it for one device";
    }
  }
  padResults();
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  for (unsigned i = 0; i < count; ++i)
    block.getArgument(count + i).replaceAllUsesWith(block.getArgument(i));
  block.eraseArguments(count, count);
  setSignature();
  return success();
}

void PadIndivisiblePass::runOnOperation() {
  MeshOp mesh = findMesh(getOperation());
  if (!mesh || getOperation().isExternal())
    return;
  if (failed(Padder(getOperation(), mesh).run()))
    signalPassFailure();
}
