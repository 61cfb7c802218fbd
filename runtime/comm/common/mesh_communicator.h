//===- mesh_communicator.h - What all communicators do alike ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_COMMON_MESH_COMMUNICATOR_H
#define RUNTIME_COMM_COMMON_MESH_COMMUNICATOR_H

#include "runtime/comm/common/description.h"
#include "runtime/comm/common/team.h"
#include <map>
#include <mutex>

namespace dist {

/// A plan of a collective that was checked.
class DescribedPlan : public CollectivePlan {
public:
  using CollectivePlan::CollectivePlan;
  virtual const Description &described() const = 0;
};

/// A rank of a mesh, whatever moves the bytes. What has nothing to do with that
/// is here alone: who is in which group, that plans start in the generation
/// that they were prepared in and in no other, and what no other rank sees.
class MeshCommunicator : public Communicator {
public:
  int rank() const final { return self; }
  int ranks() const final { return groups.ranks(); }
  int groupSize(uint32_t axes) const final;
  int groupRank(uint32_t axes) const final;
  Status run(CollectivePlan &plan, void *const *from, void *const *to) final;
  Status publish(CollectivePlan &plan, void *const *from,
                 void **addresses) final;

protected:
  /// What it is given outlives it.
  MeshCommunicator(const WorldOptions &options, const MeshGroups &groups,
                   int rank)
      : options(options), groups(groups), team(options), self(rank) {}

  /// Runs a plan that may start and is no all_slice.
  virtual Status move(DescribedPlan &plan, void *const *from,
                      void *const *to) = 0;
  /// The same for `publish`; an error where ranks share no memory.
  virtual Status show(DescribedPlan &plan, void *const *from, void **addresses);
  /// Why this generation's plans can start no more.
  virtual Status ended(const DescribedPlan &plan) const;
  /// Of all plans of a line. Any thread may ask.
  std::shared_ptr<PlanMemory> memoryOf(CollectivePlan::Line line);

  const WorldOptions &options;
  const MeshGroups &groups;
  const Team team;

private:
  Status begin(const DescribedPlan &plan) const;

  const int self;
  std::mutex memoriesMutex;
  std::map<CollectivePlan::Line, std::shared_ptr<PlanMemory>> memories;
};

} // namespace dist

#endif // RUNTIME_COMM_COMMON_MESH_COMMUNICATOR_H
