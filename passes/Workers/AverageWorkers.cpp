//===- AverageWorkers.cpp - Local SGD by averaging -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optimizer slots are averaged with what they belong to, as in Yu, Jin, Yang,
// "On the Linear Speedup Analysis of Communication Efficient Momentum SGD"
// (2019): a momentum that is left as it is points to where its worker alone was
// going. (PyTorch's PeriodicModelAverager averages parameters alone.)
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/OwnAxis.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/RandomState.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/Signature.h"
#include "passes/Workers/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_AVERAGEWORKERSPASS
#include "passes/Workers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A variable that some entry changes, as a rank holds it.
struct Changed {
  graph::VariableOp variable;
  RankedTensorType type;
  DictionaryAttr attributes; // of an argument or result that is the variable
};

struct AverageWorkersPass
    : mlir::dist::impl::AverageWorkersPassBase<AverageWorkersPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult check(MeshOp mesh);
  void addAxis(MeshOp mesh);
  /// Of an argument or result: what has a batch dim has one part a worker,
  /// and sums are of all workers' parts.
  LogicalResult spread(func::FuncOp function, NamedAttrList &attributes);
  /// A step's loss and whether it is finite, of each worker.
  void returnOwn(func::FuncOp function, Signature &signature);
  /// Workers draw different random numbers for a step of the same number.
  void drawOwn(func::FuncOp function, MeshOp mesh, const Signature &signature);
  Value getWorkerNumber(func::FuncOp function, MeshOp mesh);
  LogicalResult collect(func::FuncOp function, Signature &signature);
  LogicalResult makeSync(MeshOp mesh);
  /// The axes over which a variable is averaged: the workers', and those over
  /// which it is whole.
  SmallVector<Attribute> getAxes(MeshOp mesh, const Changed &one);
  Value average(OpBuilder &b, const Changed &one, Value sum, int64_t ranks);

  StringAttr host;
  SymbolTable *symbols = nullptr;
  llvm::MapVector<StringAttr, Changed> changed;
};
} // namespace

LogicalResult AverageWorkersPass::check(MeshOp mesh) {
  ModuleOp module = getOperation();
  if (!mesh)
    return module.emitError() << "dist-average-workers: expected a module "
                                 "with a mesh; run dist-create-mesh first";
  if (workers < 2)
    return mesh.emitOpError()
           << "dist-average-workers: expected several workers, but got "
           << workers;
  if (mesh.getAxisSize(host) > 0)
    return mesh.emitOpError() << "has an axis " << host
                              << " already, which dist-average-workers adds";
  if (mesh.getHost() || getNumProcesses(mesh) > 1)
    return mesh.emitOpError() << "dist-average-workers: expected the mesh of "
                                 "one worker's devices, without a host";
  if (module.lookupSymbol("sync"))
    return module.emitError()
           << "dist-average-workers: expected no entry 'sync', which it adds";
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return function.emitOpError()
             << "dist-average-workers: expected one block";
  return success();
}

void AverageWorkersPass::addAxis(MeshOp mesh) {
  Builder b(&getContext());
  SmallVector<Attribute> names = {host};
  SmallVector<int64_t> sizes = {workers};
  llvm::append_range(names, mesh.getAxisNames());
  llvm::append_range(sizes, mesh.getAxisSizes());
  mesh.setAxisNamesAttr(b.getArrayAttr(names));
  mesh.setAxisSizes(sizes);
  setProcesses(mesh, host, workers);
  if (linkCost == 1)
    return;
  NamedAttrList costs(mesh->getAttrOfType<DictionaryAttr>(kLinkCosts));
  costs.set(host, b.getF64FloatAttr(linkCost));
  mesh->setAttr(kLinkCosts, costs.getDictionary(&getContext()));
}

/// Metrics count examples, each worker its own: they add up.
static bool isSum(graph::VariableOp variable) {
  if (variable.getGroup() == "metric")
    return true;
  return variable.getSynchronization() == graph::Synchronization::OnRead &&
         variable.getAggregation() == graph::Aggregation::Sum;
}

