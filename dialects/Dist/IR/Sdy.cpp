//===- Sdy.cpp - Shardy's text, for interchange -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sdy.h"
#include "dialects/Dist/IR/AxisParts.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;

MLIR_DEFINE_EXPLICIT_TYPE_ID(mlir::dist::SdyDialect)

SdyDialect::SdyDialect(MLIRContext *context)
    : Dialect(getDialectNamespace(), context, TypeID::get<SdyDialect>()) {
  context->getOrLoadDialect<DistDialect>();
  allowUnknownOperations();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute SdyDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  return OpaqueAttr::get(StringAttr::get(getContext(), getDialectNamespace()),
                         parser.getFullSymbolSpec(),
                         NoneType::get(getContext()));
}

Attribute mlir::dist::getSdyAttribute(MLIRContext *context, StringRef mnemonic,
                                      StringRef body) {
  return OpaqueAttr::get(
      StringAttr::get(context, SdyDialect::getDialectNamespace()),
      (mnemonic + "<" + body + ">").str(), NoneType::get(context));
}

std::optional<StringRef> mlir::dist::findSdyBody(Attribute attribute,
                                                 StringRef mnemonic) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attribute);
  if (!opaque ||
      opaque.getDialectNamespace() != SdyDialect::getDialectNamespace())
    return std::nullopt;
  StringRef text = opaque.getAttrData();
  if (!text.consume_front(mnemonic) || !text.consume_front("<") ||
      !text.consume_back(">"))
    return std::nullopt;
  return text.trim();
}

std::string mlir::dist::printSdyBody(ShardingAttr sharding) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto printAxes = [&](ArrayRef<StringAttr> axes) {
    llvm::interleaveComma(axes, os, [&](StringAttr axis) {
      auto part = AxisPart::parse(axis);
      os << '"' << (part ? StringRef(part->axis) : axis.getValue()) << '"';
      if (part)
        os << ":(" << part->before << ")" << part->size;
    });
  };
  os << sharding.getMesh() << ", [";
  llvm::interleaveComma(sharding.getDims(), os, [&](DimShardingAttr dim) {
    os << "{";
    printAxes(dim.getAxes());
    if (dim.getOpen())
      os << (dim.getAxes().empty() ? "?" : ", ?");
    os << "}";
    if (dim.getPriority())
      os << "p" << dim.getPriority();
  });
  os << "]";
  auto printSet = [&](StringRef name, ArrayRef<StringAttr> axes) {
    if (axes.empty())
      return;
    os << ", " << name << "={";
    printAxes(axes);
    os << "}";
  };
  printSet("replicated", sharding.getReplicated());
  printSet("unreduced", sharding.getUnreduced());
  return text;
}

FailureOr<ShardingAttr>
mlir::dist::parseSdyBody(MLIRContext *context, StringRef body,
                         llvm::function_ref<InFlightDiagnostic()> emitError) {
  // What Shardy has and we have not.
  if (llvm::Regex("^(mesh)?<|maximal").match(body)) {
    emitError() << "sharding <" << body
                << ">: a mesh that is written in place is not supported; give "
                   "it a name";
    return failure();
  }
  std::string why;
  Attribute parsed;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      why = diagnostic.str();
      return success();
    });
    parsed =
        mlir::parseAttribute(("#dist.sharding<" + body + ">").str(), context);
  }
  if (auto sharding = dyn_cast_or_null<ShardingAttr>(parsed))
    return sharding;
  emitError() << "sharding <" << body << ">: " << why;
  return failure();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// `sdy.mesh @mesh = <["a"=2, "b"=4]>`
static ParseResult parseMesh(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  auto parseAxis = [&]() -> ParseResult {
    std::string axis;
    if (parser.parseString(&axis) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(builder.getStringAttr(axis));
    return success();
  };
  if (parser.parseSymbolName(name) || parser.parseEqual() ||
      parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  if (succeeded(parser.parseOptionalComma()))
    return parser.emitError(parser.getCurrentLocation(),
                            "expected a mesh of axes alone: an order of "
                            "device_ids has no counterpart");
  state.addAttribute("sym_name", name);
  state.addAttribute("axis_names", builder.getArrayAttr(names));
  state.addAttribute("axis_sizes", builder.getDenseI64ArrayAttr(sizes));
  return failure(parser.parseGreater() ||
                 parser.parseOptionalAttrDict(state.attributes));
}

static void printMesh(Operation *op, OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(op->getAttrOfType<StringAttr>("sym_name"));
  printer << " = <[";
  llvm::interleaveComma(
      llvm::zip(
          op->getAttrOfType<ArrayAttr>("axis_names"),
          op->getAttrOfType<DenseI64ArrayAttr>("axis_sizes").asArrayRef()),
      printer, [&](auto axis) {
        printer << std::get<0>(axis) << "=" << std::get<1>(axis);
      });
  printer << "]>";
}

/// `sdy.sharding_constraint %x <@mesh, [{"a"}]> : tensor<8xf32>`
static ParseResult parseConstraint(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  Type type;
  if (parser.parseOperand(operand))
    return failure();
  Attribute sharding = ShardingAttr::parse(parser, Type());
  if (!sharding || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(operand, type, state.operands))
    return failure();
  state.addAttribute("sharding", sharding);
  state.addTypes(type);
  return success();
}

static void printConstraint(Operation *op, OpAsmPrinter &printer) {
  printer << " " << op->getOperand(0) << " <"
          << printSdyBody(op->getAttrOfType<ShardingAttr>("sharding")) << ">";
  printer << " : " << op->getResult(0).getType();
}

std::optional<Dialect::ParseOpHook>
SdyDialect::getParseOperationHook(StringRef name) const {
  if (name == kSdyMesh)
    return ParseOpHook(parseMesh);
  if (name == kSdyConstraint)
    return ParseOpHook(parseConstraint);
  return std::nullopt;
}

llvm::unique_function<void(Operation *, OpAsmPrinter &)>
SdyDialect::getOperationPrinter(Operation *op) const {
  StringRef name = op->getName().getStringRef();
  if (name == kSdyMesh && op->getAttrOfType<StringAttr>("sym_name") &&
      op->getAttrOfType<ArrayAttr>("axis_names") &&
      op->getAttrOfType<DenseI64ArrayAttr>("axis_sizes"))
    return printMesh;
  if (name == kSdyConstraint && op->getNumOperands() == 1 &&
      op->getNumResults() == 1 && op->getAttrOfType<ShardingAttr>("sharding"))
    return printConstraint;
  return nullptr;
}
