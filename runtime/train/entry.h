//===- entry.h - Calling an entry with a batch -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_ENTRY_H
#define RUNTIME_TRAIN_ENTRY_H

#include "runtime/core/session.h"
#include "runtime/core/told.h"
#include "runtime/data/batches.h"

namespace dist {

/// An entry with its arguments' places looked up once: a step costs no search.
class EntryCall {
public:
  /// `name` must be in the program. Of several processes each takes the rows of
  /// a batch that its ranks have; an input that is cut in another way is
  /// refused.
  static Status create(Session &session, const std::string &name,
                       EntryCall *out);
  /// Takes what the entry wants of a batch: data, mask and count.
  Status run(const Batch &batch, StepResult *result);
  /// The same in two halves, for calls of several batches at once.
  void fill(const Batch &batch, std::vector<TensorView> *inputs) const;
  /// What this process has of them (see hasResults).
  StepResult read(const std::vector<Tensor> &outputs) const;
  /// Whether its ranks give the loss and what belongs to it.
  bool hasResults() const;
  /// Adds the rows of a batch that this process's ranks have to [first, end).
  void widenRows(int64_t *first, int64_t *end) const;
  const manifest::Entry &entry() const { return *manifestEntry; }
  explicit operator bool() const { return manifestEntry != nullptr; }

private:
  Session *session = nullptr;
  const manifest::Entry *manifestEntry = nullptr;
  struct Source {
    enum { Column, Mask, Count } kind;
    int column;
    std::vector<int64_t> shape;
    Window window;
  };
  std::vector<Source> sources;
  std::vector<TensorView> inputs;
  std::vector<Tensor> outputs;
  int loss = -1, learningRate = -1, finite = -1;
};

/// A full and a partial entry, of which each batch takes one. A program has one
/// or both.
class EntryPair {
public:
  /// The entries `name` and `name`_partial; an error when there is neither.
  static Status create(Session &session, const std::string &name,
                       EntryPair *out);
  Status run(const Batch &batch, StepResult *result);
  /// The one that takes the batch; an error when the program lacks it.
  Status choose(const Batch &batch, EntryCall **call);
  /// Fails when one of the first `batches` of a pass over `examples` is a short
  /// one that the program does not take. `advice` goes before "a batch size
  /// that divides them".
  Status checkShort(const manifest::Manifest &manifest, int64_t examples,
                    const BatchPlan &plan, int64_t batches,
                    const std::string &advice) const;
  std::vector<const EntryCall *> calls() const { return {&full, &partial}; }
  /// The batch as the program wants it.
  BatchPlan plan(const manifest::Manifest &manifest) const;

private:
  EntryCall full, partial;
  std::string name;
};

/// The parts that an entry cuts its batch dim into, in `plan`; and its rows.
void setReplicas(const manifest::Manifest &manifest,
                 const manifest::Entry &entry, BatchPlan *plan);
int64_t batchRows(const manifest::Entry &entry);

/// Area under the curve of true over false positives: of [2, bins], how many
/// positives and how many negatives are predicted between each two thresholds
/// (the lowest first). 0 where one of them is missing, as in Keras.
double areaUnderCurve(const TensorView &counts);

/// Metric variables, over all ranks: `metric/NAME/total` and
/// `metric/NAME/count`, which are read as total / count, or
/// `metric/NAME/counts`, which are read as the area under their curve.
class Metrics {
public:
  explicit Metrics(Session &session);
  /// NAME, value; the loss comes first.
  Status read(std::vector<std::pair<std::string, double>> *values);
  Status reset();
  bool has(const std::string &name) const;
  /// Those that `read` gives.
  std::vector<std::string> names() const;

private:
  struct Item {
    std::string name;
    int total = -1, count = -1, counts = -1; // variables; -1: it has none
  };
  Session &session;
  std::vector<Item> items;
};

} // namespace dist

#endif // RUNTIME_TRAIN_ENTRY_H
