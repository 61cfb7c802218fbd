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

#include "runtime/core/communicator.h"
#include "runtime/device/device.h"
#include <unordered_map>

namespace dist {

/// Of one rank.
class QueuedCollectives {
public:
  /// `compute`: the rank's stream of kernels, which outlives this.
  static Status create(std::shared_ptr<Device> device, Stream &compute,
                       Progress *progress,
                       std::unique_ptr<QueuedCollectives> *out);

  /// As the functions of these names in entrypoints.def. A description stays as
  /// long as the program is loaded, so what it needs on the host is laid out
  /// the first time.
  Status run(Communicator &communicator, const dist_rt_collective &description,
             void *const *buffers);
  Status start(Communicator &communicator,
               const dist_rt_collective &description, void *const *buffers);
  Status wait(int32_t op);
  /// Waits for what is enqueued: programs compute with the addresses.
  Status publish(Communicator &communicator,
                 const dist_rt_collective &description, void **buffers,
                 double patience);

  /// Of both streams: see Stream.
  Status finish(double patience);

private:
  /// A collective's buffers on the host.
  struct Plan {
    Collective call;
    std::unique_ptr<Memory> memory;
    std::vector<void *> from, to;
    std::vector<int64_t> fromBytes, toBytes;
    std::unique_ptr<Event> ready, done;
  };

  QueuedCollectives(std::shared_ptr<Device> device, Stream &compute)
      : device(std::move(device)), compute(compute) {}
  Status plan(Communicator &communicator, const dist_rt_collective &description,
              Plan **out);
  Status enqueue(Communicator &communicator,
                 const dist_rt_collective &description, void *const *buffers,
                 Plan **out);

  std::shared_ptr<Device> device;
  Stream &compute;
  std::unordered_map<const dist_rt_collective *, Plan> plans;
  /// By transfer: of its last start.
  std::unordered_map<int32_t, Plan *> started;
  /// Last: its work uses the plans.
  std::unique_ptr<Stream> exchange;
};

} // namespace dist

#endif // RUNTIME_CORE_QUEUED_COLLECTIVES_H
