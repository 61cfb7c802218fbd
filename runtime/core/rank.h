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
#include "runtime/core/memory.h"
#include "runtime/core/session.h"
#include "runtime/core/started.h"
#include "runtime/device/cpu/library_kernel.h"
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

/// The context of the ABI is a rank.
struct dist_rt_context {
  int rank = 0;
  int threads = 1;
  dist::Block state, arena;
  /// What the library lays out; its kernels' scratchpad is part of it.
  dist::Block library;
  char *scratchpad = nullptr;
  int64_t scratchpadBytes = 0;
  const dist::cpu::KernelTable *table = nullptr;
  /// Made at first use, on this rank's thread.
  std::vector<std::unique_ptr<dist::cpu::LibraryKernel>> kernels;
  dist::Communicator *communicator = nullptr;
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
  std::vector<Span> startedSpans; // of the thread of started collectives
  /// Last: its thread ends before what it uses.
  dist::StartedCollectives started;
};

namespace dist {

/// How a call ends that was cancelled.
Status cancelledStatus(const dist_rt_context &rank);

/// The table that programs get.
const dist_rt_api &runtimeApi();

/// How errors and traces name a transfer of an entry.
std::string transferName(const manifest::Entry *entry, int32_t op);

/// A rank's spans as events; clears them.
void takeSpans(dist_rt_context &rank, std::vector<TraceEvent> *out);

} // namespace dist

#endif // RUNTIME_CORE_RANK_H
