//===- TrainingMode.cpp - The forward part of the training step -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/RandomState.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/Analysis/BatchRows.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include <functional>
#include <numeric>

namespace mlir::dist {
#define GEN_PASS_DEF_TRAININGMODEPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct TrainingModePass : dist::impl::TrainingModePassBase<TrainingModePass> {
  using Base::Base;
  void runOnOperation() override;

private:
  /// A normalization whose statistics are variables.
  struct Norm {
    BatchNormInferenceOp op;
    VariableOp mean, variance;
    /// Where the operand's examples are, if that is known.
    std::optional<ExampleDim> examples;
  };
  static SmallVector<Norm> findNorms(func::FuncOp entry);
  LogicalResult train(func::FuncOp entry, ArrayRef<Norm> norms, bool isPartial);
  LogicalResult trainBatchNorm(func::FuncOp entry, Norm norm, bool isPartial);
  void trainDropouts(func::FuncOp entry, bool isPartial);
  void numberDraws(ArrayRef<RandomUniformOp> draws,
                   const llvm::DenseMap<Value, ExampleDim> &examples,
                   int64_t batch, Value copies);
  LogicalResult evaluate(func::FuncOp predict, bool isPartial);
  Value countCopies(func::FuncOp entry, int64_t batch);
  Value numberRows(GraphBuilder &g, RankedTensorType type, ExampleDim dim,
                   int64_t batch, Value copies);
  Value getMovingRate(GraphBuilder &g, func::FuncOp entry, BatchNormOp norm,
                      double share);
  LogicalResult splitStatistics(VariableOp variable);

  /// Replicas with statistics of their own.
  int64_t rows = 1;
};
} // namespace

/// The variable that `value` is, as it stands or in another type or form; or
/// null.
static VariableOp findVariable(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<ConvertOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto read = dyn_cast_or_null<ReadOp>(op);
  if (!read)
    return nullptr;
  return SymbolTable::lookupNearestSymbolFrom<VariableOp>(
      read, read.getVariableAttr());
}

/// Gives the variable one row a replica; functions that read it get the mean.
LogicalResult TrainingModePass::splitStatistics(VariableOp variable) {
  if (variable.getSynchronization() == Synchronization::OnRead)
    return success(); // shared by two normalizations
  auto type = cast<RankedTensorType>(variable.getType());
  FailureOr<HostTensor> initial =
      HostTensor::fromAttribute(variable.getInitial());
  if (failed(initial))
    return variable.emitOpError() << "expected moving statistics to have a "
                                     "dense initial value";
  int64_t channels = type.getNumElements();
  auto rowsType =
      RankedTensorType::get({rows, channels}, type.getElementType());
  HostTensor repeated(rowsType);
  for (int64_t i = 0; i < rows * channels; ++i)
    repeated.setDouble(i, initial->getDouble(i % channels));
  variable.setTypeAttr(TypeAttr::get(rowsType));
  variable.setInitialAttr(repeated.toAttribute());
  variable.setSynchronization(Synchronization::OnRead);
  variable.setAggregation(Aggregation::Mean);

  auto uses = SymbolTable::getSymbolUses(variable, getOperation());
  for (SymbolTable::SymbolUse use : *uses) {
    auto read = dyn_cast<ReadOp>(use.getUser());
    if (!read)
      continue;
    OpBuilder builder(read);
    GraphBuilder g(builder, read.getLoc());
    Value all = g.make<ReadOp>(rowsType, read.getVariableAttr());
    Value mean = g.mul(g.sum(all, {0}), 1.0 / rows);
    read.replaceAllUsesWith(g.reshape(mean, type.getShape()));
    read.erase();
  }
  return success();
}

SmallVector<TrainingModePass::Norm>
TrainingModePass::findNorms(func::FuncOp entry) {
  SmallVector<Norm> norms;
  llvm::DenseMap<Value, ExampleDim> examples;
  for (auto op : entry.getOps<BatchNormInferenceOp>()) {
    VariableOp mean = findVariable(op.getMean());
    VariableOp variance = findVariable(op.getVariance());
    // Statistics that are no variables are the model's constants: they stay.
    if (!mean || !variance)
      continue;
    if (norms.empty())
      examples = findExampleDims(entry);
    norms.push_back({op, mean, variance, std::nullopt});
    if (auto known = examples.find(op.getOperand()); known != examples.end())
      norms.back().examples = known->second;
  }
  return norms;
}

