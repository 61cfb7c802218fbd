//===- SplitServers.cpp - Programs of workers and of servers --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A server's @apply is that of all variables, of which what the server has no
// part in is left out. A part of a variable is updated by a copy of the ops
// that update the whole, on its rows.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Dist/IR/PulledRows.h"
#include "dialects/Dist/IR/ServerPart.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/RowFactors.h"
#include "passes/Analysis/UnusedState.h"
#include "passes/Analysis/VariableUpdates.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SPLITSERVERSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Makes one server's @apply beside the whole one.
class ServerBuilder {
public:
  ServerBuilder(func::FuncOp whole, VariableUpdates &updates, int64_t server)
      : whole(whole), updates(updates), server(server),
        symbols(whole->getParentOfType<ModuleOp>()),
        builder(whole.getContext()) {}
  LogicalResult run();

private:
  struct Part {
    VariableUpdate *update;
    std::string suffix; // of the names of the variable and its slots
    int64_t begin, size;
    bool isWhole;
    IRMapping values;
  };
  void findParts();
  void addArgument(unsigned number, Part *part);
  void addArguments();
  void addVariables(Part &part);
  LogicalResult addOps(Part &part);
  void addResult(unsigned number, Part *part);
  void addResults();
  DictionaryAttr rename(DictionaryAttr port, const Part &part);
  RankedTensorType cut(Type type, const Part &part);

  func::FuncOp whole, own;
  VariableUpdates &updates;
  int64_t server;
  SymbolTable symbols;
  OpBuilder builder;
  std::vector<Part> parts;
  /// Of what no variable has for itself.
  IRMapping shared;
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  /// Variables that the server's program has.
  DenseSet<Operation *> kept;
};

struct SplitServersPass
    : mlir::dist::impl::SplitServersPassBase<SplitServersPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Rows of an initial value. What lies in the model file stays there.
static ElementsAttr cutInitial(ElementsAttr value, RankedTensorType type,
                               int64_t begin) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return dense.resizeSplat(type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob()) {
      int64_t perRow = type.getNumElements() / type.getDimSize(0);
      size_t bytes = type.getElementTypeBitWidth() / 8;
      ArrayRef<char> rows = blob->getData().slice(
          begin * perRow * bytes, type.getNumElements() * bytes);
      return DenseResourceElementsAttr::get(
          type, (resource.getRawHandle().getKey() + "_" + Twine(begin)).str(),
          UnmanagedAsmResourceBlob::allocateWithAlign(rows, bytes));
    }
  auto whole = HostTensor::fromAttribute(value);
  assert(succeeded(whole) && "initial values are dense or resources");
  return cutRows(*whole, type, begin).toAttribute();
}

RankedTensorType ServerBuilder::cut(Type type, const Part &part) {
  auto tensor = cast<RankedTensorType>(type);
  if (part.isWhole)
    return tensor;
  SmallVector<int64_t> shape(tensor.getShape());
  shape[0] = part.size;
  return tensor.clone(shape);
}

void ServerBuilder::findParts() {
  for (VariableUpdate &update : updates.variables) {
    SmallVector<ServerPart> all = getServerParts(update.variable);
    for (auto [i, part] : llvm::enumerate(all))
      if (part.server == server)
        parts.push_back({&update,
                         getPartName("", i, all.size()),
                         part.begin,
                         part.size,
                         all.size() == 1,
                         {}});
  }
}

/// An argument or result of a part.
DictionaryAttr ServerBuilder::rename(DictionaryAttr port, const Part &part) {
  NamedAttrList list(port);
  if (auto name = port.getAs<StringAttr>(kNameAttr))
    list.set(kNameAttr, builder.getStringAttr(name.getValue() + part.suffix));
  if (auto symbol = port.getAs<FlatSymbolRefAttr>(kVariableAttr))
    list.set(kVariableAttr,
             FlatSymbolRefAttr::get(builder.getContext(),
                                    (symbol.getValue() + part.suffix).str()));
  return list.getDictionary(builder.getContext());
}

void ServerBuilder::addArgument(unsigned number, Part *part) {
  BlockArgument from = whole.getArgument(number);
  Type type = part ? cut(from.getType(), *part) : from.getType();
  DictionaryAttr port = whole.getArgAttrDict(number);
  argumentAttributes.push_back(part ? rename(port, *part) : port);
  BlockArgument to = own.front().addArgument(type, from.getLoc());
  (part ? part->values : shared).map(from, to);
}

/// Gradients first, as whoever sends them counts.
void ServerBuilder::addArguments() {
  for (Part &part : parts)
    addArgument(part.update->gradient, &part);
  for (unsigned argument : updates.sharedArguments) {
    addArgument(argument, nullptr);
    if (auto symbol =
            whole.getArgAttrOfType<FlatSymbolRefAttr>(argument, kVariableAttr))
      kept.insert(symbols.lookup(symbol.getValue()));
  }
  for (Part &part : parts)
    for (unsigned argument : part.update->state)
      addArgument(argument, &part);
}

