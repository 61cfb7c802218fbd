//===- acceptor.h - Who gets as far as the key-value server -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gRPC keeps tens of kilobytes for each connection, whoever made it, for as
// long as the handshake may take. So that a flood costs no memory, connections
// are accepted here: few are kept until they have sent the whole first message
// of a client, for two seconds each, and only then gRPC gets them, no more than
// so many while the handshake of the first may still be going on.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_ACCEPTOR_H
#define RUNTIME_CLUSTER_ETCD_ACCEPTOR_H

#include "runtime/cluster/socket.h"
#include <chrono>
#include <functional>
#include <string>
#include <memory>

namespace dist::cluster {

/// What a client sends first: TLS's ClientHello, or HTTP/2's preface.
enum class Greeting { Tls, Http2 };

/// How long a handshake may take. A machine that is busy nine times over makes
/// one in a tenth of it.
inline constexpr std::chrono::milliseconds kHandshakeTime{10000};

class Acceptor {
public:
  /// `enter` is called by a thread of this object with each connection that has
  /// sent its greeting, none of which was read. `greetingKey`: of those whose
  /// ClientHello is to show that they have it (security/greeting.h); empty: all
  /// enter.
  Acceptor(Socket listener, Greeting greeting, const std::string &greetingKey,
           std::function<void(Socket)> enter);
  /// What has not entered is closed.
  ~Acceptor();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_ACCEPTOR_H
