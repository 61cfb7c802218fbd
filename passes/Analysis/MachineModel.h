//===- MachineModel.h - What a device can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_MACHINEMODEL_H
#define PASSES_ANALYSIS_MACHINEMODEL_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// What a device can do, for the predicted time. The defaults are those of one
/// thread of a server CPU, in f32.
struct MachineModel {
  double flopsPerSecond = 6e10;
  double memoryBytesPerSecond = 1e10;
  double transferBytesPerSecond = 5e9;
  double transferLatency = 5e-6;
  /// The threads of a device, and what each further one adds.
  int64_t threads = 1;
  double threadEfficiency = 0.9;
  /// Cores that the devices share; 0: enough for all.
  int64_t cores = 0;
  /// Of a device's threads together, against one, where `ranks` devices run.
  double getSpeedup(int64_t ranks) const {
    double all = 1 + threadEfficiency * double(threads > 1 ? threads - 1 : 0);
    return cores > 0 && ranks * threads > cores
               ? all * double(cores) / double(ranks * threads)
               : all;
  }
  double getTransferSeconds(double bytesSent, int64_t steps) const {
    return double(steps) * transferLatency + bytesSent / transferBytesPerSecond;
  }
};

/// Predicted time of an op on one of `ranks` devices; 0 of one without costs.
double predictSeconds(Operation *op, const MachineModel &machine,
                      int64_t ranks = 1);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_MACHINEMODEL_H
