//===- process.h - What a process of a cluster is to the others -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program that it runs, the interface that it is reached by, and its part
// in watching the others.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_PROCESS_H
#define RUNTIME_CLUSTER_MEMBERSHIP_PROCESS_H

#include "runtime/cluster/heartbeat/heartbeat.h"
#include "runtime/cluster/membership/membership.h"

namespace dist::cluster {

/// What the processes compare: code, weights, and all that programs say of
/// themselves. How the package came to be is no part of it. Errors: the package
/// cannot be read, or has no code for this machine, or none of the name
/// `cpuVariant`, where that is not empty.
Status describeProgram(const std::string &package,
                       const std::string &cpuVariant, MemberFacts *out);

/// The interface of the address that the cluster knows this process by, for
/// makeClusterTransport; empty: none that means the same elsewhere.
std::string ownInterface(const ClusterSpec &spec);

/// How the others call it.
MemberName describeMember(const Member &member, const ClusterSpec &spec);

/// The same as `watchMembers` of a process that is back (Membership::isBack),
/// which the chief has admitted as the member of this number.
Status watchAgain(Membership &membership, const ClusterSpec &spec,
                  HeartbeatOptions options, int number,
                  std::unique_ptr<Heartbeat> *out);

/// From now on processes that end, or are frozen, are lost to the others. All
/// call it. Of the options, members and self are filled in.
Status watchMembers(Membership &membership, const ClusterSpec &spec,
                    HeartbeatOptions options, std::unique_ptr<Heartbeat> *out);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_PROCESS_H
