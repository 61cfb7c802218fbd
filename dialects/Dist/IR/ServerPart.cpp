//===- ServerPart.cpp - Which rows of a variable a server holds -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/ServerPart.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dist;

SmallVector<ServerPart> mlir::dist::getServerParts(Operation *variable) {
  SmallVector<ServerPart> parts;
  if (auto list = variable->getAttrOfType<ArrayAttr>(kServerPartsAttr))
    for (auto part : list.getAsRange<DictionaryAttr>()) {
      auto number = [&](StringRef name) {
        return part.getAs<IntegerAttr>(name).getInt();
      };
      parts.push_back({number("server"), number("begin"), number("size")});
    }
  return parts;
}

void mlir::dist::setServerParts(Operation *variable,
                                ArrayRef<ServerPart> parts) {
  Builder builder(variable->getContext());
  SmallVector<Attribute> list;
  for (const ServerPart &part : parts) {
    auto number = [&](StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    list.push_back(builder.getDictionaryAttr({number("server", part.server),
                                              number("begin", part.begin),
                                              number("size", part.size)}));
  }
  variable->setAttr(kServerPartsAttr, builder.getArrayAttr(list));
}

std::string mlir::dist::getPartName(StringRef variable, size_t number,
                                    size_t count) {
  return variable.str() +
         (count > 1 ? "/part_" + std::to_string(number) : std::string());
}

HostTensor mlir::dist::cutRows(const HostTensor &whole, RankedTensorType type,
                               int64_t begin) {
  if (type == whole.getType())
    return whole;
  HostTensor rows(type);
  int64_t first = begin * (whole.getNumElements() / whole.getShape()[0]);
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    if (whole.isFloat())
      rows.setDouble(i, whole.getDouble(first + i));
    else
      rows.setInt(i, whole.getInt(first + i));
  return rows;
}

LogicalResult mlir::dist::verifyServerParts(Operation *op,
                                            Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  int64_t end = 0;
  bool isGood = list && !list.empty();
  for (Attribute one : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto part = dyn_cast<DictionaryAttr>(one);
    auto number = [&](StringRef name) {
      auto value = part ? part.getAs<IntegerAttr>(name) : IntegerAttr();
      return value && value.getType().isInteger(64) ? value.getInt() : -1;
    };
    isGood &= number("server") >= 0 && number("begin") == end &&
              number("size") >= 0 && part.size() == 3;
    end += number("size");
  }
  if (!isGood)
    return op->emitOpError()
           << "expected dist.server_parts to be parts {server, begin, size}, "
              "each behind the one before";
  return success();
}
