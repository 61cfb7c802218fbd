//===- EntryPart.cpp - A program's part of an entry -*- C++ -*- -===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/EntryPart.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Stage.h"

using namespace mlir;
using namespace mlir::dist;

EntryPart mlir::dist::createEntryPart(func::FuncOp entry, const Twine &name,
                                      function_ref<bool(BlockArgument)> keeps) {
  OpBuilder builder(entry);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument : entry.getArguments()) {
    if (!keeps(argument))
      continue;
    NamedAttrList list(entry.getArgAttrDict(argument.getArgNumber()));
    list.set(kEntryIndexAttr,
             builder.getI64IntegerAttr(argument.getArgNumber()));
    arguments.push_back(argument);
    types.push_back(argument.getType());
    attributes.push_back(list.getDictionary(builder.getContext()));
  }
  EntryPart part;
  part.function = func::FuncOp::create(builder, entry.getLoc(), name.str(),
                                       builder.getFunctionType(types, {}));
  for (NamedAttribute attribute : entry->getDiscardableAttrs())
    part.function->setAttr(attribute.getName(), attribute.getValue());
  part.function->setAttr(kEntryAttr, builder.getStringAttr(entry.getSymName()));
  part.function.setAllArgAttrs(attributes);
  Block *block = part.function.addEntryBlock();
  for (auto [from, to] : llvm::zip(arguments, block->getArguments())) {
    to.setLoc(from.getLoc());
    part.values.map(from, to);
  }
  return part;
}

void mlir::dist::finishEntryPart(EntryPart &part, func::FuncOp entry,
                                 ArrayRef<unsigned> numbers,
                                 ValueRange values) {
  OpBuilder builder(entry.getContext());
  builder.setInsertionPointToEnd(&part.function.front());
  func::ReturnOp::create(builder, entry.front().getTerminator()->getLoc(),
                         values);
  part.function.setType(builder.getFunctionType(
      part.function.getArgumentTypes(), values.getTypes()));
  SmallVector<DictionaryAttr> attributes;
  for (unsigned number : numbers) {
    NamedAttrList list(entry.getResultAttrDict(number));
    list.set(kEntryIndexAttr, builder.getI64IntegerAttr(number));
    attributes.push_back(list.getDictionary(builder.getContext()));
  }
  part.function.setAllResultAttrs(attributes);
  int64_t id = 0;
  part.function.walk([&](CollectiveOpInterface collective) {
    if (!collective.isLocal())
      collective.setCollectiveId(id++);
  });
}
