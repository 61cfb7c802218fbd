//===- PulledRows.cpp - Rows of a table that a step looks up --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/PulledRows.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dist;

std::optional<PulledRows> mlir::dist::findPulledRows(Operation *table) {
  auto attribute = table->getAttrOfType<DictionaryAttr>(kPulledRowsAttr);
  if (!attribute)
    return std::nullopt;
  PulledRows pulled;
  pulled.rows = attribute.getAs<FlatSymbolRefAttr>("rows");
  pulled.places = attribute.getAs<FlatSymbolRefAttr>("places");
  auto inputs = attribute.getAs<ArrayAttr>("inputs").getAsRange<StringAttr>();
  pulled.inputs.assign(inputs.begin(), inputs.end());
  return pulled;
}

void mlir::dist::setPulledRows(Operation *table, const PulledRows &pulled) {
  Builder builder(table->getContext());
  SmallVector<Attribute> inputs(pulled.inputs.begin(), pulled.inputs.end());
  table->setAttr(
      kPulledRowsAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("rows", pulled.rows),
           builder.getNamedAttr("places", pulled.places),
           builder.getNamedAttr("inputs", builder.getArrayAttr(inputs))}));
}

LogicalResult mlir::dist::verifyPulledRows(Operation *op, Attribute attribute) {
  auto pulled = dyn_cast<DictionaryAttr>(attribute);
  auto inputs = pulled ? pulled.getAs<ArrayAttr>("inputs") : ArrayAttr();
  bool isGood = pulled && pulled.size() == 3 && inputs && !inputs.empty() &&
                llvm::all_of(inputs, llvm::IsaPred<StringAttr>) &&
                pulled.getAs<FlatSymbolRefAttr>("rows") &&
                pulled.getAs<FlatSymbolRefAttr>("places");
  if (!isGood)
    return op->emitOpError()
           << "expected dist.pulled_rows to be {inputs, places, rows}: names "
              "of inputs, and two variables";
  return success();
}
