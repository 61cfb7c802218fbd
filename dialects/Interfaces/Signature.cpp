//===- Signature.cpp - A function's arguments and results -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Signature.h"

using namespace mlir;
using namespace mlir::dist;

Signature::Signature(FunctionOpInterface function) : function(function) {
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes()))
    arguments.add(type, function.getArgAttrDict(number));
  for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
    results.add(type, function.getResultAttrDict(number));
}

void Signature::apply() {
  function.setType(function.cloneTypeWith(arguments.types, results.types));
  auto getDictionaries = [&](Ports &ports) {
    return llvm::map_to_vector(ports.attributes, [&](NamedAttrList &list) {
      return list.getDictionary(function->getContext());
    });
  };
  function.setAllArgAttrs(getDictionaries(arguments));
  function.setAllResultAttrs(getDictionaries(results));
}
