//===- Entry.cpp - Arguments and results of an entry by their roles -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Entry.h"
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static DictionaryAttr getAttributes(MLIRContext *context, const Port &port) {
  Builder builder(context);
  SmallVector<NamedAttribute> attributes;
  auto add = [&](StringRef name, Attribute value) {
    attributes.push_back(builder.getNamedAttr(name, value));
  };
  add(kRoleAttr, builder.getStringAttr(port.role));
  if (!port.name.empty())
    add(kNameAttr, builder.getStringAttr(port.name));
  if (port.variable)
    add(kVariableAttr, port.variable);
  if (port.batchDim >= 0)
    add(kBatchDimAttr, builder.getI64IntegerAttr(port.batchDim));
  if (port.classCount > 0)
    add(kClassCountAttr, builder.getI64IntegerAttr(port.classCount));
  if (port.ignoredLabel)
    add(kIgnoredLabelAttr, builder.getI64IntegerAttr(*port.ignoredLabel));
  return builder.getDictionaryAttr(attributes);
}

StringRef mlir::dist::graph::getArgumentRole(func::FuncOp entry,
                                             unsigned index) {
  auto role = entry.getArgAttrOfType<StringAttr>(index, kRoleAttr);
  return role ? role.getValue() : StringRef();
}

StringRef mlir::dist::graph::getResultRole(func::FuncOp entry, unsigned index) {
  auto role = entry.getResultAttrOfType<StringAttr>(index, kRoleAttr);
  return role ? role.getValue() : StringRef();
}

BlockArgument mlir::dist::graph::findArgument(func::FuncOp entry,
                                              StringRef role) {
  for (BlockArgument argument : entry.getArguments())
    if (getArgumentRole(entry, argument.getArgNumber()) == role)
      return argument;
  return nullptr;
}

int64_t mlir::dist::graph::findResult(func::FuncOp entry, StringRef role) {
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (getResultRole(entry, i) == role)
      return i;
  return -1;
}

/// The argument in the entry's block, and in what will be its signature.
static BlockArgument appendArgument(func::FuncOp entry, Signature &signature,
                                    Type type, const Port &port, Location loc) {
  // What passes make of it is told by its name.
  if (!port.name.empty())
    loc = NameLoc::get(StringAttr::get(entry.getContext(), port.name), loc);
  signature.arguments.add(type, getAttributes(entry.getContext(), port));
  return entry.front().addArgument(type, loc);
}

static void appendResult(func::FuncOp entry, Signature &signature, Value value,
                         const Port &port) {
  signature.results.add(value.getType(),
                        getAttributes(entry.getContext(), port));
  func::ReturnOp end = getReturn(entry);
  end->insertOperands(end->getNumOperands(), value);
}

BlockArgument mlir::dist::graph::addArgument(func::FuncOp entry, Type type,
                                             const Port &port, Location loc) {
  Signature signature(entry);
  BlockArgument added = appendArgument(entry, signature, type, port, loc);
  signature.apply();
  return added;
}

static Port getPort(VariableOp variable) {
  Port port;
  port.role = "variable";
  port.name = variable.getSymName();
  port.variable = FlatSymbolRefAttr::get(variable.getSymNameAttr());
  return port;
}

void mlir::dist::graph::addResult(func::FuncOp entry, Value value,
                                  const Port &port) {
  addResults(entry, std::make_pair(value, port));
}

void mlir::dist::graph::addResults(func::FuncOp entry,
                                   ArrayRef<std::pair<Value, Port>> results) {
  Signature signature(entry);
  for (const auto &[value, port] : results)
    appendResult(entry, signature, value, port);
  signature.apply();
}

void mlir::dist::graph::eraseResults(
    func::FuncOp entry, llvm::function_ref<bool(unsigned)> predicate) {
  llvm::BitVector erase(entry.getNumResults());
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (predicate(i))
      erase.set(i);
  getReturn(entry)->eraseOperands(erase);
  LogicalResult erased = entry.eraseResults(erase);
  (void)erased;
  assert(succeeded(erased) && "results of a function with a body go");
}

func::ReturnOp mlir::dist::graph::getReturn(func::FuncOp entry) {
  return cast<func::ReturnOp>(entry.getBody().front().getTerminator());
}

LogicalResult mlir::dist::graph::verifyOneBlock(func::FuncOp entry,
                                                StringRef pass) {
  size_t blocks = entry.getBody().getBlocks().size();
  if (blocks == 1)
    return success();
  return entry.emitError() << pass << ": expected '" << entry.getSymName()
                           << "' to have one block, but got " << blocks;
}

FailureOr<int64_t> mlir::dist::graph::getBatchSize(func::FuncOp entry) {
  int64_t first = -1;
  for (BlockArgument argument : entry.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() == 0 ||
        getArgumentRole(entry, index) != "input")
      continue;
    if (auto dim = entry.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr))
      if (dim.getInt() >= 0 && dim.getInt() < type.getRank())
        return type.getDimSize(dim.getInt());
    if (first < 0)
      first = type.getDimSize(0);
  }
  if (first < 0)
    return entry.emitError()
           << "'" << entry.getSymName()
           << "' has no input with a batch dim; training needs one: give its "
              "arguments graph.role = \"input\", and graph.batch_dim";
  return first;
}

