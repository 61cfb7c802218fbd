//===- launchers.h - Clusters of launchers' variables -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launchers start one process a task and say so in its environment. Formats are
// those of their manuals; srun(1), Open MPI's and PRRTE's, Kubernetes' Indexed
// Jobs. The variables are handed in: nothing here reads the environment.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_LAUNCHERS_H
#define RUNTIME_CLUSTER_LAUNCHERS_H

#include "runtime/cluster/cluster_spec.h"
#include <map>

namespace dist::cluster {

using Variables = std::map<std::string, std::string>;

/// srun. A task's port is chosen by the job's number and the task's place on
/// its node, so that all tasks find the same without asking.
bool isStartedBySlurm(const Variables &variables);
std::vector<Status> readSlurm(const Variables &variables, ClusterSpec *spec);

/// mpirun of Open MPI or PRRTE. They say where mpirun runs, which is rank 0's
/// host, and of the other hosts nothing: those tell their addresses when they
/// join.
bool isStartedByMpi(const Variables &variables);
std::vector<Status> readMpi(const Variables &variables, ClusterSpec *spec);

/// torchrun, and what sets its variables besides (a PyTorchJob of Kubeflow, a
/// batch script): they say where rank 0 is; the others tell their addresses
/// when they join. MASTER_PORT is that of torchrun's own store: from it follows
/// another one.
bool isStartedByTorchrun(const Variables &variables);
std::vector<Status> readTorchrun(const Variables &variables, ClusterSpec *spec);

/// mpiexec of MPICH or Intel MPI, whose processes are told their ranks, and of
/// hosts nothing: always an error.
bool isStartedByHydra(const Variables &variables);
std::vector<Status> readHydra(const Variables &variables, ClusterSpec *spec);

/// An Indexed Job, whose size and headless service only its file knows: it
/// hands them on as DIST_WORKERS and DIST_SERVICE.
bool isStartedByKubernetes(const Variables &variables);
std::vector<Status> readKubernetes(const Variables &variables,
                                   ClusterSpec *spec);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_LAUNCHERS_H
