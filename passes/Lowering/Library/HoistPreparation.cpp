//===- HoistPreparation.cpp - What weights alone decide -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The prepared values of all entries that are computed alike from the same
// weights are one buffer of the device's state.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/IRMapping.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_HOISTPREPARATIONPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {

class Hoister {
public:
  Hoister(func::FuncOp func, SymbolTable &symbols,
          llvm::DenseMap<Attribute, StringAttr> &names,
          llvm::DenseMap<Attribute, int64_t> &sources)
      : func(func), block(func.getBody().front()), symbols(symbols),
        names(names), sources(sources), b(func.getContext()) {}

  LogicalResult run();

private:
  void findPrepared();
  bool isWorthwhile(Operation *op);
  bool isNeeded(Value value);
  DictionaryAttr describePacked(Value value);
  void makePreparation(ArrayRef<Value> values, ArrayRef<StringAttr> valueNames);

  func::FuncOp func;
  Block &block;
  SymbolTable &symbols;
  /// By how a value is computed, for all functions.
  llvm::DenseMap<Attribute, StringAttr> &names;
  /// Numbers of what is packed, by how it is computed.
  llvm::DenseMap<Attribute, int64_t> &sources;
  OpBuilder b;
  /// Values that weights alone decide, and how they are computed.
  llvm::DenseMap<Value, Attribute> keys;
  llvm::SmallSetVector<Operation *, 16> prepared;
};

} // namespace

/// What grows much (a weight that is broadcast) is cheaper made again. Packing
/// is worthwhile: it may grow by its padding alone.
bool Hoister::isWorthwhile(Operation *op) {
  if (isa<rt::LibraryOp>(op))
    return true;
  // So is the transform of a filter, which grows fourfold.
  if (auto call = dyn_cast<rt::CallOp>(op))
    if (auto kernel = symbols.lookup<rt::KernelOp>(call.getKernel()))
      if (isa<rt::WinogradFilterOp>(kernel.getBody().front().front()))
        return true;
  int64_t in = 0, out = 0;
  for (Value operand : op->getOperands())
    in += getByteSize(operand.getType());
  for (Value result : op->getResults())
    out += getByteSize(result.getType());
  constexpr int64_t free = 4096;
  return out <= 2 * in + free;
}

void Hoister::findPrepared() {
  for (BlockArgument argument : block.getArguments())
    if (isUnchangedWeight(argument))
      keys[argument] = func.getArgAttr(argument.getArgNumber(), kVariableAttr);
  for (Operation &op : block.without_terminator()) {
    if ((!isa<rt::LibraryOp, rt::CallOp>(op) && !isAlias(&op)) ||
        op.getNumOperands() == 0)
      continue;
    SmallVector<Attribute> key{b.getStringAttr(op.getName().getStringRef())};
    for (Value operand : op.getOperands())
      key.push_back(keys.lookup(operand));
    if (llvm::is_contained(key, Attribute()) || !isWorthwhile(&op))
      continue;
    if (auto library = dyn_cast<rt::LibraryOp>(op))
      key.push_back(library.getKernel());
    else if (auto call = dyn_cast<rt::CallOp>(op))
      key.push_back(call.getKernelAttr());
    for (OpResult result : op.getResults()) {
      SmallVector<Attribute> own(key);
      own.push_back(TypeAttr::get(result.getType()));
      own.push_back(b.getI64IntegerAttr(result.getResultNumber()));
      keys[result] = b.getArrayAttr(own);
    }
    prepared.insert(&op);
  }
}

/// Whether an op that stays reads the value, views looked through.
bool Hoister::isNeeded(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (!prepared.contains(user))
      return true;
    return isAlias(user) && isNeeded(user->getResult(0));
  });
}

