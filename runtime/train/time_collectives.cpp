//===- time_collectives.cpp - How long a world's collectives take ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/time_collectives.h"
#include "runtime/comm/local/local.h"
#include "runtime/core/guard.h"
#include "runtime/device/cpu/cpus.h"
#include <algorithm>
#include <chrono>
#include <thread>

namespace dist {

namespace {
/// Of one rank's operands: from what waits alone to what moves alone.
constexpr int64_t sizes[] = {8,         1 << 10, 8 << 10, 32 << 10,
                             256 << 10, 1 << 20, 8 << 20};

struct Way {
  CollectiveKind kind;
  Algorithm algorithm = Algorithm::Auto;
};
using Kind = CollectiveKind;

/// A dense collective of `bytes` of operands over the last axes.
struct Dense {
  std::vector<int64_t> axes, sources;
  Piece piece{};
  Collective call;

  Dense(const Way &way, int64_t bytes, int64_t ranks, size_t firstAxis,
        size_t numAxes) {
    for (size_t axis = firstAxis; axis < numAxes; ++axis)
      axes.push_back(int64_t(axis));
    piece.type = manifest::F32;
    piece.outer = piece.rows = 1;
    piece.bytes = bytes;
    if (way.kind == Kind::ReduceScatter || way.kind == Kind::AllToAll) {
      piece.bytes = std::max<int64_t>(4, bytes / ranks / 4 * 4);
      piece.from_place = piece.bytes;
    }
    if (way.kind == Kind::AllGather || way.kind == Kind::AllToAll)
      piece.to_place = piece.bytes;
    // Each hears from the one before it.
    for (int64_t rank = 0; way.kind == Kind::Permute && rank < ranks; ++rank)
      sources.push_back((rank + ranks - 1) % ranks);
    call.kind = way.kind;
    call.algorithm = way.algorithm;
    // Of values that stay as they are, however often.
    call.reduction = Reduction::Max;
    call.axes = {axes.data(), int64_t(axes.size())};
    call.sources = {sources.data(), int64_t(sources.size())};
    call.pieces = {&piece, 1};
  }
};

double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
} // namespace

std::vector<int64_t> primeMesh(int64_t ranks) {
  std::vector<int64_t> mesh;
  for (int64_t factor = 2; ranks > 1; ++factor)
    for (; ranks % factor == 0; ranks /= factor)
      mesh.insert(mesh.begin(), factor);
  return mesh.empty() ? std::vector<int64_t>{1} : mesh;
}

/// Where each sends all it has to all others, large sums take seconds.
static bool isSuited(const Way &way, int64_t bytes) {
  constexpr int64_t largest = 1 << 20;
  return bytes <= largest || !factsOf(way.algorithm).movesAllToEach;
}

/// The median of `repeats` times.
static Status timeOne(Communicator &own, const Dense &dense, int64_t ranks,
                      int repeats, double *median) {
  std::unique_ptr<CollectivePlan> plan;
  DIST_RETURN_IF_ERROR(own.prepare(dense.call, &plan));
  std::vector<float> from(bytesFrom(dense.piece, ranks) / sizeof(float), 1.0F),
      to(bytesTo(dense.piece, ranks) / sizeof(float));
  void *source = from.data(), *target = to.data();
  std::vector<double> seconds;
  constexpr int warmUps = 2;
  for (int i = 0; i < repeats + warmUps; ++i) {
    double begin = secondsNow();
    DIST_RETURN_IF_ERROR(own.run(*plan, &source, &target));
    if (i >= warmUps)
      seconds.push_back(secondsNow() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2,
                   seconds.end());
  *median = seconds[seconds.size() / 2];
  return Status();
}

Status timeCollectives(Communicator &own, const TimingOptions &options,
                       CollectiveTimes *out) {
  std::vector<Way> ways = {{Kind::AllGather},
                           {Kind::ReduceScatter},
                           {Kind::AllToAll},
                           {Kind::Broadcast},
                           {Kind::Permute}};
  // Of messages Auto is one of the others.
  for (const AlgorithmFacts &one : allAlgorithms)
    if (own.sharesMemory() ? one.isOfMemory : one.algorithm != Algorithm::Auto)
      ways.push_back({Kind::AllReduce, one.algorithm});
  size_t numAxes = options.mesh.size();
  uint32_t all = (1u << numAxes) - 1;
  double each =
      options.seconds / double(numAxes * ways.size() * std::size(sizes));
  int64_t ranks = 1;
  for (size_t axis = numAxes; axis-- > 0;) {
    ranks *= options.mesh[axis];
    if (own.rank() < ranks && ranks > 1)
      for (const Way &way : ways)
        for (int64_t bytes : sizes) {
          if (!isSuited(way, bytes))
            continue;
          // As all of them reckon: they must agree.
          double guess = 50e-6 + double(bytes) * double(ranks) / 1e9;
          int repeats = int(std::clamp(each / guess, 3.0, 1000.0));
          Dense dense(way, bytes, ranks, axis, numAxes);
          CollectiveTime row{way.kind, way.algorithm, options.link(ranks),
                             ranks, bytes};
          DIST_RETURN_IF_ERROR(
              timeOne(own, dense, ranks, repeats, &row.seconds));
          if (own.rank() == 0)
            out->push_back(row);
        }
    DIST_RETURN_IF_ERROR(own.barrier(sessionOp, all));
  }
  return Status();
}

Status timeLocalCollectives(int64_t ranks, double seconds,
                            CollectiveTimes *out) {
  WorldOptions world;
  world.mesh = primeMesh(ranks);
  if (int64_t(cpu::usableCpus().size()) < ranks)
    world.spinMicroseconds = 0;
  std::unique_ptr<LocalWorld> made;
  DIST_RETURN_IF_ERROR(LocalWorld::create(world, &made));
  TimingOptions options;
  options.mesh = world.mesh;
  options.seconds = seconds;
  options.link = [](int64_t) { return LinkClass::Memory; };
  std::vector<Status> statuses(ranks);
  auto run = [&](int rank) {
    // A rank that throws must not leave the others waiting.
    statuses[rank] = withoutThrowing(
        [&] { return timeCollectives(made->rank(rank), options, out); });
    if (!statuses[rank].ok())
      made->rank(rank).abort(made->rank(rank).generation(),
                             statuses[rank].message());
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < int(ranks); ++rank)
    threads.emplace_back(run, rank);
  run(0);
  for (std::thread &thread : threads)
    thread.join();
  for (Status &status : statuses)
    DIST_RETURN_IF_ERROR(std::move(status));
  return Status();
}

} // namespace dist
