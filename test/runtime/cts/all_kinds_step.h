//===- all_kinds_step.h - A step of all kinds of collectives ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_ALL_KINDS_STEP_H
#define TEST_RUNTIME_CTS_ALL_KINDS_STEP_H

#include "runtime/core/communicator.h"
#include "runtime/core/started.h"
#include "runtime/device/devices.h"
#include "test/runtime/cts/allocations.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace dist::cts {

/// Pieces of rows that do not follow each other, for each rank a part.
struct Pieces {
  static constexpr int64_t rows = 5;
  std::vector<Piece> pieces;
  std::vector<std::vector<float>> from, to;
  std::vector<void *> sources, targets;

  /// `parts`: of each rank's buffer, before and behind it.
  Pieces(const std::vector<int64_t> &counts, int64_t ranks, bool partsFrom,
         bool partsTo) {
    for (int64_t count : counts) {
      Piece piece{};
      piece.type = manifest::F32;
      piece.outer = 1;
      piece.rows = partsFrom || partsTo ? rows : 1;
      piece.bytes = 4 * count;
      piece.from_row = piece.bytes * (partsFrom ? ranks : 1);
      piece.to_row = piece.bytes * (partsTo ? ranks : 1);
      piece.from_place = partsFrom ? piece.bytes : 0;
      piece.to_place = partsTo ? piece.bytes : 0;
      pieces.push_back(piece);
      from.emplace_back(count * rows * ranks, 1.0f);
      to.emplace_back(count * rows * ranks);
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      sources.push_back(from[i].data());
      targets.push_back(to[i].data());
    }
  }
};

/// One rank's plans of all kinds, and what they move.
class AllKindsStep {
public:
  AllKindsStep(Communicator &own, StartedCollectives &started)
      : own(own), started(started) {
    EXPECT_TRUE(hostDevice()->createStream({}, &stream).ok());
    for (int rank = 0; rank < own.ranks(); ++rank)
      around.push_back(rank + 1 < own.ranks() ? rank + 1 : -1);
    for (const auto &counts :
         {std::vector<int64_t>{3}, {7, 300, 41}, {40000, 5}}) {
      add(CollectiveKind::AllReduce, counts, false, false);
      add(CollectiveKind::AllGather, counts, false, true);
      add(CollectiveKind::ReduceScatter, counts, true, false);
      add(CollectiveKind::AllToAll, counts, true, true);
      add(CollectiveKind::Permute, counts, false, false);
      add(CollectiveKind::Broadcast, counts, false, false);
      add(own.rank() == 0 ? CollectiveKind::Send : CollectiveKind::Recv, counts,
          false, false);
    }
    add(CollectiveKind::Barrier, {}, false, false);
    add(CollectiveKind::AllReduce, {20000, 3}, false, false);
  }

  /// All of them, as a step of the CPU's does; the last is started, and waited
  /// for.
  Status run() {
    own.beginStep();
    for (size_t i = 0; i + 1 < plans.size(); ++i)
      DIST_RETURN_IF_ERROR(own.enqueue(*plans[i], *stream,
                                       buffers[i]->sources.data(),
                                       buffers[i]->targets.data()));
    uint64_t number = 0;
    Pieces &last = *buffers.back();
    DIST_RETURN_IF_ERROR(started.start(own, *plans.back(), last.sources.data(),
                                       last.targets.data(), &number));
    return started.wait(*plans.back(), number);
  }

  std::vector<std::unique_ptr<CollectivePlan>> plans;

private:
  void add(CollectiveKind kind, const std::vector<int64_t> &counts,
           bool partsFrom, bool partsTo) {
    int32_t op = ops++;
    // Only the first two have a part in a send.
    bool isMessage =
        kind == CollectiveKind::Send || kind == CollectiveKind::Recv;
    if (isMessage && own.rank() >= 2)
      return;
    buffers.push_back(
        std::make_unique<Pieces>(counts, own.ranks(), partsFrom, partsTo));
    Collective call;
    call.kind = kind;
    call.op = op;
    call.axes = {&axis, 1};
    call.pieces = {buffers.back()->pieces.data(), int64_t(counts.size())};
    call.peer = isMessage                           ? 1 - own.rank()
                : kind == CollectiveKind::Broadcast ? 1
                                                    : 0;
    call.tag = 4;
    if (kind == CollectiveKind::Permute)
      call.sources = {around.data(), own.ranks()};
    std::unique_ptr<CollectivePlan> plan;
    Status status = own.prepare(call, &plan);
    ASSERT_TRUE(status.ok()) << status.message();
    plan->number = numbers[isMessage]++;
    plans.push_back(std::move(plan));
  }

  Communicator &own;
  StartedCollectives &started;
  std::unique_ptr<Stream> stream;
  int64_t axis = 0;
  std::vector<int64_t> around;
  int32_t ops = 0, numbers[2] = {0, 0};
  std::vector<std::unique_ptr<Pieces>> buffers;
};

/// The fewest objects that this program allocated in one of so many rounds of
/// steps; all ranks call it. What each step takes is in all rounds.
inline void countFewestAllocations(Communicator &own, int rounds, int steps,
                                   int64_t *fewest) {
  StartedCollectives started;
  AllKindsStep step(own, started);
  *fewest = INT64_MAX;
  for (int round = 0; round < rounds; ++round) {
    int64_t before = allocations.load();
    for (int i = 0; i < steps; ++i) {
      Status status = step.run();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    *fewest = std::min(*fewest, allocations.load() - before);
  }
}

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_ALL_KINDS_STEP_H