static ShardingAttr spreadSum(ShardingAttr sharding, StringAttr host) {
  SmallVector<StringAttr> axes = {host};
  llvm::append_range(axes, sharding.getUnreduced());
  return sharding.withUnreduced(axes);
}

LogicalResult AverageWorkersPass::spread(func::FuncOp function,
                                         NamedAttrList &attributes) {
  auto sharding =
      dyn_cast_or_null<ShardingAttr>(attributes.get(DistDialect::kSharding));
  auto global =
      dyn_cast_or_null<TypeAttr>(attributes.get(DistDialect::kGlobalType));
  if (!sharding || !global)
    return function.emitOpError() << "dist-average-workers: expected a "
                                     "partitioned program";
  auto name =
      dyn_cast_or_null<FlatSymbolRefAttr>(attributes.get(kVariableAttr));
  if (name) {
    auto variable = symbols->lookup<graph::VariableOp>(name.getAttr());
    if (!variable)
      return function.emitOpError()
             << "expected a graph.variable named " << name;
    auto role = dyn_cast_or_null<StringAttr>(attributes.get(kRoleAttr));
    if (isSum(variable) && role && role.getValue() == "variable")
      attributes.set(DistDialect::kSharding, spreadSum(sharding, host));
    return success();
  }
  auto dim = dyn_cast_or_null<IntegerAttr>(attributes.get(kBatchDimAttr));
  if (!dim || dim.getInt() < 0)
    return success();
  unsigned number = dim.getInt();
  auto type = cast<RankedTensorType>(global.getValue());
  SmallVector<int64_t> shape(type.getShape());
  shape[number] *= workers;
  SmallVector<StringAttr> axes = {host};
  llvm::append_range(axes, sharding.getAxes(number));
  attributes.set(DistDialect::kSharding, sharding.withDim(number, axes));
  attributes.set(DistDialect::kGlobalType, TypeAttr::get(type.clone(shape)));
  return success();
}

void AverageWorkersPass::returnOwn(func::FuncOp function,
                                   Signature &signature) {
  Operation *end = function.front().getTerminator();
  OpBuilder b(end);
  graph::GraphBuilder g(b, end->getLoc());
  for (auto [i, attributes] : llvm::enumerate(signature.results.attributes)) {
    auto role = dyn_cast_or_null<StringAttr>(attributes.get(kRoleAttr));
    if (!role || (role.getValue() != "loss" && role.getValue() != "finite"))
      continue;
    auto sharding = cast<ShardingAttr>(attributes.get(DistDialect::kSharding));
    Value own = g.reshape(end->getOperand(i), {1});
    auto split =
        ShardingAttr::getWhole(sharding.getMesh(), 1).withDim(0, {host});
    setSharding(own, split);
    end->setOperand(i, own);
    auto type = cast<RankedTensorType>(own.getType());
    signature.results.types[i] = type;
    attributes.set(DistDialect::kSharding, split);
    attributes.set(DistDialect::kGlobalType,
                   TypeAttr::get(type.clone(ArrayRef<int64_t>(workers))));
  }
}

/// As a scalar; all of a worker's ranks have the same.
Value AverageWorkersPass::getWorkerNumber(func::FuncOp function, MeshOp mesh) {
  auto b = OpBuilder::atBlockBegin(&function.front());
  graph::GraphBuilder g(b, function.getLoc());
  int64_t id = 0;
  function.walk([&](CollectiveOpInterface collective) {
    id = std::max(id, collective.getCollectiveId() + 1);
  });
  auto type = RankedTensorType::get({int64_t(workers)}, b.getI64Type());
  Value all = g.iota(type, 0);
  auto own = AllSliceOp::create(
      b, function.getLoc(), TypeRange{type.clone(ArrayRef<int64_t>(1))},
      ValueRange{all}, SmallVector<int64_t>{0}, mesh.getSymName(),
      b.getArrayAttr({host}),
      "each worker draws random numbers of its own (--sync-every)",
      graph::kStepCounter);
  own.setOpId(id);
  auto reference = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  auto whole = ShardingAttr::getWhole(reference, 1);
  setSharding(all, whole);
  setSharding(own.getResult(0), whole.withDim(0, {host}));
  Value number = g.reshape(own.getResult(0), {});
  setSharding(number, ShardingAttr::getWhole(reference, 0));
  return number;
}

