//===- CheckServers.cpp - Workers and servers against one device ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/CheckServers.h"
#include "dialects/Dist/IR/PulledRows.h"
#include "dialects/Dist/IR/ServerPart.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Analysis/CompareShards.h"
#include "passes/Analysis/EntryPrograms.h"
#include "passes/Analysis/RandomInputs.h"
#include <set>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Tensors of a step by the names that programs know them by: `role:name`, or a
/// variable's name alone.
using NamedTensors = llvm::StringMap<HostTensor>;

class ServerChecker {
public:
  ServerChecker(func::FuncOp step, func::FuncOp gradients,
                ArrayRef<ModuleOp> servers, const CheckOptions &options)
      : step(step), gradients(gradients), servers(servers), options(options) {}
  FailureOr<FunctionCheck> run();

private:
  LogicalResult runStep();
  LogicalResult pullRows();
  LogicalResult runGradients();
  LogicalResult runServer(ModuleOp server);

  func::FuncOp step, gradients;
  ArrayRef<ModuleOp> servers;
  const CheckOptions &options;
  /// Of the step: what it takes, and its variables' new values.
  NamedTensors before, after, gradientOf;
  /// Of tables that the worker looks up, the numbers of the rows that it has.
  llvm::StringMap<std::vector<int64_t>> pulled;
  FunctionCheck check;
};
} // namespace

static std::string getKey(DictionaryAttr port) {
  if (auto variable = port.getAs<FlatSymbolRefAttr>(kVariableAttr))
    return variable.getValue().str();
  auto role = port.getAs<StringAttr>(kRoleAttr);
  auto name = port.getAs<StringAttr>(kNameAttr);
  return ((role ? role.getValue() : "") + ":" + (name ? name.getValue() : ""))
      .str();
}

LogicalResult ServerChecker::runStep() {
  SmallVector<HostTensor> arguments = makeRandomArguments(step, options.seed);
  for (auto [i, argument] : llvm::enumerate(arguments))
    before[getKey(step.getArgAttrDict(i))] = argument;
  FailureOr<RankTensors> results = evaluateFunction(step, arguments);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    if (step.getResultAttr(i, kVariableAttr))
      after[getKey(step.getResultAttrDict(i))] = result;
  return success();
}

/// What a worker has of tables before the step, as the runtime sets it.
LogicalResult ServerChecker::pullRows() {
  auto module = gradients->getParentOfType<ModuleOp>();
  for (auto variable : module.getOps<graph::VariableOp>()) {
    std::optional<PulledRows> known = findPulledRows(variable);
    if (!known)
      continue;
    int64_t size = variable.getType().getDimSize(0);
    std::set<int64_t> numbers;
    for (StringAttr input : known->inputs) {
      auto indices = before.find(("input:" + input.getValue()).str());
      if (indices == before.end())
        return variable.emitOpError()
               << "cannot be compared: the step has no input " << input;
      for (int64_t i = 0; i < indices->second.getNumElements(); ++i) {
        int64_t number = indices->second.getInt(i);
        numbers.insert(number < 0 ? number + size : number);
      }
    }
    auto typeOf = [&](FlatSymbolRefAttr name) {
      return module.lookupSymbol<graph::VariableOp>(name.getValue()).getType();
    };
    const HostTensor &table = before[variable.getSymName()];
    HostTensor rows(typeOf(known->rows)), places(typeOf(known->places));
    int64_t perRow = table.getNumElements() / size, place = 0;
    for (int64_t number : numbers) {
      for (int64_t i = 0; i < perRow; ++i)
        rows.setDouble(place * perRow + i,
                       table.getDouble(number * perRow + i));
      places.setInt(number, place++);
    }
    before[known->rows.getValue()] = rows;
    before[known->places.getValue()] = places;
    pulled[variable.getSymName()].assign(numbers.begin(), numbers.end());
  }
  return success();
}

/// A gradient of rows as one of the table.
static HostTensor spread(const HostTensor &rows, ArrayRef<int64_t> numbers,
                         RankedTensorType type) {
  HostTensor table(type);
  int64_t perRow = type.getNumElements() / type.getDimSize(0);
  for (auto [place, number] : llvm::enumerate(numbers))
    for (int64_t i = 0; i < perRow; ++i)
      table.setDouble(number * perRow + i,
                      rows.getDouble(int64_t(place) * perRow + i));
  return table;
}

