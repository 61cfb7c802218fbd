//===- Decomposable.h - See Decomposable.td -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_DECOMPOSABLE_H
#define DIALECTS_INTERFACES_DECOMPOSABLE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

#include "dialects/Interfaces/Decomposable.h.inc"

#endif // DIALECTS_INTERFACES_DECOMPOSABLE_H
