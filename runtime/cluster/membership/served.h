//===- served.h - A process of parameter servers ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How coordinator, workers and servers watch and reach each other, and how a
// worker that was lost comes back: started again by whoever does so, or awake
// after a sleep for which the others have given it up.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_SERVED_H
#define RUNTIME_CLUSTER_MEMBERSHIP_SERVED_H

#include "runtime/cluster/heartbeat/heartbeat.h"
#include "runtime/cluster/membership/membership.h"
#include "runtime/parameter_server/coordinator.h"

namespace dist::cluster {

struct ServedOptions {
  /// Patience and ports; the rest is filled in.
  HeartbeatOptions watching;
  /// As for makeClusterTransport.
  std::string networkDevices;
  /// Seconds that one that comes back gives the others to greet it.
  double timeout = 300;
};

/// What a process has of the others.
struct ServedPart {
  ps::Cast cast; // with its own rank
  int rank = 0;
  std::unique_ptr<Heartbeat> heartbeat;
  std::unique_ptr<Transport> end;
  /// Of the code that all run.
  std::string cpuVariant;
};

/// All call it when they have met, and shared what they are; and a process that
/// is back (Membership::isBack). Errors: what the others run this machine
/// cannot; nobody takes it in.
Status joinServed(Membership &membership, const ClusterSpec &spec,
                  const ServedOptions &options, ServedPart *out);

/// For Mail: who is lost, as the heartbeat knows. It outlives the mail.
ps::Mail::Watch watchBy(Heartbeat &heartbeat, int rank);

/// For the chief's coordinator: workers that come back are taken in. Both
/// outlive it.
void takeWorkersBack(Membership &membership, const ClusterSpec &spec,
                     const std::string &cpuVariant, Heartbeat &heartbeat,
                     ps::CoordinatorOptions *options);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_SERVED_H
