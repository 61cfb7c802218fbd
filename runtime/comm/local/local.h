//===- local.h - Communicator of one process's devices ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are threads that read each other's buffers. A large all-reduce: all
// ranks publish their buffer; each reduces one part over all buffers, in rank
// order, and writes it back to all; all meet again. A small one goes through
// buffers of the communicator and meets once.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_LOCAL_H
#define RUNTIME_COMM_LOCAL_LOCAL_H

#include "runtime/core/world.h"
#include <functional>
#include <memory>
#include <vector>

namespace dist {

struct LocalOptions {
  /// Sizes of the mesh's axes, major to minor. None: one rank.
  std::vector<int64_t> mesh;
  /// One rank more, behind those of the axes: it meets the others in
  /// broadcasts and reductions of which it is the root, and sleeps meanwhile.
  bool host = false;
  /// Seconds to wait for others that show no progress (progress.h); 0: for
  /// ever.
  double timeout = 30;
  /// How long a waiting rank stays awake. 0 when there are more ranks than
  /// cores.
  int spinMicroseconds = 1000;
  /// The same of a device while the host is missing, which works meanwhile.
  int spinForHostMicroseconds = 1000;
  /// Runs a kernel on the calling device's team (dist::cpu::parallelFor);
  /// null: in the calling thread.
  void (*parallelFor)(dist_rt_kernel kernel, void **buffers, int64_t n,
                      int32_t chunks) = nullptr;
  int threadsPerRank = 1;
  /// How all-reduces go that ask for nothing. Auto is the one above: it reads
  /// each byte once and meets twice, where a ring of n ranks meets 2n - 1 times
  /// and one rank that reduces for all leaves the others idle.
  Algorithm allReduce = Algorithm::Auto;
  /// How errors name an op of a rank's program; null: by its id. Any thread
  /// asks, while the rank works.
  std::function<std::string(int rank, int32_t op)> nameOp;
  /// Hears of ranks that hang before the timeout is over; null: nobody does.
  std::function<void(const std::string &)> warn;
};

/// The communicators of all ranks of one process.
class LocalWorld : public World {
public:
  static Status create(const LocalOptions &options,
                       std::unique_ptr<LocalWorld> *out);
};

} // namespace dist

#endif // RUNTIME_COMM_LOCAL_LOCAL_H
