//===- Annotate.cpp - What all strategies say first -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Processes.h"
#include "passes/Strategy/Annotate.h"
#include "dialects/Dist/IR/AxisParts.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Interfaces/Signature.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<MeshOp> mlir::dist::createMesh(ModuleOp module,
                                         ArrayRef<std::string> axes,
                                         ArrayRef<std::string> processes,
                                         double processLinkCost) {
  Builder attributes(module.getContext());
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  SmallVector<std::pair<StringRef, int64_t>> cuts;
  auto parse = [&](StringRef text, StringRef what, StringRef form,
                   auto add) -> LogicalResult {
    auto [name, number] = text.rsplit(':');
    int64_t value;
    if (name.empty() || number.getAsInteger(10, value) || value < 1)
      return module.emitError() << "expected " << what << " as " << form
                                << " >= 1, but got '" << text << "'";
    add(name, value);
    return success();
  };
  for (const std::string &axis : axes)
    if (failed(parse(axis, "axes", "NAME:SIZE with a size",
                     [&](StringRef name, int64_t size) {
                       names.push_back(attributes.getStringAttr(name));
                       sizes.push_back(size);
                     })))
      return failure();
  for (const std::string &cut : processes)
    if (failed(parse(cut, "processes", "NAME:NUMBER with a number",
                     [&](StringRef name, int64_t number) {
                       cuts.emplace_back(name, number);
                     })))
      return failure();
  if (findMesh(module))
    return module.emitError() << "expected a module without a mesh";
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto mesh = MeshOp::create(builder, module.getLoc(), "mesh",
                             attributes.getArrayAttr(names),
                             attributes.getDenseI64ArrayAttr(sizes));
  NamedAttrList costs;
  for (auto [axis, number] : cuts) {
    setProcesses(mesh, axis, number);
    costs.set(axis, attributes.getF64FloatAttr(processLinkCost));
  }
  if (!cuts.empty() && processLinkCost != 1)
    mesh->setAttr(kLinkCosts, costs.getDictionary(module.getContext()));
  return mesh;
}

FailureOr<MeshOp> mlir::dist::getMesh(ModuleOp module, StringRef pass) {
  if (MeshOp mesh = findMesh(module))
    return mesh;
  return module.emitError()
         << pass
         << ": expected a module with a mesh; run dist-create-mesh first";
}

FailureOr<SmallVector<StringAttr>>
mlir::dist::getAxes(MeshOp mesh, ArrayRef<std::string> names, StringRef pass) {
  SmallVector<StringAttr> axes;
  for (const std::string &name : names) {
    SmallVector<StringAttr> parts = findAxes(mesh, name);
    if (parts.empty())
      return mesh.emitOpError()
             << "has no axis '" << name << "', which " << pass << " asks for";
    axes.append(parts);
  }
  return axes;
}

void mlir::dist::addReason(MeshOp mesh, StringAttr axis, const Twine &reason) {
  NamedAttrList reasons;
  if (auto known = mesh->getAttrOfType<DictionaryAttr>("why"))
    reasons = NamedAttrList(known);
  std::string text = reason.str();
  if (auto known = dyn_cast_or_null<StringAttr>(reasons.get(axis)))
    text = known.str() + "; " + text;
  reasons.set(axis, StringAttr::get(mesh.getContext(), text));
  mesh->setAttr("why", reasons.getDictionary(mesh.getContext()));
}

void mlir::dist::addReason(graph::VariableOp variable, StringAttr axis,
                           const Twine &reason) {
  NamedAttrList reasons;
  if (auto known = variable->getAttrOfType<DictionaryAttr>(kWhyAttr))
    reasons = NamedAttrList(known);
  reasons.set(axis, StringAttr::get(variable.getContext(), reason));
  variable->setAttr(kWhyAttr, reasons.getDictionary(variable.getContext()));
}

bool mlir::dist::isAnnotated(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function.getNumArguments() &&
           function.getArgAttr(0, DistDialect::kSharding);
  });
}

bool mlir::dist::hasReplicaRows(graph::VariableOp variable) {
  return variable.getSynchronization() == graph::Synchronization::OnRead &&
         (variable.getAggregation() == graph::Aggregation::Mean ||
          variable.getAggregation() == graph::Aggregation::OnlyFirst);
}

ShardingAttr mlir::dist::getVariableSharding(graph::VariableOp variable) {
  return dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr());
}

