//===- predict.h - Any number of examples -----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A package has "predict" for its batch, and may have "predict_batchN" for
// others. Examples go through those that take the least time together; what the
// last lacks is filled up with copies of the last example.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PREDICT_H
#define RUNTIME_CORE_PREDICT_H

#include "runtime/core/session.h"
#include <functional>
#include <string>
#include <vector>

namespace dist {

/// How the entries for other batches than the package's are named: this, then
/// the number of examples.
inline constexpr char kPredictBatch[] = "predict_batch";

/// An entry that predicts so many examples at once, in so many seconds as the
/// compiler predicted (0: it did not). No examples: its inputs have no batch.
struct PredictEntry {
  const manifest::Entry *entry = nullptr;
  int64_t rows = 0;
  double seconds = 0;
};

/// The package's "predict", then those for other batches, in any order.
std::vector<PredictEntry>
findPredictEntries(const manifest::Manifest &manifest);

/// Which entries predict `rows` examples together in the least time, by number,
/// those of more examples first. Entries have examples.
std::vector<size_t> coverExamples(const std::vector<PredictEntry> &entries,
                                  int64_t rows);

/// Predicts. `inputs` are the arguments of "predict", in its order, of its
/// types and shapes, but for any one number of examples; so are `outputs` its
/// results. `stops`, if it is one, is asked between two runs: it ends the
/// call as cancelled, in all processes.
Status predictExamples(Session &session, const std::vector<TensorView> &inputs,
                       std::vector<Tensor> *outputs,
                       const std::function<bool()> &stops = nullptr);

} // namespace dist

#endif // RUNTIME_CORE_PREDICT_H