namespace {
/// A value with the batch for dim 0, and what it came from.
struct BatchFirst {
  Value value;
  uint64_t axis;
  std::function<Value(Value)> undo;
};
} // namespace

/// Splits the dim of (others, examples, inner) and moves the examples to the
/// front; nullopt: it has no dim of examples, or it is the axis, and the batch
/// is of several.
static std::optional<BatchFirst>
moveBatchFirst(GraphBuilder &g, Value whole, uint64_t axis,
               std::optional<ExampleDim> examples, int64_t batch) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape()), split(shape);
  auto same = [](Value result) { return result; };
  auto reshaped = [&](uint64_t newAxis) {
    return BatchFirst{g.reshape(whole, split), newAxis,
                      [&g, shape](Value r) { return g.reshape(r, shape); }};
  };
  // All of it is one example's, wherever that is.
  if (batch == 1 && (axis == 0 || shape[0] != 1)) {
    split.insert(split.begin(), 1);
    return reshaped(axis + 1);
  }
  if (!examples && type.getDimSize(0) == batch)
    return BatchFirst{whole, axis, same};
  if (!examples || examples->dim == axis)
    return std::nullopt;
  int64_t dim = examples->dim, inner = examples->inner,
          others = type.getDimSize(dim) / batch / inner;
  if (dim == 0 && others == 1 && inner == 1)
    return BatchFirst{whole, axis, same};
  // (before, others, batch, inner, after), without parts of one element.
  int64_t splitAxis = axis, row = dim;
  split[dim] = batch;
  auto insert = [&](int64_t at, int64_t size) {
    if (size == 1)
      return;
    split.insert(split.begin() + at, size);
    splitAxis += int64_t(axis) > dim;
    row += at <= row;
  };
  insert(dim + 1, inner);
  insert(dim, others);
  if (row == 0)
    return reshaped(splitAxis);
  SmallVector<int64_t> order{row};
  for (int64_t i = 0; i < int64_t(split.size()); ++i)
    if (i != row)
      order.push_back(i);
  SmallVector<int64_t> back = invertPermutationVector(order);
  return BatchFirst{g.transpose(g.reshape(whole, split), order),
                    uint64_t(back[splitAxis]), [&g, back, shape](Value result) {
                      return g.reshape(g.transpose(result, back), shape);
                    }};
}

/// One number a replica: `share` times the replica's examples over the mean of
/// all replicas'. The mean over the rows, which is what others read, so moves
/// by `share` towards the statistics weighted by their examples, and the row of
/// a replica without examples stays. No row overshoots its statistic.
Value TrainingModePass::getMovingRate(GraphBuilder &g, func::FuncOp entry,
                                      BatchNormOp norm, double share) {
  auto type = cast<RankedTensorType>(norm.getOperand().getType());
  double perExample = double(type.getNumElements()) / type.getDimSize(0) /
                      type.getDimSize(norm.getAxis());
  Value elements = norm.getCount();
  auto counts = cast<RankedTensorType>(elements.getType());
  Value examples = g.broadcastScalar(
      g.convert(getCount(entry), counts.getElementType()), counts.getShape());
  Value rate = g.div(g.mul(elements, share * rows / perExample), examples);
  return g.min(rate, g.like(rate, 1));
}