VariableTable::VariableTable(ModuleOp module) {
  for (auto variable : module.getOps<graph::VariableOp>()) {
    variables[variable.getSymNameAttr()] = variable;
    if (FlatSymbolRefAttr of = variable.getSlotOfAttr())
      slots[of.getAttr()].push_back(variable);
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name =
              function.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr)) {
        ports[name.getAttr()].push_back({function, i, /*isResult=*/false});
        if (!function.isExternal())
          arguments[function.getArgument(i)] = variables.lookup(name.getAttr());
      }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name =
              function.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr))
        ports[name.getAttr()].push_back({function, i, /*isResult=*/true});
  }
}

graph::VariableOp VariableTable::find(FlatSymbolRefAttr name) const {
  return variables.lookup(name.getAttr());
}

ArrayRef<graph::VariableOp>
VariableTable::getSlots(graph::VariableOp variable) const {
  auto found = slots.find(variable.getSymNameAttr());
  return found == slots.end() ? ArrayRef<graph::VariableOp>() : found->second;
}

graph::VariableOp VariableTable::findOf(BlockArgument argument) const {
  return arguments.lookup(argument);
}

BlockArgument VariableTable::findArgument(func::FuncOp function,
                                          graph::VariableOp variable) const {
  auto found = ports.find(variable.getSymNameAttr());
  if (found != ports.end())
    for (const Port &port : found->second)
      if (port.function == function && !port.isResult)
        return function.getArgument(port.index);
  return {};
}

SmallVector<unsigned>
VariableTable::findResults(func::FuncOp function,
                           graph::VariableOp variable) const {
  SmallVector<unsigned> results;
  auto found = ports.find(variable.getSymNameAttr());
  if (found != ports.end())
    for (const Port &port : found->second)
      if (port.function == function && port.isResult)
        results.push_back(port.index);
  return results;
}

void VariableTable::setSharding(graph::VariableOp variable,
                                ShardingAttr sharding) {
  variable.setShardingAttr(sharding);
  changed.push_back(variable);
}

void VariableTable::update() {
  llvm::MapVector<Operation *, Signature> signatures;
  for (graph::VariableOp variable : changed)
    for (Port port : ports.lookup(variable.getSymNameAttr())) {
      Signature &signature =
          signatures.try_emplace(port.function, port.function).first->second;
      (port.isResult ? signature.results : signature.arguments)
          .attributes[port.index]
          .set(DistDialect::kSharding, variable.getShardingAttr());
    }
  for (auto &[function, signature] : signatures)
    signature.apply();
  changed.clear();
}

//===----------------------------------------------------------------------===//
// The first annotations
//===----------------------------------------------------------------------===//

namespace {
class Annotator {
public:
  Annotator(ModuleOp module, MeshOp mesh, ArrayRef<StringAttr> replicaAxes,
            int64_t parts)
      : module(module), mesh(mesh), replicaAxes(replicaAxes), table(module),
        meshName(FlatSymbolRefAttr::get(mesh.getSymNameAttr())),
        replicas(mesh.getGroupSize(replicaAxes)),
        parts(parts ? parts : replicas),
        open(replicaAxes.size() != mesh.getAxisNames().size()) {}
  LogicalResult run();

private:
  LogicalResult annotateVariable(graph::VariableOp variable);
  LogicalResult annotateFunction(func::FuncOp function);
  /// The sharding of an argument or result with attributes `attributes`; null
  /// after an error.
  ShardingAttr getSharding(func::FuncOp function, StringRef what,
                           unsigned number, Type type,
                           DictionaryAttr attributes);
  ShardingAttr getBase(int64_t rank) const {
    return open ? ShardingAttr::getOpen(meshName, rank, replicaAxes)
                : ShardingAttr::getWhole(meshName, rank);
  }

  ModuleOp module;
  MeshOp mesh;
  ArrayRef<StringAttr> replicaAxes;
  VariableTable table;
  FlatSymbolRefAttr meshName;
  int64_t replicas;
  /// What divides a batch: replicas take one each, or as many as they weigh.
  int64_t parts;
  /// Whether other axes are left for later strategies.
  bool open;
};
} // namespace

