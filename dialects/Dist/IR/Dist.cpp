//===- Dist.cpp - The dist dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Dist/IR/OwnAxis.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/PulledRows.h"
#include "dialects/Dist/IR/ServerPart.h"
#include "dialects/Dist/IR/CopyPlace.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/Dist/IR/DistDialect.cpp.inc"
#include "dialects/Dist/IR/DistEnums.cpp.inc"

void DistDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/IR/DistOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// Checks that `attribute` is a sharding that fits `type` and a mesh in scope.
static LogicalResult
verifySharding(Operation *scope, Attribute attribute, Type type,
               function_ref<InFlightDiagnostic()> emitError) {
  auto sharding = dyn_cast<ShardingAttr>(attribute);
  if (!sharding)
    return emitError() << "expected a #dist.sharding, but got " << attribute;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError()
           << "expected a sharding only on a tensor, but got one on " << type;
  // Everything that moves or keeps it counts its bytes.
  if (!tensor.hasStaticShape())
    return emitError() << "expected a sharding of a tensor whose dims have "
                          "sizes, but got one of "
                       << type;
  if (int64_t(sharding.getNumDims()) != tensor.getRank())
    return emitError() << "expected a sharding of " << tensor.getRank()
                       << " dims for " << type << ", but got one of "
                       << sharding.getNumDims();
  auto mesh =
      SymbolTable::lookupNearestSymbolFrom<MeshOp>(scope, sharding.getMesh());
  if (!mesh)
    return emitError() << "expected a dist.mesh named " << sharding.getMesh();
  auto checkAxis = [&](StringAttr axis) -> LogicalResult {
    if (mesh.getAxisSize(axis) > 0)
      return success();
    InFlightDiagnostic error = emitError()
                               << "expected an axis of " << sharding.getMesh()
                               << ", but got '" << axis.getValue() << "'";
    if (auto parts = findAxes(mesh, axis); !parts.empty())
      error << ", which stands in parts there: '" << formatAxes(parts) << "'";
    return error;
  };
  for (DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes())
      if (failed(checkAxis(axis)))
        return failure();
  for (ArrayRef<StringAttr> axes :
       {sharding.getUnreduced(), sharding.getReplicated()})
    for (StringAttr axis : axes)
      if (failed(checkAxis(axis)))
        return failure();
  return success();
}

/// Rows of the mesh's table of sources.
static LogicalResult
verifyRows(NamedAttribute attribute,
           llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (isa<DenseI32ArrayAttr>(attribute.getValue()))
    return success();
  return emitError() << "expected row numbers as "
                     << attribute.getName().getValue();
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kOrigin) {
    if (!isa<IntegerAttr>(attribute.getValue()))
      return op->emitOpError() << "expected an integer as dist.origin";
    return success();
  }
  // Of ops that stand for all microbatches' copies, these are marks.
  if ((attribute.getName() == kMicrobatchAttr ||
       attribute.getName() == kBackwardAttr) &&
      isa<UnitAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() == kStageAttr ||
      attribute.getName() == kMicrobatchAttr ||
      attribute.getName() == kShownMicrobatchesAttr) {
    auto number = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!number || number.getInt() < 0)
      return op->emitOpError()
             << "expected a number >= 0 as " << attribute.getName().getValue();
    return success();
  }
  if (attribute.getName() == kPortionAttr)
    return verifyPortion(op, attribute.getValue());
  if (attribute.getName() == kOwnAxisAttr)
    return verifyOwnAxis(op, attribute.getValue());
  if (attribute.getName() == kPulledRowsAttr)
    return verifyPulledRows(op, attribute.getValue());
  if (attribute.getName() == kServerPartsAttr)
    return verifyServerParts(op, attribute.getValue());
  if (attribute.getName() == kSourcesAttr || attribute.getName() == kCausesAttr)
    return verifyRows(attribute, [&] { return op->emitOpError(); });
  if (attribute.getName() == kWhyAttr) {
    auto reasons = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (!reasons || !llvm::all_of(reasons, [](NamedAttribute reason) {
          return isa<StringAttr>(reason.getValue());
        }))
      return op->emitOpError() << "expected a text an axis as dist.why";
    return success();
  }
  if (attribute.getName() == kPlacementAttr) {
    if (!isa<PlacementAttr>(attribute.getValue()))
      return op->emitOpError()
             << "expected a #dist.placement as dist.placement";
    return success();
  }
  if (attribute.getName() == kEntryAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << "expected a name as dist.entry";
    return success();
  }
  if (attribute.getName() == kShardings) {
    auto list = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!list || list.size() != op->getNumResults())
      return op->emitOpError()
             << "expected dist.shardings to have one sharding a result";
    for (auto [sharding, type] : llvm::zip(list, op->getResultTypes()))
      if (failed(verifySharding(op, sharding, type,
                                [&] { return op->emitOpError(); })))
        return failure();
    return success();
  }
  return op->emitOpError() << "unexpected attribute "
                           << attribute.getName().getValue();
}