LogicalResult TrainingModePass::trainBatchNorm(func::FuncOp entry, Norm found,
                                               bool isPartial) {
  auto [op, mean, variance, examples] = found;
  FailureOr<int64_t> batch = getBatchSize(entry);
  if (failed(batch))
    return failure();
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  std::optional<BatchFirst> input =
      moveBatchFirst(g, op.getOperand(), op.getAxis(), examples, *batch);
  if (!input)
    return op.emitOpError() << "expected a dim beside the channels to be of "
                               "the batch of "
                            << *batch << " in training, but got " << type;
  if (rows > 1 && !llvm::all_equal(*weights))
    return op.emitOpError()
           << "has statistics per replica, over equal parts of the batch, but "
              "--device-weights makes unequal ones; add --sync-batch-norm, or "
              "leave --device-weights out";
  if (*batch % rows)
    return op.emitOpError() << "cannot split a batch of " << *batch << " over "
                            << rows << " replicas; pad it to a multiple";

  Value mask = isPartial ? getMask(entry, *batch) : BlockArgument();
  auto norm =
      g.create<BatchNormOp>(input->value, op.getScale(), op.getBias(), mask,
                            input->axis, op.getEpsilon(), uint64_t(rows));
  double momentum = op.getMomentum().convertToDouble();
  // How far each replica's row moves; null: all by 1 - momentum.
  Value rate;
  if (isPartial && rows > 1)
    rate = getMovingRate(g, entry, norm, 1 - momentum);
  auto move = [&](VariableOp variable, Value statistic) {
    auto stored = cast<RankedTensorType>(variable.getType());
    auto reference = FlatSymbolRefAttr::get(variable.getSymNameAttr());
    Value old = g.make<ReadOp>(stored, reference);
    Value now = g.reshape(g.convert(statistic, stored.getElementType()),
                          stored.getShape());
    Value next;
    if (rate) {
      Value way = g.sub(now, old);
      Value part = g.broadcast(g.convert(rate, stored.getElementType()),
                               stored.getShape(), {0});
      next = g.add(old, g.mul(way, part));
    } else {
      Value kept = g.mul(old, momentum);
      next = g.add(kept, g.mul(now, 1 - momentum));
    }
    g.create<AssignOp>(reference, next);
  };
  op.replaceAllUsesWith(input->undo(norm.getResult()));
  if (rows > 1 &&
      (failed(splitStatistics(mean)) || failed(splitStatistics(variance))))
    return failure();
  move(mean, norm.getMean());
  move(variance, norm.getVariance());
  op.erase();
  return success();
}

/// Before each replica's rows: how many of those before are copies that fill
/// the replicas' parts up. As BatchStream lays a short batch out: examples by
/// weight, rounded down, and of those left one each, first to last.
Value TrainingModePass::countCopies(func::FuncOp entry, int64_t batch) {
  SmallVector<int64_t> portions(weights.begin(), weights.end()), starts;
  int64_t total = std::accumulate(portions.begin(), portions.end(), int64_t(0));
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  GraphBuilder g(builder, entry.getLoc());
  auto type =
      RankedTensorType::get({int64_t(portions.size())}, builder.getI64Type());
  auto list = [&](ArrayRef<int64_t> numbers) {
    return g.make<ConstantOp>(DenseIntElementsAttr::get(type, numbers));
  };
  int64_t start = 0;
  for (int64_t portion : portions) {
    starts.push_back(start);
    start += batch * portion / total;
  }
  auto everywhere = [&](Value number) {
    return g.broadcastScalar(number, type.getShape());
  };
  Value count = g.convert(getCount(entry), builder.getI64Type());
  Value whole = g.div(g.mul(everywhere(count), list(portions)),
                      g.splat(type, double(total)));
  Value left = everywhere(g.sub(count, g.sum(whole, {0})));
  Value before = g.make<CumSumOp>(whole, /*axis=*/0, /*exclusive=*/true,
                                  /*reverse=*/false);
  return g.sub(list(starts), g.add(before, g.min(g.iota(type, 0), left)));
}

