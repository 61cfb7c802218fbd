//===- UnrollMicrobatches.cpp - A mesh axis unrolled in time -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank along the axis becomes a copy of the ops whose values differ along it;
// collectives over it become ops over the copies. All copies of what needs no
// other stand together, copy after copy, and what meets there is added up at
// once, so that one copy's values are alive at a time.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Interfaces/Signature.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_UNROLLMICROBATCHESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using graph::GraphBuilder;

namespace {
/// The group axes of a collective, around the one that is unrolled.
struct SplitAxes {
  SmallVector<StringAttr> outer, inner;
  SmallVector<StringAttr> getOthers() const {
    return llvm::to_vector(llvm::concat<const StringAttr>(outer, inner));
  }
};

/// Unrolls one function.
class Unroller {
public:
  Unroller(func::FuncOp function, MeshOp whole, StringAttr axis)
      : function(function), whole(whole), axis(axis),
        count(whole.getAxisSize(axis)), builder(function.getContext()) {}
  LogicalResult run();

private:
  bool isOver(Operation *op) const;
  void computeLevels();
  LogicalResult unrollArguments();
  LogicalResult unrollResults();
  LogicalResult check(Operation *op);
  FailureOr<int64_t> findSplitDim(ShardingAttr sharding, const Twine &what);
  Attribute retarget(Attribute sharding) const;
  Operation *clone(Operation *op, std::optional<int64_t> copy);
  void copyAttributes(Operation *from, Operation *to,
                      std::optional<int64_t> copy);
  SplitAxes splitAxes(Operation *op) const;
  ArrayAttr getNames(ArrayRef<StringAttr> axes) {
    return builder.getArrayAttr(
        SmallVector<Attribute>(axes.begin(), axes.end()));
  }
  Value cut(Value value, int64_t dim, int64_t part);
  template <typename OpTy, typename... Args>
  Value apply(Operation *op, Value value, ArrayRef<StringAttr> axes, Type type,
              Args... args) {
    return copyCauses(op, OpTy::create(builder, op->getLoc(), TypeRange{type},
                                       ValueRange{value}, args..., getMesh(op),
                                       getNames(axes), getText(op, "reason"),
                                       getText(op, "origin")))
        .getResult(0);
  }
  static StringRef getMesh(Operation *op) {
    return cast<CollectiveOpInterface>(op).getCollectiveMesh().getValue();
  }
  static StringRef getText(Operation *op, StringRef name) {
    return op->getAttrOfType<StringAttr>(name).getValue();
  }
  Type scale(Value value, int64_t dim, int64_t multiply, int64_t divide) const {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = shape[dim] * multiply / divide;
    return RankedTensorType::get(shape, type.getElementType());
  }
  Value combine(Operation *op, Value a, Value b, Reduction reduction);

  Value get(Value value, int64_t copy) {
    const SmallVector<Value> &copies = values.find(value)->second;
    return copies.size() == 1 ? copies.front() : copies[copy];
  }
  bool varies(Value value) const {
    return values.find(value)->second.size() > 1;
  }
  void accumulate(Operation *op, int64_t copy);
  LogicalResult finish(Operation *op);
  LogicalResult divide(Operation *op);

  func::FuncOp function;
  MeshOp whole;
  StringAttr axis;
  int64_t count;
  OpBuilder builder;
  /// The copies of a value; one if they are all the same.
  DenseMap<Value, SmallVector<Value>> values;
  /// How many collectives over the axis stand before a value or op.
  DenseMap<Operation *, int64_t> levels;
  /// The slices of arguments.
  SmallVector<Operation *> cuts;
  /// What `kShardings` of an op becomes, by what it was.
  DenseMap<Attribute, Attribute> shardings;
  /// Sums so far, one an operand.
  DenseMap<Operation *, SmallVector<Value>> partial;
};

struct UnrollMicrobatchesPass
    : mlir::dist::impl::UnrollMicrobatchesPassBase<UnrollMicrobatchesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static ShardingAttr dropAxis(ShardingAttr sharding, StringAttr axis) {
  SmallVector<SmallVector<StringAttr>> dims;
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim) {
    dims.emplace_back(sharding.getAxes(dim));
    llvm::erase(dims.back(), axis);
  }
  SmallVector<StringAttr> unreduced(sharding.getUnreduced());
  llvm::erase(unreduced, axis);
  return ShardingAttr::get(sharding.getMesh(), dims, unreduced);
}

