//===- world.h - The ranks of a cluster's processes -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_WORLD_H
#define RUNTIME_CLUSTER_MEMBERSHIP_WORLD_H

#include "runtime/cluster/membership/membership.h"
#include "runtime/comm/message/message.h"
#include "runtime/core/placement.h"

namespace dist::cluster {

/// The first of the CPUs that a member's package has code for, in the chief's
/// order, that all machines can run: replicas that run different code would
/// differ by rounding, and then more and more.
Status chooseCpuVariant(const Membership &membership, std::string *out);

/// What they give in an exchange of this name: where their ranks are.
inline constexpr char kAddresses[] = "addresses";

/// This process's end of messages between all members, by UCX, whose addresses
/// pass the store: a rank is a member. `networkDevices`: interfaces that it may
/// use; empty: all. `check`: what is known of the others beside the network; an
/// error ends the wait for them.
Status makeClusterTransport(Membership &membership,
                            const std::string &networkDevices,
                            const std::function<Status()> &check,
                            std::unique_ptr<Transport> *out);

/// Connects this process's ranks to all others in the same way.
Status makeClusterWorld(Membership &membership, const Placement &placement,
                        const WorldOptions &options,
                        const std::string &networkDevices,
                        const std::function<Status()> &check,
                        std::shared_ptr<MessageWorld> *out);

/// The same by a site's MPI, from the first of `libraries` that is there.
/// Errors: several ranks in this process, too.
Status makeMpiClusterWorld(const Membership &membership,
                           const Placement &placement,
                           const WorldOptions &options,
                           const std::vector<std::string> &libraries,
                           std::shared_ptr<World> *out);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_WORLD_H
