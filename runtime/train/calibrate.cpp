//===- calibrate.cpp - What this machine can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/calibrate.h"
#include "runtime/comm/local/local.h"
#include "runtime/core/guard.h"
#include "runtime/device/cpu/memory.h"
#include "runtime/core/types.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/device/cpu/library_kernel.h"
#include "runtime/device/cpu/team.h"
#include <algorithm>
#include <chrono>
#include <cmath>
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

static void addMemory(manifest::LibraryKernel &kernel, manifest::DataType type,
                      std::initializer_list<int64_t> dims,
                      std::initializer_list<int64_t> strides) {
  auto *memory = kernel.add_memories();
  memory->set_type(type);
  for (int64_t size : dims)
    memory->add_dims(size);
  for (int64_t stride : strides)
    memory->add_strides(stride);
}

/// Nothing, on all threads of a team.
static void idle(void **, int64_t, int64_t, int64_t) {}

namespace {
/// A team whose threads have a CPU each, as those of a run have: loops send
/// them there, and the library's kernels find them so.
struct SeatedTeam {
  std::vector<int> seats;
  cpu::TeamScope scope;

  explicit SeatedTeam(int threads)
      : seats(cpu::chooseSeats(threads)),
        scope(threads, nullptr, seats.empty() ? nullptr : seats.data()) {
    cpu::parallelFor(idle, nullptr, threads, threads);
  }
};
} // namespace

static Status measureKernel(manifest::LibraryKernel kernel, int threads,
                            double *seconds) {
  cpu::LibraryKernelInfo info;
  DIST_RETURN_IF_ERROR(cpu::describe(kernel, threads, &info));
  kernel.set_scratchpad_bytes(info.scratchpadBytes);
  cpu::KernelTable table;
  *table.Add() = kernel;
  SeatedTeam team(threads);
  std::unique_ptr<cpu::LibraryKernel> created;
  DIST_RETURN_IF_ERROR(cpu::LibraryKernel::create(table, 0, threads, &created));
  std::vector<Buffer> memories; // aligned, as kernels expect
  std::vector<void *> buffers;
  for (const auto &memory : info.memories)
    memories.emplace_back(memory.bytes, char(0));
  // Of as many parts as it is cut into here: more than it was described for.
  memories.emplace_back(created->scratchpadBytes(), char(0));
  for (Buffer &memory : memories)
    buffers.push_back(memory.data());
  Status status;
  *seconds = bestSeconds(0.04, [&] {
    if (status.ok())
      status = created->run(buffers.data());
  });
  return status;
}

/// One product of square matrices.
static Status measureProduct(manifest::DataType type, int threads,
                             double *flopsPerSecond) {
  constexpr int64_t n = 512;
  manifest::LibraryKernel kernel;
  kernel.set_kind(manifest::LibraryKernel::MATMUL);
  for (int i = 0; i < 3; ++i)
    addMemory(kernel, type, {n, n}, {n, 1});
  double seconds = 0;
  DIST_RETURN_IF_ERROR(measureKernel(kernel, threads, &seconds));
  *flopsPerSecond = 2.0 * n * n * n / seconds;
  return Status();
}

/// A 3x3 convolution as layers in the middle of a network have them: images of
/// 16x16 with 64 channels, channels last.
static Status measureConvolution(manifest::LibraryKernel::Kind kind,
                                 double *flopsPerSecond) {
  constexpr int64_t images = 16, size = 16, channels = 64;
  manifest::LibraryKernel kernel;
  kernel.set_kind(kind);
  auto addImages = [&] {
    addMemory(kernel, manifest::F32, {images, channels, size, size},
              {size * size * channels, 1, size * channels, channels});
  };
  auto addFilter = [&] {
    // In the library's own layout.
    addMemory(kernel, manifest::F32, {channels, channels, 3, 3}, {});
  };
  addImages();
  if (kind == manifest::LibraryKernel::CONV_FILTER_GRAD) {
    addImages();
    addFilter();
  } else {
    addFilter();
    addImages();
  }
  for (int d = 0; d < 2; ++d) {
    kernel.add_strides(1);
    kernel.add_dilations(1);
    kernel.add_pad_low(1);
    kernel.add_pad_high(1);
  }
  kernel.set_groups(1);
  double seconds = 0;
  DIST_RETURN_IF_ERROR(measureKernel(kernel, /*threads=*/1, &seconds));
  *flopsPerSecond =
      2.0 * images * size * size * channels * channels * 9 / seconds;
  return Status();
}