/// Only where the entry counts its draws, which is in training: what is drawn
/// elsewhere may be a value that all workers are to have alike.
void AverageWorkersPass::drawOwn(func::FuncOp function, MeshOp mesh,
                                 const Signature &signature) {
  auto isCounter = [](const NamedAttrList &result) {
    auto name = dyn_cast_or_null<FlatSymbolRefAttr>(result.get(kVariableAttr));
    return name && name.getValue() == graph::kStepCounter;
  };
  SmallVector<graph::RandomUniformOp> draws;
  function.walk([&](graph::RandomUniformOp draw) { draws.push_back(draw); });
  if (draws.empty() || llvm::none_of(signature.results.attributes, isCounter))
    return;
  Value number = getWorkerNumber(function, mesh);
  // By the step: step * workers + number, which no other worker's step has.
  llvm::DenseMap<Value, Value> ownSteps;
  for (graph::RandomUniformOp draw : draws) {
    Value &own = ownSteps[draw.getStep()];
    if (!own) {
      OpBuilder b(draw);
      graph::GraphBuilder g(b, draw.getLoc());
      Value first = g.mul(draw.getStep(), double(workers));
      own = g.add(first, number);
      for (Value value : {first, own})
        setSharding(value, findSharding(number));
    }
    draw.getStepMutable().assign(own);
  }
}

LogicalResult AverageWorkersPass::collect(func::FuncOp function,
                                          Signature &signature) {
  for (auto [type, attributes] :
       llvm::zip(signature.results.types, signature.results.attributes)) {
    auto name =
        dyn_cast_or_null<FlatSymbolRefAttr>(attributes.get(kVariableAttr));
    auto role = dyn_cast_or_null<StringAttr>(attributes.get(kRoleAttr));
    if (!name || !role || role.getValue() != "variable")
      continue;
    auto variable = symbols->lookup<graph::VariableOp>(name.getAttr());
    if (isSum(variable))
      continue;
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.getElementType().isIntOrFloat() ||
        tensor.getElementType().isInteger(1))
      return function.emitOpError()
             << "changes " << name << " of " << tensor.getElementType()
             << ", of which workers have no mean";
    changed.insert(
        {name.getAttr(),
         Changed{variable, tensor, attributes.getDictionary(&getContext())}});
  }
  return success();
}

SmallVector<Attribute> AverageWorkersPass::getAxes(MeshOp mesh,
                                                   const Changed &one) {
  auto sharding = one.attributes.getAs<ShardingAttr>(DistDialect::kSharding);
  SmallVector<StringAttr> split(sharding.getUnreduced());
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim)
    llvm::append_range(split, sharding.getAxes(dim));
  SmallVector<Attribute> axes = {host};
  // Ranks that hold equal values change nothing of a mean, or a maximum.
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>())
    if (axis != host && mesh.getAxisSize(axis) > 1 &&
        !llvm::is_contained(split, axis))
      axes.push_back(axis);
  return axes;
}

Value AverageWorkersPass::average(OpBuilder &b, const Changed &one, Value sum,
                                  int64_t ranks) {
  if (!isa<FloatType>(one.type.getElementType()))
    return sum;
  graph::GraphBuilder g(b, sum.getLoc());
  Value mean = g.mul(sum, 1.0 / double(ranks));
  setSharding(mean, one.attributes.getAs<ShardingAttr>(DistDialect::kSharding));
  return mean;
}

