//===- batches.cpp - Global batches, made ready ahead -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/batches.h"
#include "runtime/data/shuffle.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace dist {

static int64_t countBatches(int64_t examples, int64_t batch, bool fullOnly) {
  return fullOnly ? examples / batch : (examples + batch - 1) / batch;
}

int64_t BatchStream::batchesPerPass(int64_t examples, const BatchPlan &plan) {
  if (plan.shards.empty())
    return countBatches(examples, plan.batch, plan.dropRemainder);
  std::vector<int64_t> counts;
  for (const DataShard &shard : plan.shards)
    counts.push_back(
        countBatches(shard.examples, shard.batch, plan.dropRemainder));
  return plan.dropRemainder ? *std::min_element(counts.begin(), counts.end())
                            : *std::max_element(counts.begin(), counts.end());
}

int64_t BatchStream::examplesOf(int64_t examples, const BatchPlan &plan,
                                int64_t inPass) {
  if (plan.shards.empty())
    return std::min(plan.batch, examples - inPass * plan.batch);
  int64_t sum = 0;
  for (const DataShard &shard : plan.shards)
    sum += shard.portionOf(inPass);
  return sum;
}

std::vector<int64_t> BatchStream::portionsOf(int64_t examples,
                                             const BatchPlan &plan,
                                             int64_t inPass) {
  std::vector<int64_t> portions;
  if (plan.shards.empty()) {
    int64_t count = examplesOf(examples, plan, inPass);
    for (int64_t r = 0; r < plan.replicas; ++r)
      portions.push_back(portionOf(count, plan, r));
    return portions;
  }
  portions.resize(plan.replicas);
  for (const DataShard &shard : plan.shards) {
    // A worker's examples are shared out among its replicas as a batch is.
    BatchPlan own;
    own.replicas = shard.endReplica - shard.firstReplica;
    if (!plan.weights.empty())
      own.weights.assign(plan.weights.begin() + shard.firstReplica,
                         plan.weights.begin() + shard.endReplica);
    for (int64_t r = 0; r < own.replicas; ++r)
      portions[shard.firstReplica + r] =
          portionOf(shard.portionOf(inPass), own, r);
  }
  return portions;
}

/// `examples` by weight, rounded down.
static int64_t wholePortion(int64_t examples, const BatchPlan &plan,
                            int64_t r) {
  if (plan.weights.empty())
    return examples / plan.replicas;
  int64_t total =
      std::accumulate(plan.weights.begin(), plan.weights.end(), int64_t(0));
  return examples / total * plan.weights[r] +
         examples % total * plan.weights[r] / total;
}

int64_t BatchStream::portionOf(int64_t examples, const BatchPlan &plan,
                               int64_t r) {
  int64_t left = examples;
  for (int64_t other = 0; other < plan.replicas; ++other)
    left -= wholePortion(examples, plan, other);
  return wholePortion(examples, plan, r) + (r < left);
}

int64_t BatchStream::rowsOf(const BatchPlan &plan, int64_t r) {
  return wholePortion(plan.rows, plan, r);
}

BatchStream::BatchStream(const Dataset &data, const BatchPlan &plan)
    : plan(plan), maker(data, plan) {
  // Some batches are in the caller's hands while the others are made.
  ring.resize(plan.prefetch + plan.hold);
  if (plan.prefetch > 0)
    producer = std::thread([this] { produce(); });
}

BatchStream::~BatchStream() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  if (producer.joinable())
    producer.join();
}

BatchMaker::BatchMaker(const Dataset &data, const BatchPlan &plan)
    : data(data), plan(plan),
      perPass(std::max<int64_t>(
          BatchStream::batchesPerPass(data.examples(), plan), 1)) {}

void BatchMaker::orderFor(int64_t pass) {
  if (pass == orderedPass)
    return;
  orderedPass = pass;
  if (plan.shuffle) {
    shuffledOrder(*plan.shuffle, uint64_t(pass), data.examples(), &order);
  } else if (order.empty()) {
    order.resize(data.examples());
    std::iota(order.begin(), order.end(), 0);
  }
}

static bool isFinite(const Column &column, int64_t example,
                     std::vector<char> *memory) {
  if (!isFloat(column.type))
    return true;
  memory->resize(column.exampleBytes());
  column.gather(&example, 1, memory->data());
  for (int64_t i = 0, e = column.exampleElements(); i < e; ++i)
    if (!std::isfinite(elementAsDouble(column.type, memory->data(), i)))
      return false;
  return true;
}

