//===- MachineModel.h - What a device can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_MACHINEMODEL_H
#define PASSES_ANALYSIS_MACHINEMODEL_H

#include "mlir/IR/Operation.h"
#include <memory>

namespace mlir::dist {

class TransferTimes;

/// What is between ranks: what one sends a second, and how long a message
/// takes.
struct Link {
  double bytesPerSecond, latency;
  double getSeconds(double bytesSent, int64_t steps) const {
    return double(steps) * latency + bytesSent / bytesPerSecond;
  }
};

/// What a device can do, for the predicted time: figures of one thread, and
/// what several are together. The defaults are those of a server CPU, in f32.
struct MachineModel {
  /// Contractions: products of matrices, in bf16, convolutions, the gradients
  /// of their inputs and filters.
  double flopsPerSecond = 1.2e11;
  double bf16FlopsPerSecond = 1.2e11;
  double convFlopsPerSecond = 1.1e11;
  double inputGradFlopsPerSecond = 1e11;
  double filterGradFlopsPerSecond = 8e10;
  /// Of more than `cacheBytes`, and of less.
  double memoryBytesPerSecond = 1.2e10;
  double cacheBytesPerSecond = 2.5e10;
  double cacheBytes = 12 << 20;
  /// Between ranks of a process, and between those of several.
  Link link = {1e10, 1e-6};
  Link processLink = {1e10, 1e-6};
  /// What is known of collectives beside these.
  std::shared_ptr<const TransferTimes> transfers;
  /// That ranks are spread over evenly: those on one share its cores.
  int64_t hosts = 1;
  /// Until a thread that sleeps goes on: the host's, or one that waits for it.
  double wakeSeconds = 3e-5;
  /// The threads of a device, and what each further one in use adds.
  int64_t threads = 1;
  double threadEfficiency = 0.9, memoryThreadEfficiency = 0.8;
  /// Cores that the devices share; 0: enough for all.
  int64_t cores = 0;
  /// Of `used` of a device's threads together, against one that is alone, where
  /// `ranks` devices do the same: they share cores and what is between them and
  /// the memory.
  double getSpeedup(int64_t ranks, double efficiency, int64_t used) const {
    double all = double(ranks) * double(used);
    if (cores > 0 && all > double(cores))
      all = double(cores);
    // Devices without a common limit have each the speed of its own threads.
    if (cores == 0)
      return 1 + efficiency * double(used - 1);
    return (1 + efficiency * (all - 1)) / double(ranks);
  }
  double getSpeedup(int64_t ranks) const {
    return getSpeedup(ranks, threadEfficiency, threads);
  }
  /// What the memory gives a thread when a kernel of all ranks touches so much.
  double getBytesPerSecond(double bytes, int64_t ranks) const {
    return bytes * double(ranks) <= cacheBytes ? cacheBytesPerSecond
                                               : memoryBytesPerSecond;
  }
};

/// Predicted time of an op on one of `ranks` devices; 0 of one without costs.
double predictSeconds(Operation *op, const MachineModel &machine,
                      int64_t ranks = 1);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_MACHINEMODEL_H