static void addArrays(void **buffers, int64_t lo, int64_t hi, int64_t) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *b = static_cast<const float *>(buffers[1]);
  auto *c = static_cast<float *>(buffers[2]);
  for (int64_t i = lo; i < hi; ++i)
    c[i] = a[i] + b[i];
}

/// Bytes that a loop over three arrays, of `elements` each, moves a second.
static double measureMemory(int64_t elements, int threads) {
  std::vector<float> a(elements, 1), b(elements, 2), c(elements);
  void *buffers[] = {a.data(), b.data(), c.data()};
  SeatedTeam team(threads);
  double seconds = bestSeconds(
      0.04, [&] { cpu::parallelFor(addArrays, buffers, elements, threads); });
  return 3 * double(elements) * sizeof(float) / seconds;
}

/// What disturbs may last longer than a measurement: of each figure the best of
/// several rounds counts.
static void raise(double &best, double value) { best = std::max(best, value); }

static constexpr int kRounds = 4;
/// Elements of each of three arrays that fit a cache, and that do not.
static constexpr int64_t kSmall = 512 << 10, kLarge = 8 << 20;

namespace {
/// All threads together, and the rates of arrays that double from kSmall on.
struct Together {
  double flopsPerSecond = 0, memoryBytesPerSecond = 0;
  double caches[4] = {};
};
} // namespace

static Status measureRound(int threads, MachineFigures *out,
                           Together *together) {
  using Kernel = manifest::LibraryKernel;
  double rate = 0;
  DIST_RETURN_IF_ERROR(measureProduct(manifest::F32, 1, &rate));
  raise(out->flopsPerSecond, rate);
  DIST_RETURN_IF_ERROR(measureProduct(manifest::F32, threads, &rate));
  raise(together->flopsPerSecond, rate);
  if (measureProduct(manifest::BF16, 1, &rate).ok())
    raise(out->bf16FlopsPerSecond, rate);
  for (auto [kind, figure] :
       {std::pair(Kernel::CONV, &out->convFlopsPerSecond),
        std::pair(Kernel::CONV_INPUT_GRAD, &out->inputGradFlopsPerSecond),
        std::pair(Kernel::CONV_FILTER_GRAD, &out->filterGradFlopsPerSecond)}) {
    DIST_RETURN_IF_ERROR(measureConvolution(kind, &rate));
    raise(*figure, rate);
  }
  raise(out->memoryBytesPerSecond, measureMemory(kLarge, 1));
  raise(together->memoryBytesPerSecond, measureMemory(kLarge, threads));
  int64_t elements = kSmall;
  for (double &cache : together->caches) {
    raise(cache, measureMemory(elements, 1));
    elements *= 2;
  }
  return Status();
}

