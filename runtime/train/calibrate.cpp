//===- calibrate.cpp - What this machine can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/calibrate.h"
#include "runtime/comm/local/local.h"
#include "runtime/core/memory.h"
#include "runtime/device/cpu/library_kernel.h"
#include "runtime/device/cpu/team.h"
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace dist {

/// The best of several tries: what disturbs only makes it longer.
static double bestSeconds(double budget, const std::function<void()> &work) {
  using Clock = std::chrono::steady_clock;
  auto elapsed = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  work();
  double best = 1e30;
  Clock::time_point begin = Clock::now();
  do {
    Clock::time_point from = Clock::now();
    work();
    best = std::min(best, elapsed(from));
  } while (elapsed(begin) < budget);
  return best;
}

static Status measureProduct(int threads, double *seconds) {
  constexpr int64_t n = 512;
  manifest::LibraryKernel kernel;
  kernel.set_kind(manifest::LibraryKernel::MATMUL);
  for (int i = 0; i < 3; ++i) {
    auto *memory = kernel.add_memories();
    memory->set_type(manifest::F32);
    for (int64_t size : {n, n})
      memory->add_dims(size);
    for (int64_t stride : {n, int64_t(1)})
      memory->add_strides(stride);
  }
  cpu::LibraryKernelInfo info;
  DIST_RETURN_IF_ERROR(cpu::describe(kernel, threads, &info));
  kernel.set_scratchpad_bytes(info.scratchpadBytes);
  cpu::KernelTable table;
  *table.Add() = kernel;
  cpu::TeamScope team(threads);
  std::unique_ptr<cpu::LibraryKernel> product;
  DIST_RETURN_IF_ERROR(cpu::LibraryKernel::create(table, 0, threads, &product));
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  std::vector<char> scratchpad(info.scratchpadBytes + 64);
  void *buffers[] = {a.data(), b.data(), c.data(), scratchpad.data()};
  Status status;
  *seconds = bestSeconds(0.2, [&] {
    if (status.ok())
      status = product->run(buffers);
  });
  return status;
}

static void addArrays(void **buffers, int64_t lo, int64_t hi, int64_t) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *b = static_cast<const float *>(buffers[1]);
  auto *c = static_cast<float *>(buffers[2]);
  for (int64_t i = lo; i < hi; ++i)
    c[i] = a[i] + b[i];
}

static constexpr int64_t kElements = 8 << 20;

static double measureMemory(int threads) {
  std::vector<float> a(kElements, 1), b(kElements, 2), c(kElements);
  void *buffers[] = {a.data(), b.data(), c.data()};
  cpu::TeamScope team(threads);
  return bestSeconds(
      0.2, [&] { cpu::parallelFor(addArrays, buffers, kElements, threads); });
}

/// Two ranks all-reduce `count` floats again and again.
static Status measureTransfer(int64_t count, int times, double *seconds) {
  LocalOptions options;
  options.mesh = {2};
  if (std::thread::hardware_concurrency() < 2)
    options.spinMicroseconds = 0;
  std::unique_ptr<LocalWorld> world;
  DIST_RETURN_IF_ERROR(LocalWorld::create(options, &world));
  Status statuses[2];
  double best[2];
  auto run = [&](int rank) {
    std::vector<float> data(count, 1);
    best[rank] = 1e30;
    // As many tries on both: they wait for each other.
    for (int i = 0; i < 20; ++i) {
      auto from = std::chrono::steady_clock::now();
      for (int k = 0; k < times && statuses[rank].ok(); ++k)
        statuses[rank] = world->rank(rank).allReduce(
            0, data.data(), count, manifest::F32, Reduction::Sum, 1);
      std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - from;
      best[rank] = std::min(best[rank], time.count() / times);
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  for (const Status &status : statuses)
    DIST_RETURN_IF_ERROR(status);
  *seconds = best[0];
  return Status();
}

Status calibrate(MachineFigures *out) {
  constexpr double productFlops = 2.0 * 512 * 512 * 512;
  constexpr double memoryBytes = 3.0 * kElements * sizeof(float);
  int threads = cpu::usableCpus().size();
  double one = 0, all = 0;
  DIST_RETURN_IF_ERROR(measureProduct(1, &one));
  DIST_RETURN_IF_ERROR(measureProduct(threads, &all));
  double memoryOne = measureMemory(1), memoryAll = measureMemory(threads);
  out->flopsPerSecond = productFlops / one;
  out->memoryBytesPerSecond = memoryBytes / memoryOne;
  if (threads > 1) {
    double speedup = std::min(one / all, memoryOne / memoryAll);
    out->threadEfficiency =
        std::clamp((speedup - 1) / (threads - 1), 0.01, 1.0);
  }
  constexpr int64_t large = 1 << 20;
  double smallSeconds = 0, largeSeconds = 0;
  DIST_RETURN_IF_ERROR(measureTransfer(16, 200, &smallSeconds));
  DIST_RETURN_IF_ERROR(measureTransfer(large, 4, &largeSeconds));
  out->transferLatency = smallSeconds;
  // By the usual algorithm a rank of two sends the bytes once.
  out->transferBytesPerSecond =
      large * sizeof(float) / std::max(largeSeconds - smallSeconds, 1e-9);
  return Status();
}

} // namespace dist