/// A sharding that names the axis stays one over the whole mesh.
Attribute Unroller::retarget(Attribute attribute) const {
  auto sharding = cast<ShardingAttr>(attribute);
  if (!sharding.splitsOver(axis) && !sharding.isUnreducedOver(axis))
    return attribute;
  return ShardingAttr::get(
      sharding.getContext(),
      FlatSymbolRefAttr::get(sharding.getContext(), kMicrobatchMesh),
      sharding.getDims(), sharding.getUnreduced(), sharding.getReplicated());
}

/// The dim that the axis splits, or -1. As its minor axis, so that a rank's
/// copies are consecutive parts of what it holds.
FailureOr<int64_t> Unroller::findSplitDim(ShardingAttr sharding,
                                          const Twine &what) {
  if (!sharding)
    return function.emitOpError()
           << what << " has no sharding; run dist-partition first";
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim) {
    ArrayRef<StringAttr> axes = sharding.getAxes(dim);
    if (!llvm::is_contained(axes, axis))
      continue;
    if (axes.back() != axis)
      return function.emitOpError()
             << what << ": expected '" << axis.getValue()
             << "' to be the minor axis of dim " << dim << ", but got "
             << sharding << "; list it last in the mesh";
    return dim;
  }
  return -1;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool Unroller::isOver(Operation *op) const {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && llvm::is_contained(collective.getGroupAxes(), axis);
}

/// A collective of which each copy takes its part needs no other copy.
static bool isLocalOver(Operation *op) { return isa<AllSliceOp>(op); }

void Unroller::computeLevels() {
  for (Operation &op : function.front()) {
    int64_t level = 0;
    for (Value operand : op.getOperands())
      if (Operation *definition = operand.getDefiningOp())
        level = std::max(level,
                         levels.lookup(definition) +
                             (isOver(definition) && !isLocalOver(definition)));
    levels[&op] = level;
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void Unroller::copyAttributes(Operation *from, Operation *to,
                              std::optional<int64_t> copy) {
  // All at once: each change of an op's attributes makes a dictionary.
  NamedAttrList attributes(to->getDiscardableAttrDictionary());
  if (Attribute number = from->getAttr(DistDialect::kOrigin))
    attributes.set(DistDialect::kOrigin, number);
  auto list = from->getAttrOfType<ArrayAttr>(DistDialect::kShardings);
  if (list && list.size() == to->getNumResults()) {
    Attribute &retargeted = shardings[list];
    if (!retargeted)
      retargeted = builder.getArrayAttr(llvm::map_to_vector(
          list, [&](Attribute sharding) { return retarget(sharding); }));
    attributes.set(DistDialect::kShardings, retargeted);
  }
  if (copy)
    attributes.set(kMicrobatchAttr, builder.getI64IntegerAttr(*copy));
  to->setDiscardableAttrs(attributes.getDictionary(builder.getContext()));
}

Operation *Unroller::clone(Operation *op, std::optional<int64_t> copy) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(operand, copy.value_or(0)));
  Operation *made = builder.clone(*op, mapping);
  copyAttributes(op, made, copy);
  for (auto [from, to] : llvm::zip(op->getResults(), made->getResults()))
    values[from].push_back(to);
  return made;
}

/// Part `part` of `count` equal ones along `dim`.
Value Unroller::cut(Value value, int64_t dim, int64_t part) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  int64_t size = limits[dim] / count;
  starts[dim] = part * size;
  limits[dim] = starts[dim] + size;
  Value result = graph::SliceOp::create(builder, value.getLoc(),
                                        scale(value, dim, 1, count), value,
                                        builder.getDenseI64ArrayAttr(starts),
                                        builder.getDenseI64ArrayAttr(limits),
                                        builder.getDenseI64ArrayAttr(strides));
  result.getDefiningOp()->setAttr(kMicrobatchAttr,
                                  builder.getI64IntegerAttr(part));
  return result;
}

