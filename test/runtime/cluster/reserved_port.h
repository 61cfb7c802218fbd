//===- reserved_port.h - A port that is the test's ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_RESERVED_PORT_H
#define TEST_RUNTIME_CLUSTER_RESERVED_PORT_H

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dist::cluster {

/// A port of 127.0.0.1 that the system gives to nobody else. It is bound, and
/// not listened at: who is told of it can be its server.
class ReservedPort {
public:
  ReservedPort() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *any = reinterpret_cast<sockaddr *>(&address);
    EXPECT_EQ(setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    EXPECT_EQ(bind(socket, any, size), 0);
    EXPECT_EQ(getsockname(socket, any, &size), 0);
    number = ntohs(address.sin_port);
  }
  ReservedPort(const ReservedPort &) = delete;
  ReservedPort &operator=(const ReservedPort &) = delete;
  ~ReservedPort() { close(socket); }

  operator int() const { return number; }

private:
  int socket, number = 0;
};

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_RESERVED_PORT_H
