//===- Sources.cpp - Where shardings came from -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Dist/IR/AxisParts.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

/// The mesh's attribute: `{names = [...], rows = array<i32: ...>}`. A row is
/// the numbers of axis, value, dim, result, op, place and the row before it.
static constexpr llvm::StringLiteral kTable = "sources";
static constexpr int32_t kWidth = 7;

SourceTable::SourceTable(MeshOp mesh) {
  auto table = mesh ? mesh->getAttrOfType<DictionaryAttr>(kTable) : nullptr;
  if (!table)
    return;
  names = table.getAs<ArrayAttr>("names");
  rows = table.getAs<DenseI32ArrayAttr>("rows");
  // Read from text, it may say anything.
  bool valid = names && rows && rows.size() % kWidth == 0 &&
               llvm::all_of(names, llvm::IsaPred<StringAttr>);
  for (int32_t row = 0; valid && row < size(); ++row) {
    ArrayRef<int32_t> cells = rows.asArrayRef().slice(row * kWidth, kWidth);
    for (int cell : {0, 1, 4, 5})
      valid &= cells[cell] >= 0 && cells[cell] < int32_t(names.size());
    // A row follows from an earlier one: chains end.
    valid &= cells[6] >= -1 && cells[6] < row;
  }
  if (!valid)
    rows = nullptr;
}

int32_t SourceTable::size() const { return rows ? rows.size() / kWidth : 0; }

Source SourceTable::get(int32_t row) const {
  ArrayRef<int32_t> cells = rows.asArrayRef().slice(row * kWidth, kWidth);
  auto name = [&](int cell) { return cast<StringAttr>(names[cells[cell]]); };
  return {name(0), name(1), cells[2], cells[3], name(4), name(5), cells[6]};
}

StringAttr SourceTable::getAxis(int32_t row) const {
  return cast<StringAttr>(names[rows[row * kWidth]]);
}

int32_t SourceTable::find(Attribute list, int32_t result,
                          StringAttr axis) const {
  for (int32_t row : getRows(list))
    if (row >= 0 && row < size() && rows[row * kWidth + 3] == result &&
        isAxisWithin(axis, getAxis(row)))
      return row;
  return -1;
}

int32_t SourceTable::find(Value value, StringAttr axis) const {
  if (!rows)
    return -1;
  auto result = dyn_cast<OpResult>(value);
  return find(findSources(value), result ? result.getResultNumber() : 0, axis);
}

SourceBuilder::SourceBuilder(MeshOp mesh) : kept(SourceTable(mesh).isKept()) {
  if (!kept)
    return;
  auto table = mesh->getAttrOfType<DictionaryAttr>(kTable);
  for (Attribute name : table.getAs<ArrayAttr>("names"))
    getNumber(cast<StringAttr>(name));
  rows = table.getAs<DenseI32ArrayAttr>("rows").asArrayRef().vec();
}

int32_t SourceBuilder::getNumber(StringAttr name) {
  auto [found, isNew] = numbers.try_emplace(name, names.size());
  if (isNew)
    names.push_back(name);
  return found->second;
}

int32_t SourceBuilder::add(const Source &source) {
  int32_t number = rows.size() / kWidth;
  for (int32_t cell : {getNumber(source.axis), getNumber(source.value),
                       source.dim, source.result, getNumber(source.op),
                       getNumber(source.place), source.from})
    rows.push_back(cell);
  return number;
}

StringAttr SourceBuilder::getAxis(int32_t row) const {
  return cast<StringAttr>(names[rows[row * kWidth]]);
}

void SourceBuilder::write(MeshOp mesh) const {
  Builder builder(mesh.getContext());
  mesh->setAttr(
      kTable,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("names", builder.getArrayAttr(names)),
           builder.getNamedAttr("rows", builder.getDenseI32ArrayAttr(rows))}));
}

ArrayRef<int32_t> mlir::dist::getRows(Attribute list) {
  auto rows = dyn_cast_or_null<DenseI32ArrayAttr>(list);
  return rows ? rows.asArrayRef() : ArrayRef<int32_t>();
}

