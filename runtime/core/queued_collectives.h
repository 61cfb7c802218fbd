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
// (behind its wait, if it was started) wait for that. Those of a line are on
// one stream, so that they keep the order of the program.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_QUEUED_COLLECTIVES_H
#define RUNTIME_CORE_QUEUED_COLLECTIVES_H

#include "runtime/core/planned_collectives.h"
#include "runtime/device/device.h"
#include <map>

namespace dist {

/// Of one rank.
class QueuedCollectives {
public:
  /// `compute`: the rank's stream of kernels, which outlives this.
  QueuedCollectives(std::shared_ptr<Device> device, Stream &compute,
                    Progress *progress);

  /// Makes what a collective needs, on the host, too.
  Status prepare(Communicator &communicator, PlannedCollective *planned);

  /// As the functions of these names in entrypoints.def.
  Status run(Communicator &communicator, PlannedCollective &planned,
             void *const *buffers);
  Status start(Communicator &communicator, PlannedCollective &planned,
               void *const *buffers);
  Status wait(const PlannedCollective &planned);
  /// Programs compute with the addresses: at first it waits for all that is
  /// enqueued, and for the other ranks to do so; the buffers stay there. From
  /// then on the streams meet.
  Status publish(Communicator &communicator, PlannedCollective &planned,
                 void **buffers, double patience);

  /// Of all streams: see Stream.
  Status finish(double patience);

private:
  Status streamOf(CollectivePlan::Line line, Stream **out);
  Status layOutOnHost(Communicator &communicator, PlannedCollective *planned);
  /// What is enqueued on its stream from here on comes behind the kernels.
  Status begin(const QueuedPoints &points);
  Status enqueue(Communicator &communicator, PlannedCollective &planned,
                 void *const *buffers);
  Status show(Communicator &communicator, PlannedCollective &planned,
              void **buffers, double patience);

  std::shared_ptr<Device> device;
  Stream &compute;
  Progress *progress;
  std::map<CollectivePlan::Line, std::unique_ptr<Stream>> exchanges;
};

} // namespace dist

#endif // RUNTIME_CORE_QUEUED_COLLECTIVES_H
