//===- rank.h - One device while it runs programs ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What compiled programs see as their context: a rank's memory, its library
// kernels, its communicator, and how it failed.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_RANK_H
#define RUNTIME_CORE_RANK_H

#include "runtime/core/communicator.h"
#include "runtime/core/planned_collectives.h"
#include "runtime/core/queued_collectives.h"
#include "runtime/core/session.h"
#include "runtime/core/started.h"
#include "runtime/device/device.h"
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

/// The context of the ABI is a rank.
struct dist_rt_context {
  int rank = 0;
  std::shared_ptr<dist::Device> device;
  /// Of the device; `library` is what its library lays out.
  std::unique_ptr<dist::Memory> state, library;
  /// By memory space.
  std::array<std::unique_ptr<dist::Memory>, DIST_RT_MEMORIES> arenas;
  /// An entry's inputs and results there, where the device is not the host.
  std::unique_ptr<dist::Memory> inputs, outputs;
  const google::protobuf::RepeatedPtrField<dist::manifest::LibraryKernel>
      *table = nullptr;
  dist::Communicator *communicator = nullptr;
  /// Of each entry, by its number in the session; and of the function that runs
  /// now.
  std::vector<dist::PlannedEntry> planned;
  std::vector<dist::PlannedCollective> *collectives = nullptr;
  /// Whether all processes go on to the next step; null: this one decides it.
  std::unique_ptr<dist::DenseAllReduce> goOn;
  /// Seconds that `finish` waits: see Stream.
  double patience = std::numeric_limits<double>::infinity();
  /// That runs now; other ranks' threads name ops of it.
  std::atomic<const dist::manifest::Entry *> entry{nullptr};
  dist::Status status;
  /// Of the session: whether the call under way is to end.
  const std::atomic<bool> *cancelled = nullptr;

  // Inputs and results that do not lie in the caller's tensors.
  dist::Buffer staging;
  dist::Buffer results; // of all calls of a launch
  std::vector<void *> bindings;

  bool trace = false;
  std::chrono::steady_clock::time_point origin;
  struct Span {
    const char *category;
    const void *kernel; // address, or null
    int32_t index;      // library kernel or transfer
    int32_t call;       // which call of a kernel of the entry; -1: none
    const dist::manifest::Entry *entry;
    std::chrono::steady_clock::time_point begin, end;
  };
  std::vector<Span> spans;
  /// Calls of kernels since the entry began; -1 while it prepares buffers.
  int32_t calls = 0;
  /// Of the threads of started collectives.
  std::vector<Span> startedSpans;
  std::mutex startedSpansMutex;
  /// Last: their threads end before what they use.
  dist::StartedCollectives started;
  std::unique_ptr<dist::Stream> stream;
  /// Null where the device is the host.
  std::unique_ptr<dist::QueuedCollectives> queued;

  /// Returns when all is done that was started or enqueued: its first failure,
  /// also of what nothing waited for.
  dist::Status finish() {
    dist::Status beside = started.waitForAll();
    dist::Status rest =
        queued ? queued->finish(patience) : stream->finish(patience);
    return beside.ok() ? rest : beside;
  }
};

namespace dist {

/// How a call ends that was cancelled.
Status cancelledStatus(const dist_rt_context &rank);

/// The table that programs get.
const dist_rt_api &runtimeApi();

/// How errors and traces name a transfer of an entry.
std::string transferName(const manifest::Entry *entry, int32_t op);

/// Bytes that the plans of a rank's collectives have beside its buffers.
int64_t planBytes(const dist_rt_context &rank);

/// A rank's spans as events; clears them.
void takeSpans(dist_rt_context &rank, std::vector<TraceEvent> *out);

} // namespace dist

#endif // RUNTIME_CORE_RANK_H
