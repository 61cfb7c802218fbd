//===- Contraction.h - Sums of products -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_CONTRACTION_H
#define DIALECTS_INTERFACES_CONTRACTION_H

#include "mlir/IR/OpDefinition.h"

#include "dialects/Interfaces/Contraction.h.inc"

#endif // DIALECTS_INTERFACES_CONTRACTION_H