/// Two ranks all-reduce `count` floats again and again, awake while they wait
/// where there is a core for each, or asleep.
static Status measureTransfer(int64_t count, int times, bool asleep,
                              double *seconds) {
  WorldOptions options;
  options.mesh = {2};
  if (asleep || std::thread::hardware_concurrency() < 2)
    options.spinMicroseconds = 0;
  std::unique_ptr<LocalWorld> world;
  DIST_RETURN_IF_ERROR(LocalWorld::create(options, &world));
  // On one CPU the ranks would be in each other's way, for as long as the
  // system leaves them there.
  std::vector<int> seats = cpu::chooseSeats(cpu::usableCpus().size());
  // Prepared, as a program's are.
  int64_t axis = 0;
  Piece piece{};
  piece.type = manifest::F32;
  piece.outer = piece.rows = 1;
  piece.bytes = int64_t(sizeof(float)) * count;
  Collective call;
  call.kind = CollectiveKind::AllReduce;
  call.axes = {&axis, 1};
  call.pieces = {&piece, 1};
  Status statuses[2];
  double best[2];
  auto run = [&](int rank) {
    std::vector<float> data(count, 1);
    void *buffer = data.data();
    best[rank] = 1e30;
    std::unique_ptr<CollectivePlan> plan;
    statuses[rank] = world->rank(rank).prepare(call, &plan);
    // As many tries on both: they wait for each other.
    for (int i = 0; i < 20; ++i) {
      if (!seats.empty())
        cpu::sitOn(seats[rank * seats.size() / 2]);
      auto from = std::chrono::steady_clock::now();
      for (int k = 0; k < times && statuses[rank].ok(); ++k)
        statuses[rank] = world->rank(rank).run(*plan, &buffer, &buffer);
      std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - from;
      best[rank] = std::min(best[rank], time.count() / times);
    }
  };
  // A rank that throws must not leave the other one waiting, nor unjoined.
  auto runSafely = [&](int rank) {
    Status status = withoutThrowing([&] {
      run(rank);
      return Status();
    });
    if (status.ok())
      return;
    Communicator &own = world->rank(rank);
    own.abort(own.generation(), status.message());
    statuses[rank] = std::move(status);
  };
  std::thread other(runSafely, 1);
  runSafely(0);
  other.join();
  for (const Status &status : statuses)
    DIST_RETURN_IF_ERROR(status);
  *seconds = best[0];
  return Status();
}

Status calibrate(MachineFigures *out) {
  int threads = cpu::usableCpus().size();
  Together together;
  for (int i = 0; i < kRounds; ++i)
    DIST_RETURN_IF_ERROR(measureRound(threads, out, &together));
  if (threads > 1) {
    auto getEfficiency = [&](double all, double one) {
      return std::clamp((all / one - 1) / (threads - 1), 0.01, 1.0);
    };
    out->threadEfficiency =
        getEfficiency(together.flopsPerSecond, out->flopsPerSecond);
    out->memoryThreadEfficiency =
        getEfficiency(together.memoryBytesPerSecond, out->memoryBytesPerSecond);
  }
  // Not every machine's library has it; then it is computed in f32.
  if (out->bf16FlopsPerSecond == 0)
    out->bf16FlopsPerSecond = out->flopsPerSecond;
  out->cacheBytesPerSecond =
      std::max(together.caches[0], out->memoryBytesPerSecond);
  // Up to where it is nearer to a cache than to memory.
  double middle =
      std::sqrt(out->cacheBytesPerSecond * out->memoryBytesPerSecond);
  out->cacheBytes = 3 * double(kSmall) * sizeof(float);
  for (size_t i = 1;
       i < std::size(together.caches) && together.caches[i] > middle; ++i)
    out->cacheBytes *= 2;
  constexpr int64_t large = 1 << 20;
  double smallSeconds = 0, largeSeconds = 0;
  DIST_RETURN_IF_ERROR(
      measureTransfer(16, 200, /*asleep=*/false, &smallSeconds));
  DIST_RETURN_IF_ERROR(
      measureTransfer(large, 4, /*asleep=*/false, &largeSeconds));
  DIST_RETURN_IF_ERROR(
      measureTransfer(16, 50, /*asleep=*/true, &out->wakeSeconds));
  out->transferLatency = smallSeconds;
  // By the usual algorithm a rank of two sends the bytes once.
  out->transferBytesPerSecond =
      large * sizeof(float) / std::max(largeSeconds - smallSeconds, 1e-9);
  return Status();
}

} // namespace dist