static LogicalResult verifyValueAttribute(Operation *op, Type type,
                                          NamedAttribute attribute,
                                          const Twine &what) {
  auto emitError = [&] { return op->emitOpError() << what << ": "; };
  if (attribute.getName() == DistDialect::kSharding)
    return verifySharding(op, attribute.getValue(), type, emitError);
  if (attribute.getName() == DistDialect::kGlobalType) {
    auto typeAttr = dyn_cast<TypeAttr>(attribute.getValue());
    if (!typeAttr || !isa<RankedTensorType>(typeAttr.getValue()))
      return emitError() << "expected a tensor type as dist.global_type";
    return success();
  }
  if (attribute.getName() == kSourcesAttr)
    return verifyRows(attribute, emitError);
  if (attribute.getName() == kEntryIndexAttr) {
    auto number = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!number || number.getInt() < 0)
      return emitError() << "expected a number >= 0 as dist.entry_index";
    return success();
  }
  return emitError() << "unexpected attribute "
                     << attribute.getName().getValue();
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned argument,
                                                    NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "expected dist attributes only on functions";
  return verifyValueAttribute(op, function.getArgumentTypes()[argument],
                              attribute, "argument " + Twine(argument));
}

LogicalResult DistDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned result, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "expected dist attributes only on functions";
  return verifyValueAttribute(op, function.getResultTypes()[result], attribute,
                              "result " + Twine(result));
}

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

static ParseResult parseMeshAxes(OpAsmParser &parser, ArrayAttr &names,
                                 DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> nameList;
  SmallVector<int64_t> sizeList;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    if (parser.parseString(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    nameList.push_back(parser.getBuilder().getStringAttr(name));
    sizeList.push_back(size);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  names = parser.getBuilder().getArrayAttr(nameList);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(sizeList);
  return success();
}

static void printMeshAxes(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                          DenseI64ArrayAttr sizes) {
  printer << "[";
  llvm::interleaveComma(
      llvm::zip(names, sizes.asArrayRef()), printer, [&](auto pair) {
        printer << std::get<0>(pair) << "=" << std::get<1>(pair);
      });
  printer << "]";
}

/// More than any cluster has, and few enough that no product with a tensor's
/// size overflows.
static constexpr uint64_t kMostRanks = uint64_t(1) << 20;

LogicalResult MeshOp::verify() {
  if (getAxisNames().size() != getAxisSizes().size())
    return emitOpError() << "expected as many axis names as sizes";
  llvm::StringSet<> seen;
  uint64_t ranks = 1;
  for (auto [name, size] :
       llvm::zip(getAxisNames().getAsRange<StringAttr>(), getAxisSizes())) {
    if (name.empty())
      return emitOpError() << "expected axes to have names";
    if (!seen.insert(name.getValue()).second)
      return emitOpError() << "expected axis '" << name.getValue()
                           << "' to be listed once";
    if (size < 1)
      return emitOpError() << "expected axis '" << name.getValue()
                           << "' to have a size >= 1, but got " << size;
    ranks = llvm::SaturatingMultiply(ranks, uint64_t(size));
  }
  if (ranks > kMostRanks)
    return emitOpError() << "expected at most " << kMostRanks
                         << " ranks, but got " << ranks;
  if (failed(verifyParts(*this)))
    return failure();
  return verifyProcesses(*this);
}

int64_t MeshOp::getNumRanks() {
  int64_t ranks = 1;
  for (int64_t size : getAxisSizes())
    ranks *= size;
  return ranks;
}

int64_t MeshOp::getAxisSize(StringRef name) {
  for (auto [axis, size] :
       llvm::zip(getAxisNames().getAsRange<StringAttr>(), getAxisSizes()))
    if (axis.getValue() == name)
      return size;
  return 0;
}

int64_t MeshOp::getGroupSize(ArrayRef<StringAttr> axes) {
  int64_t size = 1;
  // One that the mesh has not is another mesh's, of microbatches: its parts are
  // none of these ranks'.
  for (StringAttr axis : axes)
    size *= std::max<int64_t>(getAxisSize(axis), 1);
  return size;
}

//===----------------------------------------------------------------------===//
// ReshardOp, WaitOp
//===----------------------------------------------------------------------===//

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(*this, getTarget(), getType(),
                        [&] { return emitOpError(); });
}

LogicalResult WaitOp::verify() {
  if (TypeRange(getOutputs().getTypes()) !=
      TypeRange(getToken().getType().getResults()))
    return emitOpError() << "expected the result types of "
                         << getToken().getType();
  if (!getToken().getDefiningOp<CollectiveOpInterface>())
    return emitOpError() << "expected a token of a start op";
  if (!getToken().hasOneUse())
    return emitOpError() << "expected its token to be waited for once";
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Dist/IR/DistOps.cpp.inc"