LogicalResult Unroller::unrollArguments() {
  Signature signature(function);
  builder.setInsertionPointToStart(&function.front());
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto sharding =
        function.getArgAttrOfType<ShardingAttr>(number, DistDialect::kSharding);
    auto dim = findSplitDim(sharding, "argument " + Twine(number));
    if (failed(dim))
      return failure();
    SmallVector<Value> &copies = values[argument];
    if (*dim >= 0) {
      argument.setType(cast<RankedTensorType>(scale(argument, *dim, count, 1)));
      for (int64_t copy = 0; copy < count; ++copy) {
        copies.push_back(cut(argument, *dim, copy));
        cuts.push_back(copies.back().getDefiningOp());
      }
    } else if (sharding.isUnreducedOver(axis)) {
      // A sum over the copies: the first has all of it.
      GraphBuilder g(builder, argument.getLoc());
      copies.push_back(argument);
      for (int64_t copy = 1; copy < count; ++copy)
        copies.push_back(g.zeros(argument.getType()));
    } else {
      copies.push_back(argument);
    }
    signature.arguments.attributes[number].set(DistDialect::kSharding,
                                               dropAxis(sharding, axis));
    signature.arguments.types[number] = argument.getType();
  }
  signature.apply();
  return success();
}

LogicalResult Unroller::unrollResults() {
  Operation *terminator = function.front().getTerminator();
  builder.setInsertionPoint(terminator);
  Signature signature(function);
  for (OpOperand &use : terminator->getOpOperands()) {
    unsigned number = use.getOperandNumber();
    auto sharding = function.getResultAttrOfType<ShardingAttr>(
        number, DistDialect::kSharding);
    auto dim = findSplitDim(sharding, "result " + Twine(number));
    if (failed(dim))
      return failure();
    Value value = get(use.get(), 0);
    if (*dim >= 0) {
      SmallVector<Value> copies;
      for (int64_t copy = 0; copy < count; ++copy)
        copies.push_back(get(use.get(), copy));
      value = graph::ConcatOp::create(
          builder, value.getLoc(), scale(value, *dim, count, 1), copies, *dim);
    } else if (sharding.isUnreducedOver(axis)) {
      GraphBuilder g(builder, value.getLoc());
      for (int64_t copy = 1; copy < count; ++copy)
        value = g.add(value, get(use.get(), copy));
    }
    use.set(value);
    signature.results.types[number] = value.getType();
    signature.results.attributes[number].set(DistDialect::kSharding,
                                             dropAxis(sharding, axis));
  }
  signature.apply();
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives over the axis
//===----------------------------------------------------------------------===//

SplitAxes Unroller::splitAxes(Operation *op) const {
  SplitAxes split;
  bool behind = false;
  for (StringAttr name : cast<CollectiveOpInterface>(op).getGroupAxes()) {
    if (name == axis)
      behind = true;
    else
      (behind ? split.inner : split.outer).push_back(name);
  }
  return split;
}

LogicalResult Unroller::check(Operation *op) {
  if (!isOver(op) ||
      isa<AllReduceOp, AllGatherOp, AllSliceOp, ReduceScatterOp, BroadcastOp>(
          op))
    return success();
  if (isa<PermuteOp, AllToAllOp>(op) && splitAxes(op).getOthers().empty())
    return success();
  return op->emitOpError() << "cannot be unrolled over '" << axis.getValue()
                           << "'; split the batch, and nothing else, over it";
}

Value Unroller::combine(Operation *op, Value a, Value b, Reduction reduction) {
  GraphBuilder g(builder, op->getLoc());
  switch (reduction) {
  case Reduction::Sum:
    return g.add(a, b);
  case Reduction::Max:
    return g.max(a, b);
  case Reduction::Min:
    return g.min(a, b);
  case Reduction::Product:
    return g.mul(a, b);
  }
  llvm_unreachable("all kinds are listed");
}

/// Adds one copy's operands to those before, in the order of the copies.
void Unroller::accumulate(Operation *op, int64_t copy) {
  auto reduction = op->getAttrOfType<ReductionAttr>("reduction").getValue();
  SmallVector<Value> &sums = partial[op];
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Value value = get(operand, copy);
    if (copy == 0)
      sums.push_back(value);
    else
      sums[i] = combine(op, sums[i], value, reduction);
  }
}

