//===- connection.h - Messages of a control connection ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_CONNECTION_H
#define RUNTIME_CLUSTER_HEARTBEAT_CONNECTION_H

#include "runtime/cluster/heartbeat/heartbeat.pb.h"
#include "runtime/cluster/heartbeat/surroundings.h"
#include "runtime/cluster/socket.h"
#include <memory>

namespace dist::cluster {

/// A socket's, as the system has it.
std::unique_ptr<Link> linkOf(Socket socket);

/// Sends and receives without ever waiting. What the other end does not take,
/// or sends in pieces, costs memory up to a limit; beyond it the connection
/// ends.
class Connection {
public:
  explicit Connection(std::unique_ptr<Link> link) : link(std::move(link)) {}
  explicit Connection(Socket socket) : Connection(linkOf(std::move(socket))) {}

  /// The other end is known: its messages may be long.
  void trust();
  /// False: it has ended.
  bool send(const proto::Control &message);
  bool flush();
  /// Whether what was sent has left.
  bool isFlushed() const { return unsent.empty(); }
  /// The whole messages that have come, `most` of them. False: it has ended,
  /// behind those.
  bool receive(std::vector<proto::Control> *messages, size_t most = SIZE_MAX);
  /// What to wait for.
  Waiter::Awaited awaited() const { return {link.get(), !unsent.empty()}; }

private:
  std::unique_ptr<Link> link;
  std::string unsent, unread;
  size_t longest = 256;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_CONNECTION_H