LogicalResult AverageWorkersPass::makeSync(MeshOp mesh) {
  ModuleOp module = getOperation();
  Location loc = module.getLoc();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (auto &[name, one] : changed) {
    types.push_back(one.type);
    attributes.push_back(one.attributes);
  }
  auto sync =
      func::FuncOp::create(b, loc, "sync", b.getFunctionType(types, types));
  sync.setAllArgAttrs(attributes);
  sync.setAllResultAttrs(attributes);
  Block *block = sync.addEntryBlock();
  // What goes over the same ranks in the same way is one transfer.
  using Way = std::pair<ArrayAttr, Type>;
  llvm::MapVector<Way, SmallVector<SmallVector<unsigned>>> packs;
  llvm::DenseMap<Way, int64_t> bytes;
  for (auto [i, entry] : llvm::enumerate(changed)) {
    const Changed &one = entry.second;
    Way way = {b.getArrayAttr(getAxes(mesh, one)), one.type.getElementType()};
    auto &list = packs[way];
    if (list.empty() || (bytesPerPack > 0 && bytes[way] > bytesPerPack)) {
      list.emplace_back();
      bytes[way] = 0;
    }
    list.back().push_back(i);
    bytes[way] += getByteSize(one.type);
  }
  b.setInsertionPointToEnd(block);
  std::string reason = "the workers' variables are averaged every " +
                       std::to_string(every) + " steps (--sync-every)";
  SmallVector<Value> results(changed.size());
  for (auto &[way, list] : packs)
    for (const SmallVector<unsigned> &numbers : list) {
      SmallVector<Value> operands;
      SmallVector<Attribute> shardings;
      for (unsigned i : numbers) {
        operands.push_back(block->getArgument(i));
        shardings.push_back(attributes[i].get(DistDialect::kSharding));
      }
      auto [axes, type] = way;
      auto reduce = AllReduceOp::create(
          b, loc, TypeRange(ValueRange(operands)), operands,
          isa<FloatType>(type) ? Reduction::Sum : Reduction::Max,
          mesh.getSymName(), axes, reason,
          changed.begin()[numbers.front()].first.getValue());
      reduce->setAttr(DistDialect::kShardings, b.getArrayAttr(shardings));
      SmallVector<StringAttr> group(axes.getAsRange<StringAttr>());
      for (auto [i, sum] : llvm::zip(numbers, reduce->getResults()))
        results[i] = average(b, changed.begin()[i].second, sum,
                             mesh.getGroupSize(group));
    }
  func::ReturnOp::create(b, loc, results);
  int64_t id = 0;
  sync.walk([&](CollectiveOpInterface collective) {
    collective.setCollectiveId(id++);
  });
  return success();
}

void AverageWorkersPass::runOnOperation() {
  ModuleOp module = getOperation();
  host = StringAttr::get(&getContext(), axis.getValue());
  MeshOp mesh = findMesh(module);
  if (failed(check(mesh)))
    return signalPassFailure();
  SymbolTable table(module);
  symbols = &table;
  addAxis(mesh);
  for (auto function : module.getOps<func::FuncOp>()) {
    Signature signature(function);
    if (failed(collect(function, signature)))
      return signalPassFailure();
    for (Signature::Ports *ports : {&signature.arguments, &signature.results})
      for (NamedAttrList &attributes : ports->attributes)
        if (failed(spread(function, attributes)))
          return signalPassFailure();
    returnOwn(function, signature);
    drawOwn(function, mesh, signature);
    signature.apply();
    function->setAttr(kOwnAxisAttr, host);
  }
  for (auto variable : module.getOps<graph::VariableOp>())
    if (auto sharding =
            dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr()))
      if (isSum(variable)) {
        variable.setShardingAttr(spreadSum(sharding, host));
        variable.setSynchronization(graph::Synchronization::OnRead);
        variable.setAggregation(graph::Aggregation::Sum);
      }
  if (changed.empty())
    return; // only predicts
  if (failed(makeSync(mesh)))
    signalPassFailure();
}
