//===- planned_collectives.h - What an entry has ranks do -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program's functions list their collectives (abi.h). A rank prepares those
// of an entry when its package is loaded, and anew in each generation: a step
// says only which one comes.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PLANNED_COLLECTIVES_H
#define RUNTIME_CORE_PLANNED_COLLECTIVES_H

#include "runtime/core/communicator.h"
#include "runtime/device/device.h"
#include <vector>

namespace dist {

using CollectiveList = std::vector<const dist_rt_collective *>;

/// Takes a function's list apart. An error where it is none of so many words;
/// `where` names the function.
Status readCollectives(const int64_t *words, const std::string &where,
                       CollectiveList *out);

/// Whether any of them meets other ranks.
bool meetOthers(const CollectiveList &list);

/// Whether it moves nothing, but says where it lies: the ABI's `publish`.
bool isPublished(const Collective &call);

/// Of a collective between the streams of a device that is not the host: when
/// the rank's kernels are there, and when it is over.
struct QueuedPoints {
  Stream *exchange = nullptr;
  std::unique_ptr<Event> ready, done;
};

/// Its buffers on the host.
struct HostBuffers {
  std::unique_ptr<Memory> memory;
  std::vector<void *> from, to;
  std::vector<int64_t> fromBytes, toBytes;
};

/// What ranks that are on such devices have shown each other: it is there in
/// all steps, in which they only meet.
struct QueuedAddresses {
  std::vector<void *> own, all;
  std::unique_ptr<CollectivePlan> meeting;
};

/// One of a rank's.
struct PlannedCollective {
  std::unique_ptr<CollectivePlan> plan;
  /// With its last start, the how manyeth of its line; 0: none yet.
  uint64_t started = 0;
  std::unique_ptr<QueuedPoints> points;
  std::unique_ptr<HostBuffers> host;
  std::unique_ptr<QueuedAddresses> shown;
};

/// Those of an entry on a rank, by their numbers in the lists of its functions.
struct PlannedEntry {
  std::vector<PlannedCollective> preparation, step;
  /// Of results that are partial sums beyond the process; null: no such one.
  std::vector<std::unique_ptr<DenseAllReduce>> results;

  /// In the communicator's generation; what was prepared in another is
  /// forgotten.
  Status prepare(Communicator &communicator,
                 const CollectiveList &ofPreparation,
                 const CollectiveList &ofStep);
};

} // namespace dist

#endif // RUNTIME_CORE_PLANNED_COLLECTIVES_H