/// For the indices along the dim of examples: the position with examples
/// outermost, each by its number in the batch, whatever is filled up with
/// copies. Null where that is the index itself.
Value TrainingModePass::numberRows(GraphBuilder &g, RankedTensorType type,
                                   ExampleDim dim, int64_t batch,
                                   Value copies) {
  int64_t size = type.getDimSize(dim.dim), others = size / batch / dim.inner;
  if (!copies && dim.dim == 0 && others == 1)
    return {};
  Type i64 = g.getBuilder().getI64Type();
  auto rows = RankedTensorType::get({size}, i64);
  auto number = [&](int64_t n) { return g.splat(rows, double(n)); };
  Value index = g.iota(rows, 0), example = g.div(index, number(dim.inner));
  if (others > 1)
    example = g.make<RemOp>(example, number(batch));
  Value inExample = g.make<RemOp>(index, number(dim.inner));
  if (others > 1)
    inExample =
        g.add(g.mul(g.div(index, number(batch * dim.inner)), number(dim.inner)),
              inExample);
  if (copies) {
    int64_t parts = weights.size(),
            total = std::accumulate(weights.begin(), weights.end(), int64_t(0));
    Value replica;
    if (total == parts) {
      replica = g.div(example, number(batch / parts));
    } else {
      // The parts that start at the example or before it, but the first.
      replica = number(0);
      int64_t start = 0;
      for (int64_t weight : ArrayRef<int64_t>(weights).drop_back()) {
        start += batch * weight / total;
        replica = g.add(replica, g.convert(g.compare(ComparePredicate::GE,
                                                     example, number(start)),
                                           i64));
      }
    }
    example = g.sub(example, g.make<GatherOp>(copies, replica, /*axis=*/0));
  }
  return g.add(g.mul(example, number(others * dim.inner)), inExample);
}

/// Of what the model itself draws with a row an example, each example draws by
/// its number in the batch.
void TrainingModePass::numberDraws(
    ArrayRef<RandomUniformOp> draws,
    const llvm::DenseMap<Value, ExampleDim> &examples, int64_t batch,
    Value copies) {
  for (RandomUniformOp draw : draws) {
    auto known = examples.find(draw.getResult());
    if (known == examples.end())
      continue;
    OpBuilder builder(draw);
    GraphBuilder g(builder, draw.getLoc());
    Value rows = numberRows(g, draw.getType(), known->second, batch, copies);
    if (!rows)
      continue;
    draw.getRowsMutable().assign(rows);
    draw.setDimAttr(builder.getI64IntegerAttr(known->second.dim));
  }
}

static SmallVector<RandomUniformOp> findDraws(func::FuncOp entry) {
  SmallVector<RandomUniformOp> draws(entry.getOps<RandomUniformOp>());
  llvm::erase_if(draws, [](RandomUniformOp draw) {
    auto read = draw.getStep().getDefiningOp<ReadOp>();
    return !read || read.getVariable() != kStepCounter;
  });
  return draws;
}

/// Where the model draws, its evaluation draws by the examples' numbers, too.
LogicalResult TrainingModePass::evaluate(func::FuncOp predict, bool isPartial) {
  if (findDraws(predict).empty())
    return success();
  FailureOr<int64_t> batch = getBatchSize(predict);
  if (failed(batch))
    return failure();
  func::FuncOp entry =
      cloneEntry(predict, isPartial ? "eval_step_partial" : "eval_step");
  Value copies;
  if (isPartial) {
    getMask(entry, *batch);
    getCount(entry);
    if (weights.size() > 1)
      copies = countCopies(entry, *batch);
  }
  numberDraws(findDraws(entry), findExampleDims(entry), *batch, copies);
  return success();
}