LogicalResult Annotator::annotateVariable(graph::VariableOp variable) {
  auto type = cast<RankedTensorType>(variable.getType());
  ShardingAttr sharding = getBase(type.getRank());
  if (variable.getSynchronization() == graph::Synchronization::OnRead) {
    auto without = ShardingAttr::get(module.getContext(), meshName,
                                     sharding.getDims(), {}, {});
    if (variable.getAggregation() == graph::Aggregation::Sum) {
      sharding = without.withUnreduced(replicaAxes);
    } else if (hasReplicaRows(variable)) {
      bool isMean = variable.getAggregation() == graph::Aggregation::Mean;
      if (type.getRank() == 0 || type.getDimSize(0) != replicas)
        return variable.emitOpError()
               << "expected dim 0 of an ON_READ variable with "
               << (isMean ? "MEAN" : "ONLY_FIRST_REPLICA")
               << " aggregation to have one row for each of the " << replicas
               << " replicas, but got " << type;
      sharding = without.withDim(0, replicaAxes);
    } else {
      return variable.emitOpError()
             << "expected an ON_READ variable to have SUM, MEAN or "
                "ONLY_FIRST_REPLICA aggregation";
    }
  }
  variable.setShardingAttr(sharding);
  return success();
}

ShardingAttr Annotator::getSharding(func::FuncOp function, StringRef what,
                                    unsigned number, Type type,
                                    DictionaryAttr attributes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto fail = [&]() {
    auto diagnostic = function.emitOpError() << what << " " << number;
    if (attributes)
      if (auto name = attributes.getAs<StringAttr>(kNameAttr))
        diagnostic << " (" << name << ")";
    return diagnostic;
  };
  if (!tensor)
    return fail() << ": expected a tensor, but got " << type, ShardingAttr();
  auto whole = ShardingAttr::getWhole(meshName, tensor.getRank());
  if (!attributes)
    return whole;
  if (auto name = attributes.getAs<FlatSymbolRefAttr>(kVariableAttr)) {
    graph::VariableOp variable = table.find(name);
    if (!variable)
      return fail() << ": expected a graph.variable named " << name,
             ShardingAttr();
    return getVariableSharding(variable);
  }
  auto batchDim = attributes.getAs<IntegerAttr>(kBatchDimAttr);
  // A variable's gradient is summed over the replicas, and may stay split over
  // other axes as it comes.
  auto role = attributes.getAs<StringAttr>(kRoleAttr);
  if (!batchDim && what == "result" && role && role.getValue() == "gradient")
    return getBase(tensor.getRank());
  if (!batchDim || batchDim.getInt() < 0)
    return whole;
  int64_t dim = batchDim.getInt();
  if (dim >= tensor.getRank())
    return fail() << ": expected graph.batch_dim to be a dim of " << type,
           ShardingAttr();
  int64_t batch = tensor.getDimSize(dim);
  if (batch % parts && parts != replicas)
    return fail() << ": a batch of " << batch << " cannot be split over "
                  << replicas << " replicas with weights of " << parts
                  << " together; compile for a multiple of these",
           ShardingAttr();
  if (batch % parts) {
    int64_t padded = (batch + replicas - 1) / replicas * replicas;
    return fail() << ": a batch of " << batch << " cannot be split over "
                  << replicas << " replicas; give the model a batch that they "
                  << "divide, such as " << padded << ", or other replicas",
           ShardingAttr();
  }
  // Outputs may stay split as they come: the runtime puts them together.
  return (what == "result" ? getBase(tensor.getRank()) : whole)
      .withoutReplicated()
      .withDim(dim, replicaAxes);
}

LogicalResult Annotator::annotateFunction(func::FuncOp function) {
  auto collect = [&](StringRef what, TypeRange types, auto getAttributes,
                     SmallVectorImpl<DictionaryAttr> &all) {
    for (auto [i, type] : llvm::enumerate(types)) {
      DictionaryAttr attributes = getAttributes(i);
      auto sharding = getSharding(function, what, i, type, attributes);
      if (!sharding)
        return failure();
      NamedAttrList list(attributes);
      list.set(DistDialect::kSharding, sharding);
      all.push_back(list.getDictionary(module.getContext()));
    }
    return success();
  };
  SmallVector<DictionaryAttr> arguments, results;
  if (failed(collect(
          "argument", function.getArgumentTypes(),
          [&](unsigned i) { return function.getArgAttrDict(i); }, arguments)) ||
      failed(collect(
          "result", function.getResultTypes(),
          [&](unsigned i) { return function.getResultAttrDict(i); }, results)))
    return failure();
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
  return success();
}

LogicalResult Annotator::run() {
  for (auto variable : module.getOps<graph::VariableOp>())
    if (failed(annotateVariable(variable)))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(annotateFunction(function)))
      return failure();
  return success();
}

LogicalResult mlir::dist::annotate(ModuleOp module, MeshOp mesh,
                                   ArrayRef<StringAttr> replicaAxes,
                                   int64_t parts) {
  return Annotator(module, mesh, replicaAxes, parts).run();
}
