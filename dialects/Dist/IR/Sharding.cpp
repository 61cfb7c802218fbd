//===- Sharding.cpp - Attributes and types of the dist dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/IR/DistAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/IR/DistTypes.cpp.inc"

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dist/IR/DistAttrs.cpp.inc"
      >();
}

void DistDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Dist/IR/DistTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// `"a"`, or a part of it, `"a":(2)4`.
static ParseResult parseAxis(AsmParser &parser,
                             SmallVectorImpl<StringAttr> &axes) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon())) {
    AxisPart part;
    part.axis = name;
    auto loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseInteger(part.before) ||
        parser.parseRParen() || parser.parseInteger(part.size))
      return failure();
    if (part.before < 1 || part.size < 2)
      return parser.emitError(loc, "expected a part of an axis as (PRE)SIZE "
                                   "with PRE >= 1 and SIZE >= 2");
    name = part.getName();
  }
  axes.push_back(parser.getBuilder().getStringAttr(name));
  return success();
}

static void printAxes(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  llvm::interleaveComma(axes, printer);
}

/// Shardy's `p1` behind a dim; 0 if there is none.
static ParseResult parsePriority(AsmParser &parser, int64_t &priority) {
  StringRef word;
  auto loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  if (!word.consume_front("p") || word.getAsInteger(10, priority))
    return parser.emitError(loc, "expected a priority such as p1 behind a dim");
  return success();
}

/// `{"a", "b", ?}p1`
static FailureOr<DimShardingAttr> parseDim(AsmParser &parser) {
  SmallVector<StringAttr> axes;
  bool open = false;
  auto parseEntry = [&]() -> ParseResult {
    if (open)
      return parser.emitError(parser.getCurrentLocation(),
                              "expected '?' to be the last of a dim");
    if (succeeded(parser.parseOptionalQuestion())) {
      open = true;
      return success();
    }
    return parseAxis(parser, axes);
  };
  int64_t priority = 0;
  auto loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                     parseEntry) ||
      parsePriority(parser, priority))
    return failure();
  if (priority && axes.empty() && !open)
    return parser.emitError(loc, "expected no priority of a closed dim that is "
                                 "not split: it has nothing to spread");
  return DimShardingAttr::get(parser.getContext(), axes, open, priority);
}

static void printDim(AsmPrinter &printer, DimShardingAttr dim) {
  printer << "{";
  printAxes(printer, dim.getAxes());
  if (dim.getOpen())
    printer << (dim.getAxes().empty() ? "?" : ", ?");
  printer << "}";
  if (dim.getPriority())
    printer << "p" << dim.getPriority();
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  auto dim = parseDim(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDim(printer, *this);
  printer << ">";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<StringAttr> unreduced, replicated;
  auto parseOneDim = [&]() -> ParseResult {
    auto dim = parseDim(parser);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    return success();
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOneDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    SmallVector<StringAttr> &axes =
        succeeded(parser.parseOptionalKeyword("replicated")) ? replicated
                                                             : unreduced;
    if ((&axes == &unreduced && parser.parseKeyword("unreduced")) ||
        parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                       [&] { return parseAxis(parser, axes); }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(parser.getContext(), mesh, dims,
                                         unreduced, replicated);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](DimShardingAttr dim) { printDim(printer, dim); });
  printer << "]";
  auto printSet = [&](StringRef name, ArrayRef<StringAttr> axes) {
    if (axes.empty())
      return;
    printer << ", " << name << " = {";
    printAxes(printer, axes);
    printer << "}";
  };
  printSet("unreduced", getUnreduced());
  printSet("replicated", getReplicated());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// ShardingAttr
//===----------------------------------------------------------------------===//

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr mesh,
                                   ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<StringAttr> unreduced,
                                   ArrayRef<StringAttr> replicated) {
  llvm::SmallPtrSet<Attribute, 4> seen;
  auto check = [&](ArrayRef<StringAttr> axes) -> LogicalResult {
    for (StringAttr axis : axes)
      if (!seen.insert(axis).second)
        return emitError() << "expected axis '" << axis.getValue()
                           << "' to be used once in a sharding";
    return success();
  };
  for (DimShardingAttr dim : dims)
    if (failed(check(dim.getAxes())))
      return failure();
  return success(succeeded(check(unreduced)) && succeeded(check(replicated)));
}

SmallVector<DimShardingAttr>
ShardingAttr::getClosedDims(MLIRContext *context,
                            ArrayRef<SmallVector<StringAttr>> dimAxes) {
  SmallVector<DimShardingAttr> dims;
  for (const SmallVector<StringAttr> &axes : dimAxes)
    dims.push_back(DimShardingAttr::get(context, axes, /*open=*/false));
  return dims;
}

ShardingAttr ShardingAttr::getWhole(FlatSymbolRefAttr mesh, unsigned numDims) {
  SmallVector<SmallVector<StringAttr>> dims(numDims);
  return get(mesh, dims);
}

ShardingAttr ShardingAttr::getOpen(FlatSymbolRefAttr mesh, unsigned numDims,
                                   ArrayRef<StringAttr> replicated) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> dims(
      numDims, DimShardingAttr::get(context, {}, /*open=*/true));
  return get(context, mesh, dims, ArrayRef<StringAttr>(), replicated);
}

bool ShardingAttr::splitsNoDim() const {
  return llvm::all_of(
      getDims(), [](DimShardingAttr dim) { return dim.getAxes().empty(); });
}

bool ShardingAttr::splitsOver(StringAttr axis) const {
  return llvm::any_of(getDims(), [&](DimShardingAttr dim) {
    return llvm::is_contained(dim.getAxes(), axis);
  });
}

ShardingAttr ShardingAttr::withUnreduced(ArrayRef<StringAttr> axes) const {
  return get(getContext(), getMesh(), getDims(), axes, getReplicated());
}

ShardingAttr ShardingAttr::withDim(unsigned dim, ArrayRef<StringAttr> axes,
                                   std::optional<int64_t> priority) const {
  SmallVector<DimShardingAttr> dims(getDims());
  int64_t own = axes.empty() ? 0 : priority.value_or(getPriority(dim));
  dims[dim] = DimShardingAttr::get(getContext(), axes, /*open=*/false, own);
  return get(getContext(), getMesh(), dims, getUnreduced(), getReplicated());
}

ShardingAttr ShardingAttr::withoutReplicated() const {
  return get(getContext(), getMesh(), getDims(), getUnreduced(),
             ArrayRef<StringAttr>());
}

ShardingAttr ShardingAttr::closed() const {
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : getDims())
    dims.push_back(
        DimShardingAttr::get(getContext(), dim.getAxes(), /*open=*/false,
                             dim.getAxes().empty() ? 0 : dim.getPriority()));
  return get(getContext(), getMesh(), dims, getUnreduced(),
             ArrayRef<StringAttr>());
}

bool ShardingAttr::hasSameDims(ShardingAttr other) const {
  return llvm::equal(getDims(), other.getDims(),
                     [](DimShardingAttr a, DimShardingAttr b) {
                       return a.getAxes() == b.getAxes();
                     });
}
