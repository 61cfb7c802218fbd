//===- machine.h - Measured figures of a machine, as a file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `dist-run bench --calibrate` writes it, dist-opt predicts by it.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_MACHINE_H
#define TOOLS_OPTIONS_MACHINE_H

#include "runtime/core/machine_figures.h"
#include "runtime/core/status.h"
#include <string>

namespace dist::tools {

/// `given`, else where calibration stores them.
std::string machineFile(const std::string &given);
Status readMachineFigures(const std::string &given, MachineFigures *out);
Status writeMachineFigures(const std::string &given,
                           const MachineFigures &figures);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_MACHINE_H
