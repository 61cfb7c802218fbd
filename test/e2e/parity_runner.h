//===- parity_runner.h - Programs that step from given states ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_E2E_PARITY_RUNNER_H
#define TEST_E2E_PARITY_RUNNER_H

#include "runtime/train/entry.h"
#include <map>
#include <memory>

namespace dist::parity {

/// A gradient is read off an update: (old - new) / rate. At this rate, a power
/// of two, the update drowns the old value, whose rounding then does not show.
constexpr double kProbeRate = 65536;

/// Variables' values by name.
using Values = std::map<std::string, std::vector<float>>;

/// What one step gave.
struct Step {
  double loss = 0;
  Values gradient, state;
};

/// All variables but metrics, before a step.
using Snapshot = std::map<std::string, Tensor>;

/// ||a - b|| / ||b|| over all variables together; and the one that adds most.
struct Difference {
  double relative = 0;
  std::string worst;
};
Difference compare(const Values &found, const Values &expected);

/// A loaded program with its data.
class Runner {
public:
  static Status open(const std::string &package, const DataOptions &options,
                     Runner *out, const SessionOptions &session = {});

  /// Batches laid out as `other` wants them, whose program this one is.
  void adoptPlan(const Runner &other) { plan = other.plan; }
  int64_t batchSize() const { return plan.batch; }
  /// To the first batch, of examples shuffled by this seed.
  void rewind(uint64_t order = 0) {
    plan.shuffle = order;
    stream = std::make_unique<BatchStream>(*data, plan);
  }

  /// Trains one step on the next batch.
  Status step(double *loss);
  Status save(Snapshot *out);
  /// One step of this probe from there, on the next batch.
  Status probe(const Snapshot &from, Step *out);
  /// Takes over what this program has, too.
  Status restore(const Snapshot &from);

private:
  Status read(int index, Tensor *out);
  Status readAll(Values *parameters, Values *state);

  std::unique_ptr<Session> session;
  EntryPair entries;
  BatchPlan plan;
  std::unique_ptr<Dataset> data;
  std::unique_ptr<BatchStream> stream;
};

} // namespace dist::parity

#endif // TEST_E2E_PARITY_RUNNER_H
