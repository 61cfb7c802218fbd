//===- queued_collectives.h - Collectives between streams -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For devices whose memory the host cannot reach, through communicators of the
// host's. A collective is a row of work on a second stream of the rank's: when
// the kernels before it are done, what it reads is copied to the host, the
// communicator runs there, and what it wrote is copied back. Kernels behind it
// (behind its wait, if it was started) wait for that. All of a rank's
// collectives are on that stream, so that they keep the order of the program.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_QUEUED_COLLECTIVES_H
#define RUNTIME_CORE_QUEUED_COLLECTIVES_H

#include "runtime/core/planned_collectives.h"
#include "runtime/device/device.h"

namespace dist {

/// Of one rank.
class QueuedCollectives {
public:
  /// `compute`: the rank's stream of kernels, which outlives this.
  static Status create(std::shared_ptr<Device> device, Stream &compute,
                       Progress *progress,
                       std::unique_ptr<QueuedCollectives> *out);

  /// Lays out what a collective needs on the host.
  Status prepare(Communicator &communicator, PlannedCollective *planned);

  /// As the functions of these names in entrypoints.def.
  Status run(Communicator &communicator, PlannedCollective &planned,
             void *const *buffers);
  Status start(Communicator &communicator, PlannedCollective &planned,
               void *const *buffers);
  Status wait(const PlannedCollective &planned);
  /// Waits for what is enqueued: programs compute with the addresses.
  Status publish(Communicator &communicator, PlannedCollective &planned,
                 void **buffers, double patience);

  /// Of both streams: see Stream.
  Status finish(double patience);

private:
  QueuedCollectives(std::shared_ptr<Device> device, Stream &compute)
      : device(std::move(device)), compute(compute) {}
  Status enqueue(Communicator &communicator, PlannedCollective &planned,
                 void *const *buffers);

  std::shared_ptr<Device> device;
  Stream &compute;
  std::unique_ptr<Stream> exchange;
};

} // namespace dist

#endif // RUNTIME_CORE_QUEUED_COLLECTIVES_H
