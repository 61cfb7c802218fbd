//===- calibrate.h - What this machine can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_CALIBRATE_H
#define RUNTIME_TRAIN_CALIBRATE_H

#include "runtime/core/machine_figures.h"
#include "runtime/core/status.h"

namespace dist {

/// Measures for a few seconds; other work beside shows in the figures.
Status calibrate(MachineFigures *out);

} // namespace dist

#endif // RUNTIME_TRAIN_CALIBRATE_H