/// A function of the entry's own arguments that fills the prepared ones.
void Hoister::makePreparation(ArrayRef<Value> values,
                              ArrayRef<StringAttr> valueNames) {
  b.setInsertionPointAfter(func);
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(value.getType());
  auto preparation = func::FuncOp::create(
      b, func.getLoc(), (func.getSymName() + "_prepare").str(),
      b.getFunctionType(func.getArgumentTypes(), types));
  if (ArrayAttr attributes = func.getAllArgAttrs())
    preparation.setAllArgAttrs(attributes);
  preparation->setAttr(kPrepares, FlatSymbolRefAttr::get(func));
  setWhereItRuns(preparation, func);
  symbols.insert(preparation);
  for (auto [i, name] : llvm::enumerate(valueNames)) {
    preparation.setResultAttr(i, kRoleAttr, b.getStringAttr("prepared"));
    preparation.setResultAttr(i, kNameAttr, name);
  }
  IRMapping mapping;
  Block *entry = preparation.addEntryBlock();
  mapping.map(block.getArguments(), entry->getArguments());
  b.setInsertionPointToEnd(entry);
  for (Operation *op : prepared)
    b.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value value : values)
    results.push_back(mapping.lookup(value));
  func::ReturnOp::create(b, func.getLoc(), results);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*entry)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Of a packed value (`kPacked`); null for others.
DictionaryAttr Hoister::describePacked(Value value) {
  auto library = value.getDefiningOp<rt::LibraryOp>();
  DictionaryAttr packed =
      library ? getPackedResult(library.getKernel()) : nullptr;
  if (!packed)
    return nullptr;
  // A reorder keeps the numbers; what another kernel computes is its own.
  StringRef kind = library.getKernel().getAs<StringAttr>("kind").getValue();
  Attribute source = keys[value];
  if (kind == "reorder")
    source =
        b.getArrayAttr({keys.lookup(library->getOperand(0)),
                        library.getKernel().getAs<ArrayAttr>("memories")[0]});
  int64_t number = sources.try_emplace(source, sources.size()).first->second;
  NamedAttrList list(packed);
  list.set("source", b.getI64IntegerAttr(number));
  return list.getDictionary(b.getContext());
}

LogicalResult Hoister::run() {
  findPrepared();
  SmallVector<Value> values;
  SmallVector<StringAttr> valueNames;
  for (Operation *op : prepared) {
    if (isAlias(op))
      continue; // it costs nothing where it is
    for (Value result : op->getResults()) {
      if (!isNeeded(result))
        continue;
      StringAttr &name = names[keys[result]];
      if (!name)
        name = b.getStringAttr("prepared_" + Twine(names.size() - 1));
      // Twice the same computation is one buffer and one argument.
      auto *known = llvm::find(valueNames, name);
      if (known != valueNames.end()) {
        result.replaceAllUsesWith(values[known - valueNames.begin()]);
        continue;
      }
      values.push_back(result);
      valueNames.push_back(name);
    }
  }
  if (values.empty())
    return success();
  SmallVector<BlockArgument> arguments;
  for (auto [value, name] : llvm::zip_equal(values, valueNames)) {
    unsigned number = func.getNumArguments();
    NamedAttrList attributes;
    attributes.set(kRoleAttr, b.getStringAttr("prepared"));
    attributes.set(kNameAttr, name);
    if (DictionaryAttr packed = describePacked(value))
      attributes.set(kPacked, packed);
    if (failed(func.insertArgument(number, value.getType(),
                                   attributes.getDictionary(func.getContext()),
                                   value.getLoc())))
      return failure();
    arguments.push_back(func.getArgument(number));
  }
  makePreparation(values, valueNames);
  for (auto [value, argument] : llvm::zip_equal(values, arguments))
    value.replaceAllUsesWith(argument);
  for (Operation *op : llvm::reverse(prepared.getArrayRef()))
    if (isOpTriviallyDead(op))
      op->erase();
  return success();
}

namespace {
struct HoistPreparationPass
    : mlir::dist::impl::HoistPreparationPassBase<HoistPreparationPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::DenseMap<Attribute, StringAttr> names;
    llvm::DenseMap<Attribute, int64_t> sources;
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (func.isDeclaration() || func.isPrivate() || func->hasAttr(kPrepares))
        continue;
      if (failed(Hoister(func, symbols, names, sources).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