/// All copies' operands are there.
LogicalResult Unroller::finish(Operation *op) {
  SplitAxes axes = splitAxes(op);
  SmallVector<StringAttr> others = axes.getOthers();
  for (auto [i, operand, result] :
       llvm::enumerate(op->getOperands(), op->getResults())) {
    SmallVector<Value> &made = values[result];
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      made.push_back(partial[op][i]);
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
      int64_t dim = scatter.getDims()[i];
      auto scatterOver = [&](Value value, ArrayRef<StringAttr> names) {
        if (names.empty())
          return value;
        Type type = scale(value, dim, 1, whole.getGroupSize(names));
        return apply<ReduceScatterOp>(op, value, names, type,
                                      ArrayRef<int64_t>{dim},
                                      scatter.getReduction());
      };
      Value sum = scatterOver(partial[op][i], axes.outer);
      for (int64_t copy = 0; copy < count; ++copy)
        made.push_back(scatterOver(cut(sum, dim, copy), axes.inner));
    } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
      int64_t dim = gather.getDims()[i];
      auto gatherOver = [&](Value value, ArrayRef<StringAttr> names) {
        if (names.empty())
          return value;
        Type type = scale(value, dim, whole.getGroupSize(names), 1);
        return apply<AllGatherOp>(op, value, names, type,
                                  ArrayRef<int64_t>{dim});
      };
      SmallVector<Value> parts;
      for (int64_t copy = 0; copy < count; ++copy)
        parts.push_back(gatherOver(get(operand, copy), axes.inner));
      Value joined = graph::ConcatOp::create(
          builder, op->getLoc(), scale(parts[0], dim, count, 1), parts, dim);
      made.push_back(gatherOver(joined, axes.outer));
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      int64_t inner = whole.getGroupSize(axes.inner);
      int64_t place = broadcast.getRoot();
      Value value = get(operand, place / inner % count);
      if (!others.empty())
        value = apply<BroadcastOp>(
            op, value, others, value.getType(),
            uint64_t(place / inner / count * inner + place % inner));
      made.push_back(value);
    } else if (auto permute = dyn_cast<PermuteOp>(op)) {
      GraphBuilder g(builder, op->getLoc());
      for (int64_t source : permute.getSources())
        made.push_back(source < 0 ? g.zeros(operand.getType())
                                  : get(operand, source));
    } else {
      auto exchange = cast<AllToAllOp>(op);
      int64_t split = exchange.getSplitDims()[i],
              concat = exchange.getConcatDims()[i];
      for (int64_t copy = 0; copy < count; ++copy) {
        SmallVector<Value> parts;
        for (int64_t from = 0; from < count; ++from)
          parts.push_back(cut(get(operand, from), split, copy));
        made.push_back(graph::ConcatOp::create(
            builder, op->getLoc(), scale(parts[0], concat, count, 1), parts,
            concat));
      }
    }
  }
  return divide(op);
}

/// What ranks still do with the copies' sum; and names that the check knows.
LogicalResult Unroller::divide(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    SmallVector<StringAttr> others = splitAxes(op).getOthers();
    if (!others.empty()) {
      SmallVector<Value> sums;
      for (Value result : op->getResults())
        sums.push_back(get(result, 0));
      auto all = AllReduceOp::create(
          builder, op->getLoc(), op->getResultTypes(), sums,
          reduce.getReduction(), getMesh(op), getNames(others),
          reduce.getReason(), reduce.getOrigin());
      copyAttributes(op, copyCauses(op, all), std::nullopt);
      for (auto [result, value] : llvm::zip(op->getResults(), all.getResults()))
        values[result] = {value};
      return success();
    }
  }
  // One op a result: the number of what it completes names it.
  auto shardings = op->getAttrOfType<ArrayAttr>(DistDialect::kShardings);
  for (auto [i, operand, result] :
       llvm::enumerate(op->getOperands(), op->getResults())) {
    Operation *source = operand.getDefiningOp();
    while (source && isa<CollectiveOpInterface>(source) &&
           source->getNumOperands() == 1)
      source = source->getOperand(0).getDefiningOp();
    Attribute number = source ? source->getAttr(DistDialect::kOrigin) : nullptr;
    SmallVector<Value> &made = values[result];
    for (auto [copy, value] : llvm::enumerate(made)) {
      Operation *last = value.getDefiningOp();
      if (!last || last->getNumResults() != 1 ||
          isa<CollectiveOpInterface>(last))
        continue;
      if (made.size() > 1)
        last->setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(copy));
      if (!number || !shardings || source->getNumResults() != 1 ||
          last->hasAttr(DistDialect::kOrigin))
        continue;
      last->setAttr(DistDialect::kOrigin, number);
      last->setAttr(DistDialect::kShardings,
                    builder.getArrayAttr({retarget(shardings[i])}));
    }
  }
  return success();
}

