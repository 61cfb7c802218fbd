//===- Signature.h - A function's arguments and results ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_SIGNATURE_H
#define DIALECTS_INTERFACES_SIGNATURE_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// Types and attributes of a function's arguments and results, changed
/// together. A context keeps every type and list of attributes that a function
/// ever had: one change at a time takes memory that grows with their number
/// squared, and large models have thousands.
class Signature {
public:
  explicit Signature(FunctionOpInterface function);

  /// One side; by number.
  struct Ports {
    SmallVector<Type> types;
    SmallVector<NamedAttrList> attributes;

    void add(Type type, DictionaryAttr named) {
      types.push_back(type);
      attributes.emplace_back(named);
    }
  };
  Ports arguments, results;

  /// Gives the function all of it; the body's block is the caller's.
  void apply();

private:
  FunctionOpInterface function;
};

} // namespace mlir::dist

#endif // DIALECTS_INTERFACES_SIGNATURE_H