int64_t BatchMaker::findFiller() {
  // The first that is finite: 0 * NaN would be in the sum of all workers.
  std::vector<char> memory;
  for (int64_t i = 0; filler < 0 && i < data.examples(); ++i)
    if (std::all_of(data.columns().begin(), data.columns().end(),
                    [&](auto &column) { return isFinite(column, i, &memory); }))
      filler = i;
  return filler = std::max<int64_t>(filler, 0);
}

std::vector<int64_t> BatchMaker::layOut(int64_t inPass, Batch *batch) {
  std::vector<int64_t> portions =
      BatchStream::portionsOf(data.examples(), plan, inPass);
  std::vector<int64_t> rows;
  int64_t next = 0;
  for (int64_t r = 0; r < plan.replicas; ++r) {
    bool isHere =
        plan.shards.empty() || (r >= plan.shards[plan.worker].firstReplica &&
                                r < plan.shards[plan.worker].endReplica);
    // A replica without examples copies another's. Other workers' rows are not
    // read here.
    int64_t copied = batch->indices.empty() ? findFiller() : batch->indices[0];
    if (isHere && portions[r] > 0)
      copied = batch->indices[next];
    for (int64_t i = 0, room = BatchStream::rowsOf(plan, r); i < room; ++i) {
      bool isTrue = i < portions[r];
      rows.push_back(isHere && isTrue ? batch->indices[next + i] : copied);
      batch->mask.push_back(isTrue);
    }
    if (isHere)
      next += portions[r];
  }
  return rows;
}

void BatchMaker::make(int64_t number, Batch *batch) {
  int64_t pass = number / perPass, inPass = number % perPass;
  orderFor(pass);
  int64_t count = BatchStream::examplesOf(data.examples(), plan, inPass);
  bool isSharded = !plan.shards.empty();
  const DataShard *shard = isSharded ? &plan.shards[plan.worker] : nullptr;
  int64_t begin = inPass * (shard ? shard->batch : plan.batch);
  int64_t own = shard ? shard->portionOf(inPass) : count;
  batch->number = number;
  batch->pass = pass;
  batch->lastOfPass = inPass + 1 == perPass;
  batch->partial = count < plan.batch || plan.rows != plan.batch;
  batch->examples = count;
  batch->count = float(count);
  batch->indices.clear();
  if (own > 0)
    batch->indices.assign(order.begin() + begin, order.begin() + begin + own);

  const std::vector<int64_t> *rows = &batch->indices;
  std::vector<int64_t> laid;
  batch->mask.clear();
  if (batch->partial || isSharded) {
    laid = layOut(inPass, batch);
    rows = &laid;
  }
  const std::vector<Column> &columns = data.columns();
  batch->tensors.resize(columns.size());
  batch->memory.resize(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    const Column &column = columns[c];
    TensorView &view = batch->tensors[c];
    view.type = column.type;
    view.shape = column.exampleShape;
    view.shape.insert(view.shape.begin(), int64_t(rows->size()));
    if (!plan.shuffle && !batch->partial && !isSharded && column.direct()) {
      view.data = column.array.data + column.exampleBytes() * size_t(begin);
      continue;
    }
    Buffer &memory = batch->memory[c];
    memory.resize(view.bytes());
    int64_t first = std::min(plan.firstRow, int64_t(rows->size()));
    int64_t end = std::min(plan.endRow, int64_t(rows->size()));
    column.gather(rows->data() + first, end - first,
                  memory.data() + column.exampleBytes() * size_t(first));
    view.data = memory.data();
  }
}

void BatchStream::produce() {
  for (int64_t number = plan.firstBatch; number < plan.endBatch; ++number) {
    Batch *slot;
    {
      std::unique_lock<std::mutex> lock(mutex);
      // The batches last handed out stay untouched.
      changed.wait(lock, [&] {
        return stopping ||
               made - taken + std::min(taken, plan.hold) < int64_t(ring.size());
      });
      if (stopping)
        return;
      slot = &ring[made % ring.size()];
    }
    std::exception_ptr thrown;
    try {
      maker.make(number, slot);
    } catch (...) {
      thrown = std::current_exception();
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      failure = thrown;
      made += !thrown;
    }
    changed.notify_all();
    if (thrown)
      return;
  }
}

const Batch *BatchStream::next() {
  int64_t number = plan.firstBatch + taken;
  if (number >= plan.endBatch)
    return nullptr;
  if (plan.prefetch == 0) {
    Batch *batch = &ring[taken++ % ring.size()];
    maker.make(number, batch);
    return batch;
  }
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return made > taken || failure; });
  if (made <= taken)
    std::rethrow_exception(failure);
  const Batch *batch = &ring[taken % ring.size()];
  ++taken;
  lock.unlock();
  changed.notify_all();
  return batch;
}

} // namespace dist