void TrainingModePass::trainDropouts(func::FuncOp entry, bool isPartial) {
  SmallVector<DropoutOp> dropouts(entry.getOps<DropoutOp>());
  llvm::erase_if(dropouts, [](DropoutOp op) {
    return op.getRate().convertToDouble() <= 0;
  });
  SmallVector<RandomUniformOp> draws = findDraws(entry);
  if (dropouts.empty() && draws.empty())
    return;
  auto counterType =
      RankedTensorType::get({}, Builder(&getContext()).getI64Type());
  NewVariable properties;
  properties.group = "counter";
  properties.aggregation = Aggregation::OnlyFirst;
  VariableOp counter =
      addVariable(getOperation(), kStepCounter, counterType, properties);
  auto reference = FlatSymbolRefAttr::get(counter.getSymNameAttr());
  auto start = OpBuilder::atBlockBegin(&entry.getBody().front());
  GraphBuilder atStart(start, entry.getLoc());
  Value step = atStart.make<ReadOp>(counterType, reference);
  atStart.create<AssignOp>(reference, atStart.add(step, 1.0));

  // An example drops the same wherever it is laid out: positions count from the
  // example's own, not from the row's.
  llvm::DenseMap<Value, ExampleDim> examples = findExampleDims(entry);
  FailureOr<int64_t> batch = getBatchSize(entry);
  Value copies;
  if (isPartial && weights.size() > 1 && succeeded(batch))
    copies = countCopies(entry, *batch);
  if (succeeded(batch))
    numberDraws(draws, examples, *batch, copies);
  // They follow the step that this one is.
  for (RandomUniformOp draw : draws) {
    Operation *read = draw.getStep().getDefiningOp();
    draw.getStepMutable().assign(step);
    if (read->use_empty())
      read->erase();
  }
  // Those that nothing has numbered come behind those that have a stream.
  int64_t next = 0;
  for (DropoutOp op : dropouts)
    if (auto stream = op->getAttrOfType<IntegerAttr>(kStreamAttr))
      next = std::max(next, stream.getInt() + 1);
  for (DropoutOp op : dropouts) {
    double rate = op.getRate().convertToDouble();
    OpBuilder builder(op);
    GraphBuilder g(builder, op.getLoc());
    auto type = cast<RankedTensorType>(op.getType());
    Value zero = g.zeros(type), kept = zero;
    if (rate < 1) {
      // Dropouts draw from different streams, runs of one seed from the same.
      auto number = op->getAttrOfType<IntegerAttr>(kStreamAttr);
      uint64_t stream = uint64_t(seed.getValue()) * 0x9E3779B97F4A7C15ull +
                        (number ? number.getInt() : next++);
      Value rows;
      IntegerAttr dim;
      if (auto known = examples.find(op.getResult());
          known != examples.end() && succeeded(batch))
        if ((rows = numberRows(g, type, known->second, *batch, copies)))
          dim = builder.getI64IntegerAttr(known->second.dim);
      Value draw = g.make<RandomUniformOp>(
          RankedTensorType::get(type.getShape(), builder.getF32Type()), step,
          rows, builder.getI64IntegerAttr(int64_t(stream)), dim);
      Value keep = g.compare(ComparePredicate::GE, draw, g.like(draw, rate));
      kept = g.select(keep, g.mul(op.getOperand(), 1 / (1 - rate)), zero);
    }
    op.replaceAllUsesWith(kept);
    op.erase();
  }
}

LogicalResult TrainingModePass::train(func::FuncOp entry, ArrayRef<Norm> norms,
                                      bool isPartial) {
  if (isPartial) {
    FailureOr<int64_t> batch = getBatchSize(entry);
    if (failed(batch))
      return failure();
    getMask(entry, *batch);
    getCount(entry);
  }
  for (const Norm &norm : norms)
    if (failed(trainBatchNorm(entry, norm, isPartial)))
      return failure();
  trainDropouts(entry, isPartial);
  eraseDeadOps(entry);
  return success();
}

void TrainingModePass::runOnOperation() {
  func::FuncOp predict = findEntry(getOperation(), "predict");
  if (!predict) {
    getOperation().emitError()
        << "graph-training-mode: the module has no function 'predict'; "
           "give the one that is to be trained this name";
    return signalPassFailure();
  }
  if (groups < 1) {
    getOperation().emitError()
        << "graph-training-mode: expected groups >= 1, but got "
        << groups.getValue();
    return signalPassFailure();
  }
  rows = syncBatchNorm ? 1 : groups.getValue();
  func::FuncOp full = cloneEntry(predict, "train_step"), padded;
  if (partial)
    padded = cloneEntry(full, "train_step_partial");
  // Found in both before either is rewritten: what one entry does to a variable
  // changes how the other reads it.
  SmallVector<Norm> fullNorms = findNorms(full), paddedNorms;
  if (padded)
    paddedNorms = findNorms(padded);
  if (failed(train(full, fullNorms, false)) ||
      (padded && failed(train(padded, paddedNorms, true))) ||
      failed(evaluate(predict, false)) ||
      (partial && failed(evaluate(predict, true))))
    return signalPassFailure();
}
