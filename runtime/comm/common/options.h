//===- options.h - What worlds of communicators are made from ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_COMMON_OPTIONS_H
#define RUNTIME_COMM_COMMON_OPTIONS_H

#include "runtime/core/communicator.h"
#include <functional>
#include <vector>

namespace dist {

struct WorldOptions {
  /// Takes the mesh that a program is for.
  void setMesh(const manifest::Mesh &of) {
    mesh.clear();
    for (const manifest::Axis &axis : of.axes())
      mesh.push_back(axis.size());
    host = of.host();
  }

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
  /// Gives the CPU of a rank that waits to one that has no CPU, because another
  /// program has it; false: it has one. Who gave sleeps, and then calls `sit`,
  /// to go where the other one was. Null: none gives.
  std::function<bool(int waiting, int late)> giveCpu;
  std::function<void(int rank)> sit;
  /// Runs a kernel on the calling device's team (dist::cpu::parallelFor);
  /// null: in the calling thread.
  void (*parallelFor)(dist_rt_kernel kernel, void **buffers, int64_t n,
                      int32_t chunks) = nullptr;
  int threadsPerRank = 1;
  /// How all-reduces go that ask for nothing. Auto sums in the order of ranks
  /// and reads each byte once: see each communicator.
  Algorithm allReduce = Algorithm::Auto;
  /// How errors name an op of a rank's program; null: by its id. Any thread
  /// asks, while the rank works.
  std::function<std::string(int rank, int32_t op)> nameOp;
  /// How errors call the process that a rank is of, "worker 1"; null: all ranks
  /// are of this one, and are told apart by their numbers.
  std::function<std::string(int rank)> nameProcess;
  /// Hears of ranks that hang before the timeout is over; null: they are not
  /// told.
  std::function<void(const std::string &)> warn;
};

/// "rank 7", where ranks are of several processes "rank 7 of worker 3".
std::string rankName(const WorldOptions &options, int rank);

/// By `options.nameOp`, else "op 7".
std::string opName(const WorldOptions &options, int rank, int32_t op);

/// "within 30 s"
std::string withinTimeout(const WorldOptions &options);

} // namespace dist

#endif // RUNTIME_COMM_COMMON_OPTIONS_H