Attribute mlir::dist::findSources(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op->getAttr(kSourcesAttr);
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function ? function.getArgAttr(argument.getArgNumber(), kSourcesAttr)
                  : Attribute();
}

void mlir::dist::addCauses(Operation *op, ArrayRef<int32_t> rows) {
  SmallVector<int32_t> all(getRows(op->getAttr(kCausesAttr)));
  size_t before = all.size();
  for (int32_t row : rows)
    if (row >= 0 && !llvm::is_contained(all, row))
      all.push_back(row);
  if (all.size() != before)
    op->setAttr(kCausesAttr, DenseI32ArrayAttr::get(op->getContext(), all));
}

void mlir::dist::addProgramCause(Operation *transfer, SourceBuilder &rows,
                                 StringRef axis, StringRef decision,
                                 Value value, Operation *reader) {
  if (!rows.isKept())
    return;
  Builder builder(transfer->getContext());
  auto text = [&](const Twine &text) { return builder.getStringAttr(text); };
  Source source{text(axis),    text(describeValue(value)), -1, 0, text(""),
                text(decision)};
  source.from = rows.add(source);
  if (reader) {
    source.value = text("'" + getOriginName(reader) + "'");
    source.op = reader->getName().getIdentifier();
    source.place = text(getOriginName(reader));
    source.from = rows.add(source);
  }
  addCauses(transfer, source.from);
}

/// Of the module: key -> why.
static constexpr llvm::StringLiteral kReasonsAttr = "dist.why";

void mlir::dist::setProgramReason(ModuleOp module, StringRef key,
                                  const Twine &reason) {
  NamedAttrList reasons(module->getAttrOfType<DictionaryAttr>(kReasonsAttr));
  reasons.set(key, StringAttr::get(module.getContext(), reason));
  module->setAttr(kReasonsAttr, reasons.getDictionary(module.getContext()));
}

std::string mlir::dist::getProgramReason(Operation *op, StringRef key) {
  auto module = op->getParentOfType<ModuleOp>();
  if (auto reasons = module->getAttrOfType<DictionaryAttr>(kReasonsAttr))
    if (auto reason = reasons.getAs<StringAttr>(key))
      return reason.str();
  return "its annotation";
}

/// Texts that name several sources, each once.
static std::string joinTexts(StringRef a, StringRef b) {
  llvm::StringSet<> seen;
  std::string joined;
  for (StringRef list : {a, b}) {
    SmallVector<StringRef> parts;
    list.split(parts, "; ");
    for (StringRef part : parts)
      if (seen.insert(part).second)
        joined += (joined.empty() ? "" : "; ") + part.str();
  }
  return joined;
}

void mlir::dist::addExplanation(Operation *op, Operation *other) {
  addCauses(op, getRows(other->getAttr(kCausesAttr)));
  for (StringRef name : {"reason", "origin"}) {
    auto text = op->getAttrOfType<StringAttr>(name);
    auto more = other->getAttrOfType<StringAttr>(name);
    if (text && more)
      op->setAttr(name,
                  StringAttr::get(op->getContext(), joinTexts(text, more)));
  }
}

/// The variable or input that the argument is.
static Attribute findGiven(BlockArgument argument) {
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (function)
    for (StringRef name : {kVariableAttr, kNameAttr})
      if (Attribute given = function.getArgAttr(argument.getArgNumber(), name))
        return given;
  return {};
}

std::string mlir::dist::getValueName(Value value) {
  if (Operation *definition = value.getDefiningOp())
    return getOriginName(definition);
  Attribute given = findGiven(cast<BlockArgument>(value));
  if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(given))
    return symbol.getValue().str();
  if (auto text = dyn_cast_or_null<StringAttr>(given))
    return text.str();
  std::string name = getLocationName(value.getLoc());
  return name.empty() ? "argument" : name;
}

std::string mlir::dist::describeValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Attribute given = findGiven(argument);
    if (!given)
      return "argument " + std::to_string(argument.getArgNumber());
    if (isa<FlatSymbolRefAttr>(given))
      return "variable '" + getValueName(value) + "'";
  }
  return "'" + getValueName(value) + "'";
}