BlockArgument mlir::dist::graph::getMask(func::FuncOp entry, int64_t batch) {
  if (BlockArgument mask = findArgument(entry, "mask"))
    return mask;
  Port port;
  port.role = port.name = "mask";
  port.batchDim = 0;
  Type type =
      RankedTensorType::get({batch}, IntegerType::get(entry.getContext(), 1));
  return addArgument(entry, type, port, entry.getLoc());
}

BlockArgument mlir::dist::graph::getCount(func::FuncOp entry) {
  if (BlockArgument count = findArgument(entry, "count"))
    return count;
  Port port;
  port.role = port.name = "count";
  Type type = RankedTensorType::get({}, Float32Type::get(entry.getContext()));
  return addArgument(entry, type, port, entry.getLoc());
}

func::FuncOp mlir::dist::graph::cloneEntry(func::FuncOp entry, StringRef name) {
  OpBuilder builder(entry->getContext());
  builder.setInsertionPointAfter(entry);
  auto clone = cast<func::FuncOp>(builder.clone(*entry));
  clone.setSymName(name);
  return clone;
}

func::FuncOp mlir::dist::graph::findEntry(ModuleOp module, StringRef name) {
  return module.lookupSymbol<func::FuncOp>(name);
}

static VariableOp createVariable(OpBuilder &builder, Location loc,
                                 StringRef name, Type type,
                                 const NewVariable &properties) {
  HostTensor one(
      RankedTensorType::get({}, cast<RankedTensorType>(type).getElementType()));
  one.setDouble(0, properties.fill);
  Attribute element = one.toAttribute().getValues<Attribute>()[0];
  auto initial = DenseElementsAttr::get(cast<RankedTensorType>(type), element);
  return VariableOp::create(
      builder, loc, builder.getStringAttr(name), TypeAttr::get(type), initial,
      /*trainable=*/UnitAttr(), builder.getStringAttr(properties.group),
      SynchronizationAttr::get(builder.getContext(),
                               properties.synchronization),
      AggregationAttr::get(builder.getContext(), properties.aggregation),
      properties.slotOf, /*why=*/StringAttr(), /*sharding=*/Attribute());
}

VariableOp mlir::dist::graph::addVariable(ModuleOp module, StringRef name,
                                          Type type,
                                          const NewVariable &properties) {
  return StateIndex(module).add(name, type, properties);
}

StateIndex::StateIndex(ModuleOp module) : module(module), symbols(module) {
  for (auto variable : module.getOps<VariableOp>())
    last = variable;
}

VariableOp StateIndex::find(FlatSymbolRefAttr name) {
  return symbols.lookup<VariableOp>(name.getAttr());
}

VariableOp StateIndex::add(StringRef name, Type type,
                           const NewVariable &properties) {
  if (auto existing = symbols.lookup<VariableOp>(name))
    return existing;
  OpBuilder builder(module.getContext());
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(module.getBody());
  last = createVariable(builder, module.getLoc(), name, type, properties);
  symbols.insert(last);
  return last;
}

StateIndex::Ports &StateIndex::getPorts(func::FuncOp entry) {
  auto [found, isNew] = ports.try_emplace(entry);
  Ports &own = found->second;
  if (!own.changed)
    own.changed.emplace(entry);
  if (!isNew)
    return own;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto name = entry.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr))
      own.arguments.try_emplace(name.getAttr(), i);
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (auto name =
            entry.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr))
      if (getResultRole(entry, i) == "variable")
        own.results.try_emplace(name.getAttr(), i);
  return own;
}

BlockArgument StateIndex::getArgument(func::FuncOp entry, VariableOp variable) {
  Ports &own = getPorts(entry);
  auto [found, isNew] = own.arguments.try_emplace(
      variable.getSymNameAttr(), entry.front().getNumArguments());
  return isNew ? appendArgument(entry, *own.changed, variable.getType(),
                                getPort(variable), variable.getLoc())
               : entry.getArgument(found->second);
}

void StateIndex::setResult(func::FuncOp entry, VariableOp variable,
                           Value value) {
  Ports &own = getPorts(entry);
  auto [found, isNew] = own.results.try_emplace(
      variable.getSymNameAttr(), getReturn(entry)->getNumOperands());
  if (isNew)
    appendResult(entry, *own.changed, value, getPort(variable));
  else
    getReturn(entry)->setOperand(found->second, value);
}

void StateIndex::addResult(func::FuncOp entry, Value value, const Port &port) {
  appendResult(entry, *getPorts(entry).changed, value, port);
}

void StateIndex::finish() {
  for (auto &[entry, own] : ports) {
    if (own.changed)
      own.changed->apply();
    own.changed.reset();
  }
}

void mlir::dist::graph::eraseDeadOps(func::FuncOp entry) {
  Block &block = entry.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