LogicalResult Unroller::run() {
  Block &block = function.front();
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator()) {
    if (failed(check(&op)))
      return failure();
    ops.push_back(&op);
  }
  computeLevels();
  if (failed(unrollArguments()))
    return failure();
  builder.setInsertionPoint(block.getTerminator());

  int64_t last = 0;
  for (Operation *op : ops)
    last = std::max(last, levels[op]);
  for (int64_t level = 0; level <= last; ++level) {
    SmallVector<Operation *> now, copied;
    llvm::copy_if(ops, std::back_inserter(now),
                  [&](Operation *op) { return levels[op] == level; });
    // Whether an op varies is known once its operands are: in program order.
    DenseSet<Value> varying;
    auto variesNow = [&](Value value) {
      auto found = values.find(value);
      return found == values.end() ? varying.contains(value)
                                   : found->second.size() > 1;
    };
    for (Operation *op : now) {
      bool over = isOver(op);
      if (!over && llvm::none_of(op->getOperands(), variesNow)) {
        clone(op, std::nullopt);
        continue;
      }
      copied.push_back(op);
      if (!over || isLocalOver(op))
        varying.insert(op->result_begin(), op->result_end());
    }
    for (int64_t copy = 0; copy < count; ++copy) {
      for (Operation *op : copied) {
        if (!isOver(op)) {
          clone(op, copy);
        } else if (auto slice = dyn_cast<AllSliceOp>(op)) {
          SplitAxes axes = splitAxes(op);
          for (auto [operand, result, dim] : llvm::zip(
                   op->getOperands(), op->getResults(), slice.getDims())) {
            auto sliceOver = [&, dim = dim](Value value,
                                            ArrayRef<StringAttr> names) {
              if (names.empty())
                return value;
              Type type = scale(value, dim, 1, whole.getGroupSize(names));
              return apply<AllSliceOp>(op, value, names, type,
                                       ArrayRef<int64_t>{dim});
            };
            Value part = sliceOver(get(operand, copy), axes.outer);
            part = sliceOver(cut(part, dim, copy), axes.inner);
            part.getDefiningOp()->setAttr(kMicrobatchAttr,
                                          builder.getI64IntegerAttr(copy));
            values[result].push_back(part);
          }
        } else if (isa<AllReduceOp, ReduceScatterOp>(op)) {
          accumulate(op, copy);
        }
      }
    }
    for (Operation *op : copied)
      if (isOver(op) && !isLocalOver(op) && failed(finish(op)))
        return failure();
  }
  if (failed(unrollResults()))
    return failure();
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  // Slices of arguments and zeros that no copy needed; the others stand where
  // the first user does.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op)) {
      llvm::erase(cuts, &op);
      op.erase();
    }
  // All places first: a move makes the next question number the block anew.
  SmallVector<Operation *> places;
  for (Operation *op : cuts)
    places.push_back(
        *llvm::min_element(op->getUsers(), [](Operation *a, Operation *b) {
          return a->isBeforeInBlock(b);
        }));
  for (auto [op, place] : llvm::zip_equal(cuts, places))
    op->moveBefore(place);
  return success();
}

void UnrollMicrobatchesPass::runOnOperation() {
  ModuleOp module = getOperation();
  MeshOp mesh = findMesh(module);
  if (!mesh || mesh.getAxisSize(axis) == 0)
    return markAllAnalysesPreserved();
  SmallVector<Attribute> names(mesh.getAxisNames().begin(),
                               mesh.getAxisNames().end());
  SmallVector<int64_t> sizes(mesh.getAxisSizes());
  auto name = StringAttr::get(&getContext(), axis);
  if (names.back() != name) {
    mesh.emitOpError() << "expected '" << axis.getValue()
                       << "' to be its last axis, whose ranks are neighbours";
    return signalPassFailure();
  }
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(mesh);
  auto whole = cast<MeshOp>(builder.clone(*mesh));
  whole.setSymName(kMicrobatchMesh);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && failed(Unroller(function, whole, name).run()))
      return signalPassFailure();
  names.pop_back();
  sizes.pop_back();
  mesh.setAxisNamesAttr(builder.getArrayAttr(names));
  mesh.setAxisSizes(sizes);
  for (auto variable : module.getOps<graph::VariableOp>())
    if (auto sharding =
            dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr()))
      variable.setShardingAttr(dropAxis(sharding, name));
}
