//===- Explain.h - What a program moves, holds and costs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module after dist-partition (or one without a mesh) and tells, before
// anything runs, every transfer with its reason, memory by kind, FLOPs and a
// predicted time. Rendered as a table for people and as JSON for programs.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAIN_H
#define PASSES_ANALYSIS_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

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
};

/// Predicted time of an op on one of `ranks` devices; 0 of one without costs.
double predictSeconds(Operation *op, const MachineModel &machine,
                      int64_t ranks = 1);

/// One collective.
struct TransferRow {
  std::string op;         // the op whose value is moved
  std::string tensor;     // its names and types
  std::string collective; // all_reduce, ...
  std::string group;      // axes and size: data (2 ranks)
  int64_t bytes = 0;      // of one rank's operands
  double bytesSent = 0;   // by one rank
  std::string often;      // each step, each batch
  std::string reason, place;
};

/// Bytes of one device, by what they are for. Activations and the peak are an
/// estimate by liveness, before fusion; the plan in a package is exact.
struct MemoryReport {
  int64_t parameters = 0, gradients = 0, slots = 0, otherState = 0;
  int64_t inputs = 0, activations = 0, communication = 0, peak = 0;
};

struct EntryReport {
  std::string name;
  /// Of a stage's function: schedule, microbatches, how long stages wait.
  std::string pipeline;
  std::vector<TransferRow> transfers;
  MemoryReport memory;
  double flops = 0, bytesMoved = 0;
  double predictedSeconds = 0, predictedTransferSeconds = 0;
};

struct ExplainReport {
  /// Such as: data=2; empty for one device.
  std::string mesh;
  int64_t ranks = 1;
  std::vector<EntryReport> entries;
};

ExplainReport explain(ModuleOp module, const MachineModel &machine = {});

std::string formatExplainTable(const ExplainReport &report);
std::string formatExplainJson(const ExplainReport &report);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAIN_H
