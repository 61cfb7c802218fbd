//===- network.h - What the network says of a cluster -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_NETWORK_H
#define RUNTIME_CLUSTER_NETWORK_H

#include "runtime/cluster/cluster_spec.h"
#include <functional>

namespace dist::cluster {

/// What a process can find out about addresses before it speaks to anyone.
class Network {
public:
  virtual ~Network() = default;
  /// The host's addresses as literals; none: the name is not known, for the
  /// reason given.
  virtual std::vector<std::string> resolve(const std::string &host,
                                           std::string *why) = 0;
  /// Of all interfaces of this machine.
  virtual std::vector<std::string> localAddresses() = 0;
  /// Whether a server could listen there now; the reason if not.
  virtual bool canListen(const std::string &literal, int port,
                         std::string *why) = 0;
};

/// The machine's own.
class SystemNetwork : public Network {
public:
  std::vector<std::string> resolve(const std::string &host,
                                   std::string *why) override;
  std::vector<std::string> localAddresses() override;
  bool canListen(const std::string &literal, int port,
                 std::string *why) override;
  /// The name of the interface that has the address, "eth0"; empty: none.
  std::string findInterface(const std::string &literal);
};

/// Where a server listens that others reach at `host`: of its literals one that
/// is this machine's or, where the name means this machine alone here, all
/// addresses.
std::string listenLiteral(const std::string &host, Network &network);
std::string listenLiteral(const std::string &host); // of the machine's own

/// Parses `host:port` of an address of this machine to listen at. Beside what
/// `parseAddress` takes, for others to connect to, it may be a wildcard, for
/// all addresses of the machine, and port 0, for a free one.
std::optional<AddressFault> parseListenAddress(const std::string &text,
                                               Address *address);
/// Whether it stands for all addresses of the machine.
bool isWildcard(const std::string &host);

/// Names that do not resolve, an own address that is another machine's, an own
/// port that is taken. Nothing is sent to a peer.
std::vector<Status> checkNetwork(const ClusterSpec &spec, Network &network);

/// Waits until the name of one of the hosts is known, as a name service that
/// comes up with the job tells it late, but no longer than `seconds`. Empty,
/// or why none is.
std::string awaitAnyHost(const std::vector<std::string> &hosts, double seconds,
                         Network &network);

/// How a process that starts waits for names.
struct NameWait {
  double seconds = 300; // 0: however long it takes
  /// Whether the processes meet at the chief's address.
  bool needsChief = true;
  /// Hears which names are not known; one line at a time.
  std::function<void(const std::string &)> note;
  /// Null: the system's.
  std::function<void(double)> sleep;
};

/// The same before a start. Machines of a cluster come one by one, and where a
/// name server learns of them as they do, as that of Kubernetes, it does not
/// know all of them yet, nor of one that is started again: the own name and the
/// chief's are waited for, the others tell their addresses when they join.
std::vector<Status> awaitNetwork(const ClusterSpec &spec, const NameWait &wait,
                                 Network &network);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_NETWORK_H
