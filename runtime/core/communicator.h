//===- communicator.h - Collectives between ranks ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One object a rank. Every collective carries the id of the op it came from, a
// deadline and an abort flag: a rank that fails or never comes makes the others
// fail with its name, never hang. Reductions combine in the order of ranks:
// same inputs, same bits, on all ranks.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_COMMUNICATOR_H
#define RUNTIME_CORE_COMMUNICATOR_H

#include "runtime/abi/abi.h"
#include "runtime/core/status.h"
#include "runtime/core/types.h"

namespace dist {

enum class Reduction {
  Sum = DIST_RT_SUM,
  Max = DIST_RT_MAX,
  Min = DIST_RT_MIN,
  Product = DIST_RT_PRODUCT
};

/// `axes` of every call is a bit mask of mesh axes (bit 0: the mesh's first):
/// the group is the ranks that differ from this one in these axes only, in rank
/// order. All ranks of a group make the same calls in the same order.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Ranks in a group, and this rank's place among them.
  virtual int groupSize(uint32_t axes) const = 0;
  virtual int groupRank(uint32_t axes) const = 0;

  /// In place; `data` may hold other values when it fails.
  virtual Status allReduce(int32_t op, void *data, int64_t count, DataType type,
                           Reduction reduction, uint32_t axes) = 0;
  /// `bytes` from each rank, one after the other, into `to`.
  virtual Status allGather(int32_t op, const void *from, void *to,
                           int64_t bytes, uint32_t axes) = 0;
  /// `count` elements of the result stay here; `from` has them for each rank.
  virtual Status reduceScatter(int32_t op, const void *from, void *to,
                               int64_t count, DataType type,
                               Reduction reduction, uint32_t axes) = 0;
  /// From the group's rank `root` to all.
  virtual Status broadcast(int32_t op, void *data, int64_t bytes, int root,
                           uint32_t axes) = 0;
  virtual Status barrier(int32_t op, uint32_t axes) = 0;

  /// Makes every collective of every rank fail from now on; the first reason
  /// stays. Any thread may call it.
  virtual void abort(const std::string &reason) = 0;
};

} // namespace dist

#endif // RUNTIME_CORE_COMMUNICATOR_H
