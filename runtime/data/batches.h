//===- batches.h - Global batches, made ready ahead -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a data set into global batches in a seeded order. A full batch is
// contiguous, each replica's part by address. A short one is laid out for the
// partial entry: every replica gets its portion of the examples (by its weight;
// sizes of equal ones differ by one at most), then copies of a real example,
// and a mask that tells them.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_BATCHES_H
#define RUNTIME_DATA_BATCHES_H

#include "runtime/data/dataset.h"
#include "runtime/data/shards.h"
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace dist {

struct BatchPlan {
  int64_t batch = 1;    // examples of a full batch
  int64_t rows = 1;     // of the partial entry: `batch` rounded up to replicas
  int64_t replicas = 1; // parts that the batch dim is cut into
  std::vector<int64_t> weights; // of the parts; none: they are equal
  std::optional<uint64_t> shuffle;
  bool dropRemainder = false;
  int64_t prefetch = 2;
  int64_t hold = 1;       // batches that the caller uses at once
  int64_t firstBatch = 0; // counted from the start of training
  int64_t endBatch = INT64_MAX;
  /// The rows of a batch that are read; the others hold anything. Those of the
  /// ranks of this process.
  int64_t firstRow = 0, endRow = INT64_MAX;
  /// Where each worker goes through examples of its own (see setShards): what
  /// they give; and which of them this process is. None: all read the same.
  std::vector<DataShard> shards;
  int worker = 0;
};

struct Batch {
  int64_t number = 0; // counted from the start of training
  int64_t pass = 0;   // over the data
  bool lastOfPass = false;
  bool partial = false;            // for the partial entry
  int64_t examples = 0;            // true ones, of all workers
  std::vector<int64_t> indices;    // of the true ones in this worker's data
  std::vector<TensorView> tensors; // one a column
  std::vector<char> mask;          // partial: one a row
  float count = 0;

  std::vector<Buffer> memory; // behind `tensors`
};

/// Makes batches by their numbers, in any order.
class BatchMaker {
public:
  BatchMaker(const Dataset &data, const BatchPlan &plan);
  /// Reuses the batch's memory.
  void make(int64_t number, Batch *batch);

private:
  void orderFor(int64_t pass);
  /// Which example each row holds; and the mask, which tells the true ones.
  std::vector<int64_t> layOut(int64_t inPass, Batch *batch);
  /// What rows hold where no example of this worker is in the batch: none of
  /// their numbers counts, but a gradient's sum over them must be one.
  int64_t findFiller();

  const Dataset &data;
  const BatchPlan plan;
  const int64_t perPass;
  std::vector<int64_t> order; // of the pass of the batch made last
  int64_t orderedPass = -1;
  int64_t filler = -1; // once it was looked for
};

class BatchStream {
public:
  BatchStream(const Dataset &data, const BatchPlan &plan);
  ~BatchStream();
  /// The next batch, valid for `hold` calls; null at the end. Throws
  /// std::bad_alloc, as the constructor does when there is no thread to be had.
  const Batch *next();

  /// Batches in one pass over `examples`; of shards, until the last one ends,
  /// or, of full batches alone, the first.
  static int64_t batchesPerPass(int64_t examples, const BatchPlan &plan);
  /// Examples of a pass's batch of this number.
  static int64_t examplesOf(int64_t examples, const BatchPlan &plan,
                            int64_t inPass);
  /// What each replica gets of it.
  static std::vector<int64_t> portionsOf(int64_t examples,
                                         const BatchPlan &plan, int64_t inPass);
  /// Examples that replica `r` gets of `examples`: by weight, rounded down, and
  /// of those left one each, first to last. Never more than rows.
  static int64_t portionOf(int64_t examples, const BatchPlan &plan, int64_t r);
  /// Rows that replica `r` has.
  static int64_t rowsOf(const BatchPlan &plan, int64_t r);

private:
  void produce();

  BatchPlan plan;
  BatchMaker maker;
  std::vector<Batch> ring;
  int64_t made = 0, taken = 0; // batches put into and handed out of the ring
  bool stopping = false;
  /// What ended the producer; the next call of `next` throws it.
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread producer;
};

} // namespace dist

#endif // RUNTIME_DATA_BATCHES_H
