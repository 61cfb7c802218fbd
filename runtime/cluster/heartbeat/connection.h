//===- connection.h - Messages of a control connection ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_CONNECTION_H
#define RUNTIME_CLUSTER_HEARTBEAT_CONNECTION_H

#include "runtime/cluster/heartbeat/heartbeat.pb.h"
#include "runtime/cluster/socket.h"
#include <memory>
#include <poll.h>

namespace dist::cluster {

/// Sends and receives without ever waiting. What the other end does not take,
/// or sends in pieces, costs memory up to a limit; beyond it the connection
/// ends.
class Connection {
public:
  explicit Connection(Socket socket) : socket(std::move(socket)) {}

  /// The other end is known: its messages may be long.
  void trust();
  /// False: it has ended.
  bool send(const proto::Control &message);
  bool flush();
  /// Whether what was sent has left.
  bool isFlushed() const { return unsent.empty(); }
  /// All whole messages that have come. False: it has ended, behind these.
  bool receive(std::vector<proto::Control> *messages);
  /// What to poll it for.
  pollfd polled() const;

private:
  Socket socket;
  std::string unsent, unread;
  size_t longest = 256;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_CONNECTION_H