LogicalResult ServerChecker::runGradients() {
  MeshOp mesh = findMesh(gradients);
  int64_t ranks = mesh ? mesh.getNumRanks() : 1;
  SmallVector<HostTensor> arguments;
  for (unsigned i = 0; i < gradients.getNumArguments(); ++i) {
    auto found = before.find(getKey(gradients.getArgAttrDict(i)));
    if (found == before.end())
      return gradients.emitOpError()
             << "cannot be compared: argument " << i << " is none of the step";
    arguments.push_back(found->second);
  }
  auto results = evaluateRanks(
      gradients, mesh, cutArguments(gradients, mesh, arguments, 0, ranks));
  if (failed(results))
    return failure();
  for (unsigned i = 0; i < gradients.getNumResults(); ++i) {
    // What the step assigns itself is sent as it is.
    auto role = gradients.getResultAttrOfType<StringAttr>(i, kRoleAttr);
    if (!role || (role != "gradient" && role != "variable"))
      continue;
    auto name = gradients.getResultAttrOfType<StringAttr>(i, kNameAttr);
    auto sharding =
        gradients.getResultAttrOfType<ShardingAttr>(i, DistDialect::kSharding);
    SmallVector<HostTensor> shards = collectShards(*results, i);
    HostTensor &gradient = gradientOf[name];
    gradient =
        mesh && sharding ? joinShards(shards, sharding, mesh) : shards.front();
    auto rows = pulled.find(name.getValue());
    if (rows != pulled.end())
      gradient =
          spread(gradient, rows->second, before[name.getValue()].getType());
  }
  return success();
}

LogicalResult ServerChecker::runServer(ModuleOp server) {
  // Whose rows a variable of the server's has, and from which on.
  llvm::StringMap<std::pair<StringRef, int64_t>> partOf;
  for (auto variable :
       gradients->getParentOfType<ModuleOp>().getOps<graph::VariableOp>()) {
    SmallVector<ServerPart> parts = getServerParts(variable);
    for (auto [i, part] : llvm::enumerate(parts))
      partOf[getPartName(variable.getSymName(), i, parts.size())] = {
          variable.getSymName(), part.begin};
  }
  auto apply = server.lookupSymbol<func::FuncOp>("apply");
  // Slots are named as what they are of: NAME/part_I with the same ending.
  auto find = [&](StringRef name, int64_t *begin) -> std::string {
    auto variable = server.lookupSymbol<graph::VariableOp>(name);
    StringRef of =
        variable && variable.getSlotOf() ? *variable.getSlotOf() : name;
    auto part = partOf.find(of);
    if (part == partOf.end())
      return name.str();
    *begin = part->second.second;
    size_t ending = of.size() - part->second.first.size();
    return name.drop_back(ending).str();
  };
  auto take = [&](const NamedTensors &from, StringRef name,
                  RankedTensorType type) -> FailureOr<HostTensor> {
    int64_t begin = 0;
    auto found = from.find(find(name, &begin));
    if (found == from.end())
      return apply.emitOpError()
             << "cannot be compared: the step has no '" << name << "'";
    return cutRows(found->second, type, begin);
  };
  SmallVector<HostTensor> arguments;
  for (unsigned i = 0; i < apply.getNumArguments(); ++i) {
    auto symbol = apply.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
    auto name = apply.getArgAttrOfType<StringAttr>(i, kNameAttr);
    FailureOr<HostTensor> argument =
        take(symbol ? before : gradientOf,
             symbol ? symbol.getValue() : name.getValue(),
             cast<RankedTensorType>(apply.getArgumentTypes()[i]));
    if (failed(argument))
      return failure();
    arguments.push_back(*argument);
  }
  FailureOr<RankTensors> results = evaluateFunction(apply, arguments);
  if (failed(results))
    return failure();
  ShardComparison comparison(apply, options, check);
  for (auto [i, result] : llvm::enumerate(*results)) {
    auto symbol =
        apply.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
    if (!symbol)
      continue;
    FailureOr<HostTensor> expected =
        take(after, symbol.getValue(), result.getType());
    if (failed(expected))
      return failure();
    comparison.compare(result, {}, *expected, "update", symbol.getValue(),
                       check.comparedOps);
  }
  return success();
}

FailureOr<FunctionCheck> ServerChecker::run() {
  check.function =
      (step.getSymName() + " by " + gradients.getSymName() + " and apply on " +
       Twine(servers.size()) + (servers.size() == 1 ? " server" : " servers"))
          .str();
  if (failed(runStep()) || failed(pullRows()) || failed(runGradients()))
    return failure();
  for (ModuleOp server : servers)
    if (failed(runServer(server)))
      return failure();
  return check;
}

FailureOr<std::vector<FunctionCheck>>
mlir::dist::checkServers(ModuleOp whole, ModuleOp worker,
                         ArrayRef<ModuleOp> servers,
                         const CheckOptions &options) {
  ExactFloats exact;
  std::vector<FunctionCheck> checks;
  for (auto [name, half] :
       {std::pair<StringRef, StringRef>("train_step", "gradients"),
        {"train_step_partial", "gradients_partial"}}) {
    auto step = whole.lookupSymbol<func::FuncOp>(name);
    auto gradients = worker.lookupSymbol<func::FuncOp>(half);
    if (!step || !gradients)
      continue;
    auto check = ServerChecker(step, gradients, servers, options).run();
    if (failed(check))
      return failure();
    checks.push_back(*check);
  }
  return checks;
}
