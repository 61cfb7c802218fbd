//===- TrainingMode.cpp - The forward part of the training step -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"

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
  };
  static SmallVector<Norm> findNorms(func::FuncOp entry);
  LogicalResult train(func::FuncOp entry, ArrayRef<Norm> norms, bool isPartial);
  LogicalResult trainBatchNorm(func::FuncOp entry, Norm norm, bool isPartial);
  void trainDropouts(func::FuncOp entry);
  Value getMovingRate(GraphBuilder &g, func::FuncOp entry, BatchNormOp norm,
                      double share);
  LogicalResult splitStatistics(VariableOp variable);

  /// Replicas with statistics of their own.
  int64_t rows = 1;
};
} // namespace

/// The variable that `value` reads, or null.
static VariableOp findVariable(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  if (!read)
    return nullptr;
  return SymbolTable::lookupNearestSymbolFrom<VariableOp>(
      read, read.getVariableAttr());
}

/// Gives the variable one row a replica; functions that read it get the mean.
LogicalResult TrainingModePass::splitStatistics(VariableOp variable) {
  auto type = cast<RankedTensorType>(variable.getType());
  if (type.getRank() == 2)
    return success(); // shared by two normalizations
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
    read.replaceAllUsesWith(mean);
    read.erase();
  }
  return success();
}

SmallVector<TrainingModePass::Norm>
TrainingModePass::findNorms(func::FuncOp entry) {
  SmallVector<Norm> norms;
  for (auto op : entry.getOps<BatchNormInferenceOp>()) {
    VariableOp mean = findVariable(op.getMean());
    VariableOp variance = findVariable(op.getVariance());
    // Statistics that are no variables are the model's constants: they stay.
    if (mean && variance)
      norms.push_back({op, mean, variance});
  }
  return norms;
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
  auto [op, mean, variance] = found;
  FailureOr<int64_t> batch = getBatchSize(entry);
  if (failed(batch))
    return failure();
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  if (type.getDimSize(0) != *batch)
    return op.emitOpError() << "expected dim 0 to be the batch of " << *batch
                            << " in training, but got " << type;
  if (*batch % rows)
    return op.emitOpError() << "cannot split a batch of " << *batch << " over "
                            << rows << " replicas; pad it to a multiple";

  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  Value mask = isPartial ? getMask(entry, *batch) : BlockArgument();
  auto norm =
      g.create<BatchNormOp>(op.getOperand(), op.getScale(), op.getBias(), mask,
                            op.getAxis(), op.getEpsilon(), uint64_t(rows));
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
  op.replaceAllUsesWith(norm.getResult());
  if (rows > 1 &&
      (failed(splitStatistics(mean)) || failed(splitStatistics(variance))))
    return failure();
  move(mean, norm.getMean());
  move(variance, norm.getVariance());
  op.erase();
  return success();
}

void TrainingModePass::trainDropouts(func::FuncOp entry) {
  SmallVector<DropoutOp> dropouts(entry.getOps<DropoutOp>());
  llvm::erase_if(dropouts, [](DropoutOp op) {
    return op.getRate().convertToDouble() <= 0;
  });
  if (dropouts.empty())
    return;
  auto counterType =
      RankedTensorType::get({}, Builder(&getContext()).getI64Type());
  NewVariable properties;
  properties.group = "counter";
  properties.aggregation = Aggregation::OnlyFirst;
  VariableOp counter =
      addVariable(getOperation(), "random/step", counterType, properties);
  auto reference = FlatSymbolRefAttr::get(counter.getSymNameAttr());
  auto start = OpBuilder::atBlockBegin(&entry.getBody().front());
  GraphBuilder atStart(start, entry.getLoc());
  Value step = atStart.make<ReadOp>(counterType, reference);
  atStart.create<AssignOp>(reference, atStart.add(step, 1.0));

  for (auto [index, op] : llvm::enumerate(dropouts)) {
    double rate = op.getRate().convertToDouble();
    OpBuilder builder(op);
    GraphBuilder g(builder, op.getLoc());
    auto type = cast<RankedTensorType>(op.getType());
    Value zero = g.zeros(type), kept = zero;
    if (rate < 1) {
      // Layers draw from different streams, runs of one seed from the same.
      uint64_t stream =
          uint64_t(seed.getValue()) * 0x9E3779B97F4A7C15ull + index;
      Value draw = g.make<RandomUniformOp>(
          RankedTensorType::get(type.getShape(), builder.getF32Type()), step,
          stream);
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
  trainDropouts(entry);
  eraseDeadOps(entry);
  return success();
}

void TrainingModePass::runOnOperation() {
  func::FuncOp predict = findEntry(getOperation(), "predict");
  if (!predict) {
    getOperation().emitError()
        << "graph-training-mode: the module has no function 'predict'";
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
      (padded && failed(train(padded, paddedNorms, true))))
    return signalPassFailure();
}
