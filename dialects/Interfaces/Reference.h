//===- Reference.h - Evaluation by plain loops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_REFERENCE_H
#define DIALECTS_INTERFACES_REFERENCE_H

#include "dialects/Interfaces/HostTensor.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Interfaces/Reference.h.inc"

#endif // DIALECTS_INTERFACES_REFERENCE_H
