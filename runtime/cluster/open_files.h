//===- open_files.h - Whether a cluster's files can be open -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_OPEN_FILES_H
#define RUNTIME_CLUSTER_OPEN_FILES_H

#include "runtime/cluster/cluster_spec.h"

namespace dist::cluster {

/// Whether the limit of open files (`ulimit -n`) lets this process, which is
/// in the cluster, have its connections, with so many devices. Without them
/// libraries end the process in ways of their own, and the others wait for it.
/// What is refused could not have begun; a limit just above that may still be
/// too low, of which the error's figure keeps clear.
Status checkOpenFiles(const ClusterSpec &spec, int devices, bool servesStore);
/// The same of the processes of a cluster on this machine, of which one serves
/// the store or none, and of the one that starts them.
Status checkOpenFilesOfAll(int processes, int devices, bool servesStore);
/// The same of a process that serves a store, and is none of a cluster's.
Status checkOpenFilesOfStore();

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_OPEN_FILES_H