void ServerBuilder::addVariables(Part &part) {
  for (unsigned argument : part.update->state) {
    auto symbol =
        whole.getArgAttrOfType<FlatSymbolRefAttr>(argument, kVariableAttr);
    auto from = symbols.lookup<graph::VariableOp>(symbol.getValue());
    if (part.isWhole) {
      kept.insert(from);
      continue;
    }
    builder.setInsertionPoint(from);
    auto to = cast<graph::VariableOp>(builder.clone(*from));
    RankedTensorType type = cut(from.getType(), part);
    to.setSymName((from.getSymName() + part.suffix).str());
    to.setTypeAttr(TypeAttr::get(type));
    to.setInitialAttr(cutInitial(from.getInitial(), type, part.begin));
    if (FlatSymbolRefAttr of = from.getSlotOfAttr())
      to.setSlotOfAttr(FlatSymbolRefAttr::get(
          builder.getContext(), (of.getValue() + part.suffix).str()));
    // The model file has no such tensor.
    to->removeAttr("graph.model_name");
    kept.insert(to);
  }
}

LogicalResult ServerBuilder::addOps(Part &part) {
  for (Operation *op : part.update->ops) {
    bool givesRows =
        !part.isWhole && part.update->rows.contains(op->getResult(0));
    if (updates.sharedOps.contains(op) && !givesRows)
      continue;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(part.values.contains(operand)
                             ? part.values.lookup(operand)
                             : shared.lookup(operand));
    if (!givesRows) {
      IRMapping values;
      for (auto [from, to] : llvm::zip(op->getOperands(), operands))
        values.map(from, to);
      Operation *copy = builder.clone(*op, values);
      part.values.map(op->getResults(), copy->getResults());
      continue;
    }
    FailureOr<Operation *> copy = cloneWithRows(
        builder, op, operands, cut(op->getResult(0).getType(), part));
    if (failed(copy))
      return failure();
    part.values.map(op->getResults(), (*copy)->getResults());
  }
  return success();
}

void ServerBuilder::addResult(unsigned number, Part *part) {
  Value from = whole.front().getTerminator()->getOperand(number);
  DictionaryAttr port = whole.getResultAttrDict(number);
  resultAttributes.push_back(part ? rename(port, *part) : port);
  bool isOwn = part && part->values.contains(from);
  results.push_back(isOwn ? part->values.lookup(from) : shared.lookup(from));
}

void ServerBuilder::addResults() {
  for (unsigned result : updates.sharedResults)
    addResult(result, nullptr);
  for (Part &part : parts)
    for (unsigned result : part.update->results)
      addResult(result, &part);
}

LogicalResult ServerBuilder::run() {
  for (VariableUpdate &update : updates.variables) {
    RankedTensorType type = update.variable.getType();
    int64_t rows = type.getRank() ? type.getDimSize(0) : 1, held = 0;
    for (const ServerPart &part : getServerParts(update.variable))
      held += part.size;
    if (held != rows)
      return update.variable.emitOpError()
             << "expected servers to hold its " << rows << " rows, but got "
             << held << "; run dist-place-server-variables first";
  }
  findParts();
  if (parts.empty())
    return whole.emitOpError()
           << "has no variable that server " << server << " holds a part of";
  for (Part &part : parts)
    if (!part.isWhole && !part.update->isByRow)
      return part.update->variable.emitOpError()
             << "'" << part.update->variable.getSymName()
             << "' cannot be cut: its update is not row by row";
  builder.setInsertionPointAfter(whole);
  own = func::FuncOp::create(builder, whole.getLoc(), "server",
                             builder.getFunctionType({}, {}));
  builder.createBlock(&own.getBody());
  addArguments();
  for (Part &part : parts)
    addVariables(part);
  builder.setInsertionPointToEnd(&own.front());
  for (Operation &op : whole.front().without_terminator())
    if (updates.sharedOps.contains(&op))
      builder.clone(op, shared);
  for (Part &part : parts)
    if (failed(addOps(part)))
      return failure();
  addResults();
  func::ReturnOp::create(builder, whole.getLoc(), results);
  own.setType(builder.getFunctionType(own.front().getArgumentTypes(),
                                      ValueRange(results).getTypes()));
  own.setAllArgAttrs(argumentAttributes);
  own.setAllResultAttrs(resultAttributes);
  // Of what all variables have in common, most is of their shapes.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(own.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  auto module = whole->getParentOfType<ModuleOp>();
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    bool isOther = isa<func::FuncOp>(op) && &op != own.getOperation();
    if (isOther || (isa<graph::VariableOp>(op) && !kept.contains(&op)))
      op.erase();
    else
      for (StringRef attribute : {kServerPartsAttr, kPulledRowsAttr})
        op.removeAttr(attribute);
  }
  own.setSymName("apply");
  return success();
}

void SplitServersPass::runOnOperation() {
  auto apply = getOperation().lookupSymbol<func::FuncOp>("apply");
  if (!apply || apply.isExternal()) {
    getOperation().emitError()
        << "dist-split-servers: the module has no function 'apply'; run "
           "dist-place-server-variables first";
    return signalPassFailure();
  }
  if (server < 0) {
    // A worker is without @apply, and what was there for it.
    apply.erase();
    eraseUnusedState(getOperation(), {"slot", "counter"});
    return;
  }
  FailureOr<VariableUpdates> updates = findUpdates(apply);
  if (failed(updates) || failed(ServerBuilder(apply, *updates, server).run()))
    signalPassFailure();
}
