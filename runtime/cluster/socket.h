//===- socket.h - TCP sockets of a cluster ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_SOCKET_H
#define RUNTIME_CLUSTER_SOCKET_H

#include "runtime/cluster/cluster_spec.h"
#include <utility>

namespace dist::cluster {

/// A socket; closed with the object.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept;
  Socket &operator=(Socket &&other) noexcept;
  ~Socket();
  int get() const { return descriptor; }
  /// The caller closes it.
  int release() { return std::exchange(descriptor, -1); }

  /// Listens at a free port of a literal address. Errors: none of `ports` is
  /// free.
  static Status listen(const std::string &literal, PortRange ports, Socket *out,
                       int *port);
  /// A port of 127.0.0.1 that the system gives to nobody else. It is bound, and
  /// not listened at: who is told of it may listen there, as long as this is.
  static Status reserve(Socket *out, int *port);
  /// Within so many milliseconds.
  static Status connect(const Address &address, int milliseconds, Socket *out);
  /// One that has come; without a descriptor: none, for the reason in errno.
  Socket accept() const;

private:
  int descriptor = -1;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_SOCKET_H
